import type { CallBudget } from '../../core/chat/adapter.js';
import { storedId } from './identifiers.js';

/** Final texts may push a bucket this far into debt, ms; so an edit never waits longer because of them. */
export const OVERDRAFT_MS = 60_000;

export interface BudgetLimit {
  readonly bucket: string;
  readonly everyMs: number;
  /** How far the arrival time may lie ahead and a call still passes: `burst` calls at once. */
  readonly toleranceMs: number;
}

/** One limit per bucket, in a fixed order so that two calls lock in the same order. A bucket named twice counts once. */
export function budgetLimits(budgets: readonly CallBudget[]): readonly BudgetLimit[] {
  const limits = new Map<string, BudgetLimit>();
  for (const { bucket, everyMs, burst } of budgets) {
    const id = storedId(bucket);
    limits.set(id, { bucket: id, everyMs, toleranceMs: Math.max(0, burst - 1) * everyMs });
  }
  return [...limits.values()].sort((a, b) => (a.bucket < b.bucket ? -1 : 1));
}
