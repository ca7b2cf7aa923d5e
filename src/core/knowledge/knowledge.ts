import { AbortedError, ThreadloopError, toError } from '../errors.js';
import { textTokens } from '../llm/tokens.js';
import type { Logger } from '../ports/logger.js';
import { checkKnowledge } from './folder.js';
import { createFolderIndex } from './folder-index.js';
import type { Hit } from './search-index.js';

export { checkKnowledge } from './folder.js';

export interface KnowledgeOptions {
  /** The name under `knowledge:`. */
  readonly name: string;
  /** A folder; relative to the working directory. */
  readonly path: string;
  /** Most estimated tokens of the quotes of one search. Default 5000. */
  readonly maxTokens?: number | undefined;
  /** Quotes need at least this share of the best one's score, 0 to 1. Default 0.4. */
  readonly similarity?: number | undefined;
  readonly logger?: Logger | undefined;
  /** Milliseconds that only go forward. */
  readonly now?: (() => number) | undefined;
}

/** A passage that fits a question. */
export interface Quote {
  /** The same as long as its file does not change. */
  readonly id: string;
  /** File and heading. */
  readonly source: string;
  readonly text: string;
  /** Share of the best quote's score, above 0, at most 1. */
  readonly score: number;
  /** Position among the quotes, from 1. */
  readonly index: number;
}

export interface Knowledge {
  /**
   * Quotes for a question, best first; empty when nothing fits. The first search reads the folder. Throws
   * ThreadloopError `knowledge_unreadable` when that fails, AbortedError when `signal` aborts.
   */
  search(query: string, signal?: AbortSignal): Promise<readonly Quote[]>;
}

const DEFAULTS = { maxTokens: 5_000, similarity: 0.4 } as const;

/** Changes in the folder are looked for at most this often, ms. */
const LOOK_EVERY_MS = 10_000;

/** Room for number, source mark and separator around a quote, in tokens. */
const FRAME_TOKENS = 8;

/** Full-text search over a folder of Markdown and text files, kept in memory, in any language. */
export function createKnowledge(options: KnowledgeOptions): Knowledge {
  const { name, path, logger, now = () => performance.now() } = options;
  const { maxTokens = DEFAULTS.maxTokens, similarity = DEFAULTS.similarity } = options;
  const { index, refresh } = createFolderIndex(path, logger?.child({ knowledge: name }));
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    try {
      await refresh();
    } catch (cause) {
      const problem = (await checkKnowledge(path)) ?? toError(cause).message;
      // What was read before is better than nothing: the folder may be back at the next look.
      if (index.size === 0) throw unreadable(name, problem, cause);
      logger?.error({ knowledge: name, problem }, 'the knowledge folder cannot be read; its last state is searched');
    }
    lookedAt = now();
  }

  function upToDate(): Promise<void> {
    if (!looking && now() - lookedAt < LOOK_EVERY_MS) return Promise.resolve();
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  return {
    async search(query, signal) {
      if (signal?.aborted) throw aborted(signal);
      await (signal ? unlessAborted(upToDate(), signal) : upToDate());
      return quotesOf(await index.search(query, similarity), maxTokens);
    },
  };
}

/** Several bodies of knowledge as one: the quotes of each in order, numbered through. */
export function joinKnowledge(parts: readonly Knowledge[]): Knowledge {
  return {
    async search(query, signal) {
      const found = await Promise.all(parts.map((part) => part.search(query, signal)));
      return found.flat().map((quote, at) => ({ ...quote, index: at + 1 }));
    },
  };
}

function quotesOf(hits: readonly Hit[], maxTokens: number): readonly Quote[] {
  const best = hits[0]?.score ?? 0;
  const quotes: Quote[] = [];
  let left = maxTokens;
  for (const { passage, score } of hits) {
    const { id, file, heading } = passage;
    const source = heading === '' ? file : `${file} > ${heading}`;
    const room = left - textTokens(source) - FRAME_TOKENS;
    // The best one is cut rather than left out: a small limit must not mean none.
    const text = quotes.length === 0 ? shortened(passage.text, room) : passage.text;
    left = room - textTokens(text);
    if (left < 0) break;
    quotes.push({ id, source, text, score: score / best, index: quotes.length + 1 });
  }
  return quotes;
}

/** Cut between characters; a half surrogate pair at the end is dropped. */
function shortened(text: string, tokens: number): string {
  const all = textTokens(text);
  if (all <= tokens) return text;
  const length = Math.max(0, Math.floor((text.length * (tokens - 2)) / all / 1.2));
  return `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function unreadable(name: string, problem: string, cause: unknown): ThreadloopError {
  return new ThreadloopError(`knowledge "${name}" cannot be read: ${problem}`, {
    code: 'knowledge_unreadable',
    hint: `check knowledge.${name}.path`,
    cause,
  });
}

/** Others may wait for the same work: an abort ends only this caller's waiting. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(aborted(signal));
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function aborted(signal: AbortSignal): AbortedError {
  return new AbortedError('knowledge search aborted', signal.reason);
}
