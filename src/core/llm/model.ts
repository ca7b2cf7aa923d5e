import type { Capabilities } from './capabilities.js';
import type { PriceTier } from './pricing.js';

/** One call of a tool as the model wrote it; `arguments` is JSON text, `{}` when the model sent nothing. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A message of the chain, persisted inside the run state. Names follow the chat-completions API. */
export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly toolCalls?: readonly ToolCall[] | undefined }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string };

/** A tool as the model sees it; `parameters` is JSON schema. */
export interface ToolSchema {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** `undefined` leaves the choice to the model; the API's word `auto` is never sent (some vendors reject it). */
export type ToolChoice = 'none' | 'required';

/** How long a model that reasons may think. */
export type ReasoningEffort = 'low' | 'medium' | 'high';

export interface ModelRequest {
  readonly messages: readonly ChatMessage[];
  /** Empty or absent: no schemas are sent. */
  readonly tools?: readonly ToolSchema[] | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  /** Sent only to a model whose capability `reasoning` is set. */
  readonly reasoningEffort?: ReasoningEffort | undefined;
  readonly signal: AbortSignal;
  readonly onText?: ((delta: string) => void) | undefined;
  readonly onReasoning?: ((delta: string) => void) | undefined;
  /** Called once per call, as soon as its name is known. */
  readonly onToolCall?: ((name: string) => void) | undefined;
}

/** Tokens of one request. `estimated` when the vendor reported none. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly estimated: boolean;
}

/** `cut_off`: the stream ended without a word that it is complete. `unknown`: complete, for a reason of the vendor's own. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'cut_off' | 'unknown';

export interface ModelReply {
  readonly text: string;
  /** Kept apart from the text; never sent back to the model as content. */
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: FinishReason;
  readonly usage: TokenUsage;
  /** The vendor's id of the request, '' when it gave none. */
  readonly requestId: string;
}

/**
 * The model port. `request` throws `ModelError` (never retried by the caller's own loop unless it says so) or
 * `AbortedError` when `signal` was aborted. A reply without text and calls is returned, not thrown: the kernel decides.
 */
export interface Model {
  /** The name under `models:` in the config; errors and footers show it. */
  readonly name: string;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  /** Empty: calls cost 0. */
  readonly price: readonly PriceTier[];
  readonly capabilities: Capabilities;
  /** First part of the system prompt of every agent that uses this model. */
  readonly defaultSystemPrompt?: string | undefined;
  request(request: ModelRequest): Promise<ModelReply>;
}
