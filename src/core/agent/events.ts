import type { FinishReason, TokenUsage, ToolCall } from '../llm/model.js';

/** Everything the loop tells while it runs; one typed stream (`onEvent`), in order. */
export type AgentEvent =
  | { readonly type: 'round.started'; readonly round: number }
  | { readonly type: 'text.delta'; readonly text: string }
  | { readonly type: 'reasoning.delta'; readonly text: string }
  | { readonly type: 'tool.announced'; readonly name: string }
  | {
      readonly type: 'request.finished';
      readonly round: number;
      readonly usage: TokenUsage;
      readonly cost: number;
      readonly finishReason: FinishReason;
      readonly milliseconds: number;
    }
  | { readonly type: 'tool.started'; readonly call: ToolCall }
  | {
      readonly type: 'tool.finished';
      readonly call: ToolCall;
      readonly content: string;
      readonly failed: boolean;
      readonly milliseconds: number;
    }
  | { readonly type: 'steered'; readonly count: number }
  | { readonly type: 'compressed' }
  /** The gate refused this round's text: whatever showed it takes it back. */
  | { readonly type: 'draft.refused'; readonly text: string }
  /** A complete answer stands, but the run goes on (a steer came during it): the next text is a new message. */
  | { readonly type: 'answer.closed'; readonly text: string }
  /** Something the person should know: the answer was cut (`length`) or filtered, the cap was reached. */
  | { readonly type: 'notice'; readonly notice: 'length' | 'content_filter' | 'max_iterations' | 'empty_reply' };
