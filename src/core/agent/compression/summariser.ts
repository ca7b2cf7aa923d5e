import type { ChatMessage } from '../../llm/model.js';
import { textTokens } from '../../llm/tokens.js';
import { askAside, type Desk } from './side-request.js';
import { labelled, summaryPrompt } from './summary-prompt.js';
import { cutToTokens } from './text-cut.js';
import { atomsOf } from './validity.js';

/** Requests for one part, parts in one go, and ms after which none is begun: somebody waits for the answer. */
const MOST = { attempts: 2, parts: 8, milliseconds: 120_000 } as const;

/** Share of the summariser's window that one part may take; the rest is for the notes, the task and the answer. */
const PART_SHARE = 0.6;

/** A text of this many characters is long enough whatever it stands for; shorter ones must have a tenth of theirs. */
const SHORTEST = { characters: 200, share: 0.1 } as const;

export interface FoldOptions extends Desk {
  readonly signal: AbortSignal;
  readonly round: number;
  /** The most the summary should have, in tokens; twice that is refused. */
  readonly limitTokens: number;
}

export interface Folded {
  /** The notes as far as they got. */
  readonly text: string;
  /** How many of the messages they stand for; 0: none, and `text` is what it was. */
  readonly covered: number;
  /** Why they do not stand for all. */
  readonly failure?: string | undefined;
}

/**
 * Folds messages into the notes, part by part; what a part brought stays when a later one fails. Throws only
 * AbortedError and what passes through everything.
 */
export async function foldMessages(
  messages: readonly ChatMessage[],
  previous: string,
  options: FoldOptions,
): Promise<Folded> {
  let folded: Folded = { text: previous, covered: 0 };
  const parts = partsOf(messages, options);
  const until = options.now() + MOST.milliseconds;
  for (const part of parts.slice(0, MOST.parts)) {
    const outcome = await foldPart(part.text, folded.text, { ...options, until });
    if (outcome.failure !== undefined) return { ...folded, failure: outcome.failure };
    folded = { text: outcome.text, covered: folded.covered + part.messages };
  }
  return folded;
}

interface Part {
  readonly text: string;
  /** How many messages it holds. */
  readonly messages: number;
}

/**
 * About equal parts, none of them small: a summary must be shorter than what it stands for. An atom that does not fit
 * beside little loses its middle.
 */
function partsOf(messages: readonly ChatMessage[], { model, limitTokens }: FoldOptions): readonly Part[] {
  const window = model.contextWindow;
  const answer = Math.min(model.maxOutputTokens, window / 3);
  const most = Math.max(200, Math.min(window * PART_SHARE, window - answer - 2 * limitTokens) - 500);
  const atoms = atomsOf(messages).map((atom) => ({ text: labelled(atom), messages: atom.length }));
  const total = atoms.reduce((sum, { text }) => sum + Math.min(most, textTokens(text)), 0);
  const even = total / Math.ceil(total / most);
  const parts: { texts: string[]; messages: number; room: number }[] = [];
  for (const { text, messages: count } of atoms) {
    const last = parts.at(-1);
    const taken = last ? most - last.room : most;
    const isOpen = last && taken < even && (textTokens(text) <= last.room || taken < even / 2);
    const part = isOpen ? last : { texts: [], messages: 0, room: most };
    if (!isOpen) parts.push(part);
    const fitting = cutToTokens(text, part.room);
    part.texts.push(fitting);
    part.messages += count;
    part.room -= textTokens(fitting) + 1;
  }
  return parts.map(({ texts, messages: count }) => ({ text: texts.join('\n'), messages: count }));
}

type Outcome =
  | { readonly text: string; readonly failure?: undefined }
  | { readonly text?: undefined; readonly failure: string };

async function foldPart(
  messages: string,
  previous: string,
  options: FoldOptions & { readonly until: number },
): Promise<Outcome> {
  const { limitTokens, signal, round, until, now } = options;
  const prompt = summaryPrompt({ previous, messages, limitTokens });
  let failure = 'timed_out';
  for (let attempt = 1; attempt <= MOST.attempts && now() < until; attempt += 1) {
    // No script needs more than 8 characters for a token.
    const reply = await askAside(options, { messages: prompt, signal, round, limit: 2 * limitTokens * 8 });
    if (reply.failure === undefined) {
      const fault = faultOf(reply.text, { input: `${previous}\n${messages}`, limitTokens });
      if (fault === undefined) return { text: reply.text };
      failure = fault;
      continue;
    }
    failure = reply.failure;
    if (reply.final) break;
  }
  return { failure };
}

/** What a summary must be to replace what it stands for; undefined: it is. */
function faultOf(text: string, { input, limitTokens }: { input: string; limitTokens: number }): string | undefined {
  if (text.length < Math.min(SHORTEST.characters, input.length * SHORTEST.share)) return 'too_short';
  const tokens = textTokens(text);
  if (tokens >= textTokens(input) / 2) return 'not_shorter';
  return tokens > 2 * limitTokens ? 'too_long' : undefined;
}
