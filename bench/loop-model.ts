import { fileURLToPath } from 'node:url';
import { numberedWords, startModelServer } from '../test/fakes/model-server.js';

/** What every loop is asked, and what must have arrived in the end. */
export interface LoopQuestion {
  /** Rounds with a sentence and one tool call each, before the answer. */
  readonly rounds: number;
  /** Words of the answer; every word is a token of its own. */
  readonly words: number;
  /** Undefined: as fast as possible, many in one read. */
  readonly wordsPerSecond?: number | undefined;
}

export const questionText = ({ rounds, words, wordsPerSecond = 0 }: LoopQuestion): string =>
  `rounds=${rounds} words=${words} rate=${wordsPerSecond}`;

/** All text of a run, from the first round's sentence to the answer. */
export const expectedText = ({ rounds, words }: LoopQuestion): string =>
  [...expectedKeys({ rounds }).map(sentence), numberedWords(words)].join('');

/** What the tool `lookup` must have been called with, in order. */
export const expectedKeys = ({ rounds }: Pick<LoopQuestion, 'rounds'>): readonly string[] =>
  Array.from({ length: rounds }, (_, round) => `key-${round}`);

const sentence = (key: string): string => `Now I look up ${key} in the list.`;

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** Stateless: how far a run is stands in its request. */
async function serve(): Promise<void> {
  const server = await startModelServer((request) => {
    const { messages } = request.body as Body;
    const asked = JSON.stringify(messages.find(({ role }) => role === 'user')?.content);
    const [rounds = 0, words = 0, rate = 0] = (asked.match(/\d+/g) ?? []).map(Number);
    const round = messages.filter(({ role }) => role === 'tool').length;
    if (round >= rounds) return { words, ...(rate > 0 && { tokensPerSecond: rate }) };
    const key = `key-${round}`;
    return { text: sentence(key), toolCalls: [{ name: 'lookup', id: `call_${round}`, arguments: { key } }] };
  });
  process.send?.({ url: server.url });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve();
