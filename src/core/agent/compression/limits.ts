/** Sizes in estimated tokens that follow from the model's window. */
export interface Limits {
  /** The most a request may have: what is left beside the answer and a reserve for what the estimate misses. */
  readonly budget: number;
  /** Old results of tools are cleared from here on. */
  readonly early: number;
  /** Old messages are summarised from here on. */
  readonly due: number;
  /** Tokens of earlier turns that stay whole at least (R4). */
  readonly keep: number;
  /** The most a summary should have. */
  readonly summary: number;
  /** What a chain must have grown by before a summary is tried again. */
  readonly growth: number;
}

const DEFAULTS = { threshold: 0.8, least: 0.1, most: 0.95, early: 0.75 } as const;

/** Tokens; on small windows a share of them. */
const RESERVE = { tokens: 2_048, share: 1 / 16 } as const;

/**
 * Limits for a model's window and longest answer, both in tokens. A window too small for its own answers still leaves
 * something for the question.
 */
export function limitsOf(
  contextWindow: number,
  maxOutputTokens: number,
  threshold: number = DEFAULTS.threshold,
): Limits {
  const reserve = Math.min(RESERVE.tokens, contextWindow * RESERVE.share);
  const budget = Math.floor(contextWindow - Math.min(maxOutputTokens, contextWindow / 2) - reserve);
  return limitsFor(budget, threshold);
}

/** The same for a smaller budget, after a refusal has told that the window is smaller than it seems. */
export function limitsFor(budget: number, threshold: number = DEFAULTS.threshold): Limits {
  const due = budget * Math.min(DEFAULTS.most, Math.max(DEFAULTS.least, threshold));
  return {
    budget,
    due,
    early: due * DEFAULTS.early,
    keep: budget * 0.2,
    summary: Math.min(2_048, budget * 0.1),
    growth: budget * 0.1,
  };
}
