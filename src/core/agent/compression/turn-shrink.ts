import type { ChatMessage } from '../../llm/model.js';
import { estimateTokens } from '../../llm/tokens.js';
import { askAgentSchema } from '../../plan/ask-agent.js';
import { type Chain, EXEMPT_TOOLS, type PlacedAtom, placedAtoms, toolNames } from './chain.js';
import { clearedResult, isCleared } from './old-results.js';
import { cutMiddle } from './text-cut.js';

/** The newest atoms of the turn: what the model is working with. */
const KEPT_ATOMS = 2;

const NOTE_HEAD = '[Progress so far in this turn. Its earlier steps were left out to save space; go on from here.]';

/** Characters of the parts of a line in the note about steps left out, and the least a newest result keeps. */
const LIMITS = { arguments: 200, result: 300, text: 300, newestResult: 400 } as const;

export interface TurnLimits {
  readonly fits: (chain: Chain) => boolean;
  /** Longest note about steps left out. */
  readonly noteCharacters: number;
}

/**
 * R7: what is done when the turn alone does not fit, in this order and only until it fits. Old results of the turn
 * become placeholders, oldest first; its old steps become a note; results of the newest steps lose their middle. What
 * people wrote is never touched.
 */
export function shrinkTurn(chain: Chain, limits: TurnLimits): Chain {
  const steps = [
    clearResults,
    (from: Chain) => noteProgress(from, limits, EXEMPT_TOOLS),
    cutNewestResults,
    // A plan is told again by its next update; an answer of a person is not.
    (from: Chain) => noteProgress(from, limits, [askAgentSchema.name]),
  ];
  let shorter = chain;
  for (const step of steps) if (!limits.fits(shorter)) shorter = step(shorter, limits);
  return shorter;
}

function clearResults(chain: Chain, { fits }: TurnLimits): Chain {
  const names = toolNames(chain.turn);
  let shorter = chain;
  for (const at of oldAtoms(chain.turn).flatMap(placesOf)) {
    const message = shorter.turn[at];
    const cleared = message && clearedResult(message, names);
    if (!cleared || cleared === message) continue;
    shorter = { ...shorter, turn: shorter.turn.with(at, cleared) };
    if (fits(shorter)) break;
  }
  return shorter;
}

/** Oldest first, one more atom goes into the note until the rest fits; steps that called one of `kept` stay. */
function noteProgress(chain: Chain, { fits, noteCharacters }: TurnLimits, kept: readonly string[]): Chain {
  const former = chain.turn.findIndex(isProgressNote);
  const known = former < 0 ? [] : noteLines(chain.turn[former]);
  const atoms = oldAtoms(chain.turn).filter((atom) => !callsOneOf(atom, kept));
  let shorter = chain;
  for (let count = 1; count <= atoms.length; count += 1) {
    const gone = atoms.slice(0, count);
    const note = progressNote([...known, ...gone.flatMap(({ messages }) => stepLines(messages))], noteCharacters);
    const place = former < 0 ? gone[0]?.at : former;
    const removed = new Set([...gone.flatMap(placesOf), former]);
    const turn = chain.turn.flatMap((message, at) => {
      const rest = removed.has(at) ? [] : [message];
      return at === place ? [note, ...rest] : rest;
    });
    shorter = { ...chain, turn };
    if (fits(shorter)) break;
  }
  return estimateTokens(shorter.turn) < estimateTokens(chain.turn) ? shorter : chain;
}

/** The longest result loses its middle until the turn fits or nothing long is left. */
function cutNewestResults(chain: Chain, { fits }: TurnLimits): Chain {
  const names = toolNames(chain.turn);
  let shorter = chain;
  while (!fits(shorter)) {
    const at = longestResult(shorter.turn, names);
    const message = shorter.turn[at];
    if (message?.role !== 'tool') break;
    const limit = Math.max(LIMITS.newestResult, Math.floor(message.content.length / 2));
    const content = cutMiddle(message.content, limit);
    shorter = { ...shorter, turn: shorter.turn.with(at, { ...message, content }) };
  }
  return shorter;
}

function longestResult(turn: readonly ChatMessage[], names: ReadonlyMap<string, string>): number {
  let longest = -1;
  let length: number = LIMITS.newestResult;
  for (const [at, message] of turn.entries()) {
    const isPerson = message.role === 'tool' && names.get(message.toolCallId) === askAgentSchema.name;
    if (message.role !== 'tool' || isPerson || message.content.length <= length) continue;
    longest = at;
    length = message.content.length;
  }
  return longest;
}

/** Everything of the assistant in this turn but its newest atoms. */
function oldAtoms(turn: readonly ChatMessage[]): readonly PlacedAtom[] {
  const own = placedAtoms(turn).filter(({ messages }) => messages[0]?.role === 'assistant');
  return own.slice(0, Math.max(0, own.length - KEPT_ATOMS));
}

function placesOf({ at, messages }: PlacedAtom): readonly number[] {
  return messages.map((_, offset) => at + offset);
}

function callsOneOf({ messages: [head] }: PlacedAtom, names: readonly string[]): boolean {
  return head?.role === 'assistant' && (head.toolCalls ?? []).some(({ name }) => names.includes(name));
}

/** Never the first message: that is what the person wrote, whatever it says. */
function isProgressNote(message: ChatMessage, at: number): boolean {
  return at > 0 && message.role === 'user' && message.content.startsWith(NOTE_HEAD);
}

function noteLines(note: ChatMessage | undefined): readonly string[] {
  return note?.content.split('\n').slice(1) ?? [];
}

/** The newest lines that have room; the note never grows without end. */
function progressNote(lines: readonly string[], limit: number): ChatMessage {
  let from = lines.length;
  let room = limit - NOTE_HEAD.length;
  for (; from > 0; from -= 1) {
    room -= (lines[from - 1]?.length ?? 0) + 1;
    if (room < 0) break;
  }
  return { role: 'user', content: [NOTE_HEAD, ...lines.slice(from)].join('\n') };
}

function stepLines([head, ...results]: readonly ChatMessage[]): readonly string[] {
  if (head?.role !== 'assistant') return [];
  const wrote = head.content === '' ? [] : [`- You wrote: ${oneLine(head.content, LIMITS.text)}`];
  const did = (head.toolCalls ?? []).map((call) => {
    const result = results.find((message) => message.role === 'tool' && message.toolCallId === call.id);
    const outcome = result && !isCleared(result) ? `: ${oneLine(result.content, LIMITS.result)}` : '';
    return `- You called ${call.name} ${oneLine(call.arguments, LIMITS.arguments)}${outcome}`;
  });
  return [...wrote, ...did];
}

function oneLine(text: string, limit: number): string {
  return cutMiddle(text, limit).replace(/\s+/g, ' ').trim();
}
