import type { ChatMessage, TokenUsage, ToolSchema } from '../../llm/model.js';
import { estimateTokens, messageTokens } from '../../llm/tokens.js';
import type { CompressionState } from '../compression-state.js';

/** A reported count is believed within these bounds of the estimate; some servers report nonsense. */
const FACTOR = { least: 0.5, most: 2, weight: 0.3 } as const;

/** A refused request was too long by an unknown amount: later ones stay below this share of it. */
const BELOW_REFUSED = 0.9;

/** Sizes of one chain and of what compression makes of it, in estimated tokens of the whole request. */
export interface Scale {
  /** Size of a request with these messages instead of those the scale was made for. */
  size(messages: readonly ChatMessage[]): number;
}

/**
 * Estimates requests. What the vendor reported for the last request is the anchor, only what came after it is
 * estimated, corrected by what was learned (`state.factor`, 1: nothing yet). A changed chain has no anchor.
 */
export interface Meter {
  scale(messages: readonly ChatMessage[]): Scale;
  /** The request about to go out. `comparable`: its usage will say something about these messages and schemas. */
  sending(messages: readonly ChatMessage[], options: { readonly changed: boolean; readonly comparable: boolean }): void;
  /** Usage of the request that went out. */
  observe(usage: TokenUsage): void;
  /** The request that went out was refused as too long. */
  refused(): void;
  /** The most a request may have as far as refusals told, in corrected tokens. */
  readonly ceiling: number;
}

interface Anchor {
  /** Messages of the request the usage was reported for. */
  readonly messages: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Estimated, so that other schemas can be told from these. */
  readonly schemaTokens: number;
}

export function createMeter(state: CompressionState, tools: () => readonly ToolSchema[]): Meter {
  let anchor: Anchor | undefined;
  let sent: { readonly messages: number; readonly raw: number; readonly comparable: boolean } | undefined;
  let refusedRaw = Number.POSITIVE_INFINITY;

  function anchored(messages: readonly ChatMessage[]): number | undefined {
    if (!anchor || messages.length < anchor.messages) return undefined;
    const later = messages.slice(anchor.messages);
    const [reply] = later;
    const schemas = (estimateTokens([], tools()) - anchor.schemaTokens) * state.factor;
    const all = anchor.inputTokens + schemas + estimateTokens(later) * state.factor;
    if (reply?.role !== 'assistant') return all;
    // Reported output holds reasoning, which is never sent back: the reply itself is at most twice its estimate.
    const estimated = messageTokens(reply) * state.factor;
    return all - estimated + Math.min(anchor.outputTokens, 2 * estimated);
  }

  return {
    scale(messages) {
      const raw = estimateTokens(messages);
      const whole = anchored(messages) ?? (raw + estimateTokens([], tools())) * state.factor;
      return {
        size: (others) => Math.max(0, Math.round(whole + (estimateTokens(others) - raw) * state.factor)),
      };
    },
    sending(messages, { changed, comparable }) {
      if (changed) anchor = undefined;
      sent = { messages: messages.length, raw: estimateTokens(messages, tools()), comparable };
    },
    observe({ inputTokens, outputTokens, estimated }) {
      if (estimated || !sent?.comparable || sent.raw === 0) return;
      const factor = clamped(inputTokens / sent.raw);
      const weight = state.factor === 1 ? 1 : FACTOR.weight;
      state.factor = clamped(state.factor * (1 - weight) + factor * weight);
      const schemaTokens = estimateTokens([], tools());
      anchor = { messages: sent.messages, inputTokens: sent.raw * factor, outputTokens, schemaTokens };
    },
    refused() {
      if (sent) refusedRaw = Math.min(refusedRaw, sent.raw);
      anchor = undefined;
    },
    get ceiling() {
      return refusedRaw * BELOW_REFUSED * state.factor;
    },
  };
}

function clamped(factor: number): number {
  return Math.min(FACTOR.most, Math.max(FACTOR.least, factor));
}
