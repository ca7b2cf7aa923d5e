import type { ChatMessage } from '../../llm/model.js';
import { estimateTokens } from '../../llm/tokens.js';
import { type Chain, groupStarts, joinChain, placedAtoms, withoutOldest } from './chain.js';

/** Turns of a person that stay whole in any case that allows it (R4). */
const KEPT_TURNS = 2;

export interface Tail {
  /** Estimated tokens that stay whole at least. */
  readonly keep: number;
  /** Estimated tokens there is room for; goes before everything else. */
  readonly room: number;
}

/**
 * Index of the first message of the history that stays as it is; everything before may go into a summary. The last two
 * turns stay, and at least `keep` tokens, as far as there is room (R4). The cut is at an atom, and at a person's message
 * unless that is far (R1, R3).
 */
export function tailStart(history: readonly ChatMessage[], { keep, room }: Tail): number {
  let tokens = 0;
  let turns = 0;
  let cut = history.length;
  let enough: number | undefined;
  for (const { at, messages } of placedAtoms(history).toReversed()) {
    tokens += estimateTokens(messages);
    if (tokens > room) break;
    if (enough !== undefined && tokens > 2 * keep) return enough;
    cut = at;
    const isTurn = messages[0]?.role === 'user';
    if (isTurn) turns += 1;
    if (turns < KEPT_TURNS || tokens < keep) continue;
    if (isTurn) return cut;
    enough ??= cut;
  }
  return enough ?? cut;
}

/**
 * The last resort of the history: its oldest groups go, whole, and only as many as must; a line says how many messages
 * that were. The same chain when that would make nothing shorter.
 */
export function leaveOut(chain: Chain, fits: (chain: Chain) => boolean): Chain {
  const ends = [...groupStarts(chain.history).slice(1), chain.history.length];
  let shorter = chain;
  for (const end of ends) {
    const rest = withoutOldest(chain, end);
    shorter = { ...rest, leftOut: chain.leftOut + rest.historyFrom - chain.historyFrom };
    if (fits(shorter)) break;
  }
  return estimateTokens(joinChain(shorter)) < estimateTokens(joinChain(chain)) ? shorter : chain;
}
