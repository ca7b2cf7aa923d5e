import type { ChatMessage } from '../llm/model.js';
import { estimateTokens } from '../llm/tokens.js';
import { isSummaryMessage } from './compression/summary.js';

export interface TrimmedHistory {
  readonly messages: readonly ChatMessage[];
  /** Messages of the groups that did not fit. */
  readonly leftOut: number;
}

/**
 * The newest whole groups of a chain whose estimated tokens fit `budget`. A group is a user message and everything up
 * to the next one, so that calls and results stay together. Trimming starts from the oldest and leaves no gap: the
 * first group that does not fit ends it (seed 000, 3.1).
 *
 * Leading system messages and the summary behind them stay and count. The newest group stays even if it alone is too long: give the whole chain
 * with the message to be answered, and its request may still succeed. Messages before the first user message belong to
 * no group and are dropped.
 */
export function newestGroups(history: readonly ChatMessage[], budget: number): TrimmedHistory {
  const leading = leadingOf(history);
  const first = history.findIndex(({ role }, at) => role === 'user' && at >= leading.length);
  if (first < 0) return { messages: leading, leftOut: 0 };
  let left = budget - estimateTokens(leading);
  let from = history.length;
  for (let at = history.length - 1; at >= first; at -= 1) {
    if (history[at]?.role !== 'user') continue;
    left -= estimateTokens(history.slice(at, from));
    if (left < 0 && from < history.length) break;
    from = at;
  }
  return { messages: [...leading, ...history.slice(from)], leftOut: from - first };
}

function leadingOf(history: readonly ChatMessage[]): readonly ChatMessage[] {
  const other = history.findIndex(({ role }) => role !== 'system');
  if (other < 0) return history;
  return history.slice(0, isSummaryMessage(history[other]) ? other + 1 : other);
}
