import type { CallBudget } from '../chat/adapter.js';

/**
 * Call budgets shared by all workers, so that gaps grow evenly when many runs edit at once (generic cell rate
 * algorithm: the store keeps one theoretical arrival time per bucket).
 */
export interface Budgets {
  /**
   * Takes one call from every bucket and tells when it may be made: 0 = now, otherwise in so many milliseconds. The
   * place in the queue is reserved, so that callers take turns and none is passed over; a call that is given up costs
   * the others one slot. `final` is always granted at once (final texts go first); edits after it wait longer, a
   * minute at most.
   */
  take(budgets: readonly CallBudget[], priority: 'edit' | 'final'): Promise<number>;
}
