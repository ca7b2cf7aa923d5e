import type { CompressionState } from '../compression-state.js';
import type { AgentEvent } from '../events.js';
import { leaveOut } from './boundary.js';
import type { Chain } from './chain.js';
import type { Limits } from './limits.js';
import { clearOldResults } from './old-results.js';
import type { Desk } from './side-request.js';
import { spanEnd, summarise } from './summary-tier.js';
import { reduceTexts } from './text-reduction.js';
import { shrinkTurn } from './turn-shrink.js';

/** Results of earlier turns that stay whole; the first number after a refusal. */
const KEPT_RESULTS = { refused: 1, otherwise: 3 } as const;

/** The note about steps of the turn: a share of the budget in characters, within bounds. */
const NOTE = { perToken: 0.15, least: 400, most: 6_000 } as const;

type How = Extract<AgentEvent, { type: 'compressed' }>['how'];

/** Everything one pass over a chain works with. */
export interface Pass {
  /** `algorithmic` asks no model, `llm` shortens no text by rules, `hybrid` asks when rules were not enough. */
  readonly mode: 'algorithmic' | 'llm' | 'hybrid';
  readonly limits: Limits;
  /** The vendor refused a request of this size. */
  readonly refused: boolean;
  readonly desk: Desk | undefined;
  readonly signal: AbortSignal;
  readonly round: number;
  /** Estimated tokens of a request with this chain. */
  readonly size: (chain: Chain) => number;
  /** Changed once a try is over: what it means for later ones. An abort changes nothing. */
  readonly state: CompressionState;
  /** What was done, in order. */
  readonly events: AgentEvent[];
}

/**
 * The tiers in order, each only as far as it is due: old results, texts and summary of the history, its oldest groups,
 * and last of all the turn itself. The chain given when nothing is.
 */
export async function shortenChain(chain: Chain, pass: Pass): Promise<Chain> {
  const { limits, size, mode, refused } = pass;
  const fits = (candidate: Chain) => size(candidate) <= limits.budget;
  const kept = refused ? KEPT_RESULTS.refused : KEPT_RESULTS.otherwise;
  let current = chain;
  if (size(current) >= limits.early) current = told(pass, 'results', current, clearOldResults(current, kept));
  if (size(current) >= limits.due) current = await shortenHistory(current, pass);
  if (!fits(current) && mode !== 'llm') {
    current = told(pass, 'results', current, reduceTexts(current, current.history.length));
  }
  if (!fits(current)) current = told(pass, 'left_out', current, leaveOut(current, fits));
  if (!fits(current)) {
    const noteCharacters = Math.min(NOTE.most, Math.max(NOTE.least, limits.budget * NOTE.perToken));
    current = told(pass, 'turn', current, shrinkTurn(current, { fits, noteCharacters }));
  }
  return current;
}

/** Tier 2. After a try it rests until the chain has grown, unless the chain does not fit any more (5.2). */
async function shortenHistory(chain: Chain, pass: Pass): Promise<Chain> {
  const { limits, size, state, mode } = pass;
  const before = size(chain);
  const rested = state.triedAt === 0 || before >= state.triedAt + limits.growth;
  if (!rested && before <= limits.budget) return chain;
  const end = spanEnd(chain, before, { limits, factor: state.factor });
  const reduced = mode === 'llm' ? chain : told(pass, 'results', chain, reduceTexts(chain, end));
  if (mode === 'algorithmic' || size(reduced) < limits.due) {
    if (reduced === chain && before <= limits.budget) tellUnchanged(pass, 'results', before, 'nothing_to_shorten');
    state.triedAt = size(reduced);
    return reduced;
  }
  const { failures } = state;
  const { chain: shorter, unchanged } = await summarise(reduced, end, pass);
  told(pass, 'summary', reduced, shorter);
  const asked = state.failures !== failures;
  if (shorter === reduced && unchanged !== undefined && (rested || asked)) {
    tellUnchanged(pass, 'summary', size(reduced), unchanged);
  }
  state.triedAt = size(shorter);
  return shorter;
}

function told({ events, size }: Pass, how: How, before: Chain, after: Chain): Chain {
  if (after !== before) events.push({ type: 'compressed', how, before: size(before), after: size(after) });
  return after;
}

function tellUnchanged({ events }: Pass, how: How, size: number, unchanged: string): void {
  events.push({ type: 'compressed', how, before: size, after: size, unchanged });
}
