import type { ChatMessage, ToolCall, ToolChoice, ToolSchema } from '../llm/model.js';
import type { AgentEvent } from './events.js';
import type { LoopState } from './run-state.js';

/** What a tool gave back. */
export interface ToolResult {
  readonly content: string;
  /** The content is an error text for the model; the run goes on. */
  readonly failed?: boolean | undefined;
  /** A stop tool: the round's other calls still get results, then the run ends as `final` without asking the gate. */
  readonly stop?: boolean | undefined;
  /** Waits for a person: the run ends as this; `content` stays in the chain until the answer replaces it. */
  readonly suspend?: 'ask' | 'interactive' | undefined;
  /** Internal tools keep their text as it is. */
  readonly skipCompression?: boolean | undefined;
  /** What the call itself cost; the run's cost is models plus tools. */
  readonly cost?: number | undefined;
}

/** May this call run now? `suspend` ends the run as `approval` after the round's other calls ran. */
export type ToolDecision =
  | { readonly decision: 'run' }
  | {
      readonly decision: 'deny';
      readonly reason: string;
      /** What a person said about it: the model hears this instead of the reason, logs never do. */
      readonly words?: string | undefined;
    }
  | { readonly decision: 'suspend'; readonly reason?: string };

/** May the run end with this text? `feedback` becomes a user message and the loop goes on; `error` ends the run. */
export type StopDecision =
  | { readonly decision: 'allow' }
  | { readonly decision: 'refuse'; readonly feedback: string }
  | { readonly decision: 'error'; readonly error: Error };

/** Texts people wrote during the run, already merged into one user message by the host. */
export interface Steering {
  readonly message: string;
  readonly count: number;
}

/**
 * The complete hook set of the loop (design section 4). The kernel knows no plan, ask, permission or platform; levels
 * of autonomy are made of these hooks. Unless a contract says otherwise a hook may throw: the throw ends the run
 * (AbortedError and SupersededError pass through unchanged).
 */
export interface AgentLoopHooks {
  /**
   * Called at each round's start and once more before a final answer ends the run. Returns everything that waits,
   * merged, or undefined. The kernel appends it as a user message and resets brake and empty-retry; the host resets
   * its own counters (gate, forced answer) here. Never called between tools (seed 001).
   */
  drainSteering?(state: LoopState): Promise<Steering | undefined>;

  /**
   * Called before each request with the chain, and once more with `overflow` when the vendor refused a request as too
   * long. Returns a replacement for it or undefined. Must never split a call/result pair nor touch the current user
   * message and what follows while it fits. Must not throw on failure.
   */
  onCompressContext?(
    state: LoopState,
    signal: AbortSignal,
    overflow?: boolean,
  ): Promise<readonly ChatMessage[] | undefined>;

  /** Schemas and forced choice of the coming request. `toolChoice: undefined` leaves the brake in charge. */
  getRequestControl?(state: LoopState): Promise<RequestControl> | RequestControl;

  /** Called for each call in order, before any of the round runs. Default: run. */
  decideToolCall?(call: ToolCall, state: LoopState): Promise<ToolDecision>;

  /**
   * Called once per batch, after `state` got the assistant message and the marks of the calls about to start; the
   * host commits here what must survive a kill (calls not known to be idempotent). A take-over finds the marks.
   */
  beforeToolCalls?(calls: readonly ToolCall[], state: LoopState): Promise<void>;

  /**
   * Runs one call. A throw other than an abort becomes the tool message (the model sees the error and goes on).
   * `interrupted` is true when a former process started this call and died: do not repeat it unless it is idempotent.
   */
  onRunTool(call: ToolCall, context: ToolCallContext): Promise<ToolResult>;

  /** Continues a call that suspended as `interactive`; `answer` is what the person gave. */
  onRunInteractiveTool?(call: ToolCall, answer: string, context: ToolCallContext): Promise<ToolResult>;

  /** May this call run beside others? Default: no (serial). Results are written in call order either way. */
  canBatchTool?(call: ToolCall): boolean;

  /** Sees the whole result before it enters the chain; returns what the model sees. Must not throw on failure. */
  compressToolResponse?(call: ToolCall, content: string, state: LoopState, signal: AbortSignal): Promise<string>;

  /** The boundary after a round's results were written: the host commits `state` here. */
  afterToolResults?(state: LoopState): Promise<void>;

  /** Asked when the model answers without calls, except at the cap and after a stop tool. Default: allow. */
  onStopCandidate?(text: string, state: LoopState): Promise<StopDecision>;

  /** Polled at each boundary and between serial tools. True ends the run as `stopped`, keeping what stands. */
  isAborted?(): boolean;

  /** Gets every event in order. Must not throw and must not block. */
  onEvent?(event: AgentEvent): void;
}

export interface RequestControl {
  readonly tools?: readonly ToolSchema[] | undefined;
  readonly toolChoice?: ToolChoice | undefined;
}

export interface ToolCallContext {
  readonly signal: AbortSignal;
  /** The chain before this round's assistant message. */
  readonly messages: readonly ChatMessage[];
  readonly interrupted: boolean;
}
