import type { TokenUsage } from './model.js';

/** Price per million tokens for requests whose input is at most `upTo` tokens; the last tier has no `upTo`. */
export interface PriceTier {
  readonly upTo?: number | undefined;
  readonly input: number;
  readonly output: number;
}

/**
 * Price of ONE request, in the config's currency. Runs sum these; pricing a sum of tokens would pick the wrong tier
 * (seed 000, 3.2.5). No tiers: 0.
 */
export function priceOf(usage: TokenUsage, tiers: readonly PriceTier[]): number {
  const tier = tiers.find((t) => t.upTo === undefined || usage.inputTokens <= t.upTo) ?? tiers.at(-1);
  if (!tier) return 0;
  return (usage.inputTokens * tier.input + usage.outputTokens * tier.output) / 1_000_000;
}
