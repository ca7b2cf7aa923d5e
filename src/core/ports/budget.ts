import type { CallBudget } from '../chat/adapter.js';

/**
 * Call budgets shared by all workers, so that gaps grow evenly when many runs edit at once (generic cell rate
 * algorithm: the store keeps one theoretical arrival time per bucket).
 */
export interface Budgets {
  /**
   * Asks for one call from every bucket. 0 = granted and taken; otherwise milliseconds to wait before asking again,
   * and nothing was taken. `priority: 'final'` may overdraw (final texts go first); later edits then wait longer.
   */
  take(budgets: readonly CallBudget[], priority: 'edit' | 'final'): Promise<number>;
}
