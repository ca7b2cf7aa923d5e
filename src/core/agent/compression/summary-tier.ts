import { estimateTokens } from '../../llm/tokens.js';
import type { CompressionState } from '../compression-state.js';
import { tailStart } from './boundary.js';
import { beforeTurn, type Chain, countNumbered } from './chain.js';
import type { Limits } from './limits.js';
import type { Desk } from './side-request.js';
import { type Folded, foldMessages } from './summariser.js';

/** A summary that leaves more than this share of what may be compressed is no progress. */
const PROGRESS = 0.7;

/** Failures in a row after which no summary is tried any more in this conversation. */
const MOST_FAILURES = 3;

/** What a summary of a long span usually takes of it. */
const EXPECTED_SHARE = 0.2;

/** The summariser must be able to read its own notes again: the most of its window that they may take. */
const SUMMARY_SHARE = 0.1;

export interface SummaryTask {
  readonly desk: Desk | undefined;
  readonly limits: Limits;
  readonly signal: AbortSignal;
  readonly round: number;
  /** Changed: what the try means for later ones. */
  readonly state: CompressionState;
}

/** `unchanged` names why the chain is what it was, or why the summary stands for less than it was asked to. */
export interface SummaryOutcome {
  readonly chain: Chain;
  readonly unchanged?: string | undefined;
}

/** Where the part of the history ends that may be summarised, at this size of the request. */
export function spanEnd(chain: Chain, size: number, { limits, factor }: { limits: Limits; factor: number }): number {
  const { budget, due, keep, summary } = limits;
  const fixed = size - estimateTokens(chain.history) * factor + summary;
  // A request that does not fit is brought below the threshold; one that fits keeps its tail (R4).
  const room = (size > budget ? due : budget) - fixed;
  return tailStart(chain.history, { keep: keep / factor, room: room / factor });
}

/**
 * Tier 2: the span `[0, end)` of the history goes into the summary, whatever the history says further on. On any failure
 * the chain stays what it was, except for the parts that had succeeded. Throws only AbortedError and what passes
 * through everything.
 */
export async function summarise(chain: Chain, end: number, task: SummaryTask): Promise<SummaryOutcome> {
  const { desk, state } = task;
  const refusal = whyNot(chain, end, task);
  if (!desk || refusal !== undefined) return { chain, unchanged: refusal };
  const { limits, signal, round } = task;
  const previous = chain.summary?.text ?? '';
  const limitTokens = Math.min(limits.summary, desk.model.contextWindow * SUMMARY_SHARE);
  const folding = { ...desk, signal, round, limitTokens };
  const folded = await foldMessages(chain.history.slice(0, end), previous, folding);
  const shorter = withSummary(chain, folded);
  // Some of the parts are a beginning: they need not be the whole progress.
  const share = folded.covered < end ? 1 : PROGRESS;
  const isProgress = compressible(shorter) < share * compressible(chain);
  const unchanged = folded.failure ?? (isProgress ? undefined : 'little_progress');
  state.failures = unchanged === undefined ? 0 : state.failures + 1;
  return { chain: isProgress ? shorter : chain, unchanged };
}

function whyNot(chain: Chain, end: number, { desk, limits, state }: SummaryTask): string | undefined {
  if (!desk) return 'no_model';
  if (state.failures >= MOST_FAILURES) return 'failed_too_often';
  // A summary that begins behind a gap would stand for messages it has never seen.
  if (chain.leftOut > 0) return 'messages_left_out';
  if (end === 0) return 'nothing_old_enough';
  const span = estimateTokens(chain.history.slice(0, end));
  const expected = Math.min(limits.summary, span * EXPECTED_SHARE) + compressible(chain) - span;
  return expected < PROGRESS * compressible(chain) ? undefined : 'little_to_gain';
}

function withSummary(chain: Chain, { text, covered }: Folded): Chain {
  if (covered === 0) return chain;
  const through = chain.historyFrom + countNumbered(chain.history.slice(0, covered));
  return { ...chain, summary: { text, through }, historyFrom: through, history: chain.history.slice(covered) };
}

/** What compression may change: without the system prompt and the turn, which no summary makes shorter. */
function compressible(chain: Chain): number {
  return estimateTokens(beforeTurn({ ...chain, system: [] }));
}
