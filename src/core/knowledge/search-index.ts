import MiniSearch from 'minisearch';
import { queryTermsOf, termsOf } from './terms.js';
import { createTimeSlices } from './time-slices.js';

/** Something that can be found. */
export interface Passage {
  readonly id: string;
  readonly file: string;
  readonly heading: string;
  readonly text: string;
}

export interface Hit {
  readonly passage: Passage;
  /** Sum over the matched terms (BM25); comparable only within one search. */
  readonly score: number;
}

export interface SearchIndex {
  readonly size: number;
  /** Ids must be new. */
  add(passage: Passage): void;
  remove(ids: readonly string[]): void;
  /** Best first, all of at least `similarity` times the best score. Empty when no term of the question is known. */
  search(question: string, similarity: number): Promise<readonly Hit[]>;
}

/** A heading says more about a passage than a word inside it, the name of its file a little more. */
const BOOST = { heading: 2.5, file: 1.2 } as const;

/** Beginnings of words and words with one wrong letter count less than the word itself. */
const WEIGHTS = { prefix: 0.3, fuzzy: 0.2 } as const;

/** A longer question has words enough that stand somewhere as they are; looking around each would take long. */
const EXPANDED_TERMS = 10;

/** Full-text search in memory over passages in any language. */
export function createSearchIndex(): SearchIndex {
  const passages = new Map<string, Passage>();
  const index = new MiniSearch<Passage>({
    fields: ['text', 'heading', 'file'],
    tokenize: termsOf,
    processTerm: (term) => term,
    searchOptions: { tokenize: (term) => [term], boost: BOOST, weights: WEIGHTS },
  });

  /** Term by term: a question of many common words must not hold up the streams of other conversations. */
  async function scoresOf(question: string): Promise<ReadonlyMap<string, number>> {
    const scores = new Map<string, number>();
    const breathe = createTimeSlices();
    const terms = queryTermsOf(question);
    for (const term of terms) {
      const around = terms.length <= EXPANDED_TERMS;
      const options = {
        prefix: around && [...term].length >= 3,
        // A number or a code with one other character is another one.
        fuzzy: around && /^[a-z]{6,}$/.test(term) ? 1 : false,
      };
      for (const { id, score } of index.search(term, options)) scores.set(id, (scores.get(id) ?? 0) + score);
      await breathe();
    }
    return scores;
  }

  return {
    get size() {
      return passages.size;
    },
    add(passage) {
      index.add(passage);
      passages.set(passage.id, passage);
    },
    remove(ids) {
      index.discardAll(ids);
      for (const id of ids) passages.delete(id);
    },
    async search(question, similarity) {
      const scores = await scoresOf(question);
      let best = 0;
      for (const score of scores.values()) best = Math.max(best, score);
      const hits: Hit[] = [];
      for (const [id, score] of scores) {
        const passage = score >= best * similarity ? passages.get(id) : undefined;
        if (passage) hits.push({ passage, score });
      }
      return hits.sort((a, b) => b.score - a.score);
    },
  };
}
