import type { ChatMessage } from '../../llm/model.js';
import { askAgentSchema } from '../../plan/ask-agent.js';
import { updatePlanSchema } from '../../plan/update-plan.js';
import type { CompressionState } from '../compression-state.js';
import { isSummaryMessage, leftOutCount, type Summary, summaryMessage } from './summary.js';
import { atomsOf, NO_RESULT, repairChain } from './validity.js';

/**
 * A chain taken apart at the boundary of compression: only `history` may become shorter; `turn`, the current user
 * message and everything after it, only when nothing else helps. Each step of compression makes a new one.
 */
export interface Chain {
  readonly system: readonly ChatMessage[];
  readonly summary: Summary | null;
  /** Earlier messages that the model sees neither whole nor in the summary. */
  readonly leftOut: number;
  /** Number of the first message of `history` in the whole life of the conversation. */
  readonly historyFrom: number;
  readonly history: readonly ChatMessage[];
  readonly turn: readonly ChatMessage[];
}

/** Tools whose results are somebody's words or the plan: never replaced by a placeholder. */
export const EXEMPT_TOOLS: readonly string[] = [askAgentSchema.name, updatePlanSchema.name];

/** Takes a chain apart and repairs both halves; `repaired`: one needed it. */
export function openChain(
  messages: readonly ChatMessage[],
  state: CompressionState,
): { readonly chain: Chain; readonly repaired: boolean } {
  const earlier = messages.slice(0, Math.max(0, state.turnAt));
  const current = messages.slice(earlier.length);
  const firstOther = earlier.findIndex(({ role }) => role !== 'system');
  const systemEnd = firstOther < 0 ? earlier.length : firstOther;
  const notes = earlier[systemEnd];
  const leftOut = notes && isSummaryMessage(notes) ? leftOutCount(notes, state.summary) : 0;
  const hasNotes = isSummaryMessage(notes) && (state.summary !== null || leftOut > 0);
  const past = earlier.slice(hasNotes ? systemEnd + 1 : systemEnd);
  const history = repairChain(past);
  const turn = repairChain(current);
  const system = earlier.slice(0, systemEnd);
  return {
    chain: { system, summary: state.summary, leftOut, historyFrom: state.historyFrom, history, turn },
    repaired: history !== past || turn !== current,
  };
}

/** What stands before the turn, in order: its length is the index of the message that started the turn. */
export function beforeTurn({ system, summary, leftOut, history }: Chain): readonly ChatMessage[] {
  const notes = summary || leftOut > 0 ? [summaryMessage(summary, leftOut)] : [];
  return [...system, ...notes, ...history];
}

export function joinChain(chain: Chain): readonly ChatMessage[] {
  return [...beforeTurn(chain), ...chain.turn];
}

/** The chain without the first `count` messages of its history. */
export function withoutOldest(chain: Chain, count: number): Chain {
  const removed = countNumbered(chain.history.slice(0, count));
  return { ...chain, history: chain.history.slice(count), historyFrom: chain.historyFrom + removed };
}

/** Messages that have a number in the conversation. A result made up by the repair has none. */
export function countNumbered(messages: readonly ChatMessage[]): number {
  return messages.filter((message) => message.role !== 'tool' || message.content !== NO_RESULT).length;
}

/** The tool's name for each call of these messages, by call id. */
export function toolNames(messages: readonly ChatMessage[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const { id, name } of message.toolCalls ?? []) names.set(id, name);
  }
  return names;
}

/** First index of every group: a user message and what follows up to the next one, at the front whatever there is. */
export function groupStarts(messages: readonly ChatMessage[]): readonly number[] {
  return messages.flatMap(({ role }, at) => (role === 'user' || at === 0 ? [at] : []));
}

/** An atom and where it begins. */
export interface PlacedAtom {
  readonly at: number;
  readonly messages: readonly ChatMessage[];
}

export function placedAtoms(messages: readonly ChatMessage[]): readonly PlacedAtom[] {
  let at = 0;
  return atomsOf(messages).map((atom) => {
    const placed = { at, messages: atom };
    at += atom.length;
    return placed;
  });
}
