import type { PlanView } from '../chat/plan-view.js';
import type { FinishReason, TokenUsage, ToolCall } from '../llm/model.js';

/** Something about an answer that the person should know. */
export type NoticeKind = 'length' | 'content_filter' | 'cut_off' | 'max_iterations' | 'empty_reply';

/** Whose request it was: the agent's own, the compression's, or one made inside a tool. */
export type RequestSource = 'agent' | 'compression' | 'tool';

/**
 * Everything that happens while a run goes on; one typed stream (`onEvent`), in order. Live messages, console, log,
 * metrics, run records and tests all read this one.
 */
export type AgentEvent =
  /** Once per run and process, before the first round: what the run works with, and what its fixed parts weigh. */
  | {
      readonly type: 'run.opened';
      readonly model: string;
      readonly tools: readonly string[];
      /** Tools and servers that are not there, and why. */
      readonly skipped: readonly { readonly name: string; readonly reason: string }[];
      /** Estimated tokens of the system prompt and of the tool schemas. */
      readonly promptTokens: number;
      readonly schemaTokens: number;
    }
  | { readonly type: 'round.started'; readonly round: number }
  | { readonly type: 'text.delta'; readonly text: string }
  | { readonly type: 'reasoning.delta'; readonly text: string }
  | { readonly type: 'tool.announced'; readonly name: string }
  | {
      readonly type: 'request.finished';
      readonly source: RequestSource;
      /** Configured name of the model. */
      readonly model: string;
      readonly round: number;
      readonly usage: TokenUsage;
      readonly cost: number;
      readonly finishReason: FinishReason;
      readonly milliseconds: number;
      /** The call this request was made for; absent for the agent's own. */
      readonly callId?: string | undefined;
      /** The vendor's id of the request, for questions to the vendor; '' when it gave none. */
      readonly requestId: string;
    }
  /** What permissions said about a call that did not simply run. */
  | {
      readonly type: 'tool.held';
      readonly call: ToolCall;
      readonly decision: 'deny' | 'suspend';
      readonly reason: string;
    }
  | { readonly type: 'tool.started'; readonly call: ToolCall }
  | { readonly type: 'tool.progress'; readonly callId: string; readonly line: string }
  | {
      readonly type: 'tool.finished';
      readonly call: ToolCall;
      readonly content: string;
      readonly failed: boolean;
      readonly milliseconds: number;
      /** What the call itself cost, beside the models. */
      readonly cost: number;
    }
  /** A run inside a call: its own events, in its own order. */
  | {
      readonly type: 'subagent';
      readonly callId: string;
      readonly agent: string;
      readonly event: AgentEvent;
    }
  | { readonly type: 'plan.updated'; readonly plan: PlanView | undefined }
  | { readonly type: 'steered'; readonly count: number }
  /** Tokens are estimates of the whole request. `unchanged` names why nothing was done although it was due. */
  | {
      readonly type: 'compressed';
      readonly before: number;
      readonly after: number;
      readonly how: 'results' | 'summary' | 'left_out' | 'turn';
      readonly unchanged?: string | undefined;
    }
  /** The gate refused this round's text: whatever showed it takes it back. */
  | { readonly type: 'draft.refused'; readonly text: string }
  /** A complete answer stands, but the run goes on (a steer came during it): the next text is a new message. */
  | { readonly type: 'answer.closed'; readonly text: string }
  | { readonly type: 'notice'; readonly notice: NoticeKind }
  /** What stands so far was committed. */
  | { readonly type: 'checkpoint'; readonly round: number }
  /** The last event of a run in this process. */
  | { readonly type: 'done'; readonly finish: string };
