import { OVERFLOW_FINISH } from './context-overflow.js';
import type { FinishReason, ModelReply, ModelRequest, TokenUsage } from './model.js';
import { createThinkingSplitter } from './thinking.js';
import { createToolCallAssembly, type ToolCallPiece } from './tool-call-assembly.js';

type Loose = Readonly<Record<string, unknown>>;

export interface StreamAssembly {
  /** Takes a `chat.completion.chunk`, or a whole completion from a server that does not stream. */
  add(chunk: Loose): void;
  /** `[DONE]` came. */
  done(): void;
  /** A finish reason or `[DONE]` came: only usage can follow. */
  readonly complete: boolean;
  /** `[DONE]` came: nothing can follow. */
  readonly ended: boolean;
  /** Something reached the listeners: the request must not be repeated. */
  readonly started: boolean;
  /** The server says, by a finish reason and with nothing before it, that the request is too long. */
  readonly overflowed: boolean;
  /** `usage` is undefined when the vendor reported none. */
  reply(): Omit<ModelReply, 'usage'> & { readonly usage: TokenUsage | undefined };
}

export interface AssemblyOptions {
  readonly request: Pick<ModelRequest, 'onText' | 'onReasoning' | 'onToolCall'>;
  /** Look for `<think>` at the beginning of the text. */
  readonly splitThinking: boolean;
}

/** Puts a streamed reply together and tells the listeners what arrives. Fields nobody knows are ignored. */
export function createStreamAssembly({ request, splitThinking }: AssemblyOptions): StreamAssembly {
  let text = '';
  let reasoning = '';
  let finish = '';
  let requestId = '';
  let usage: TokenUsage | undefined;
  let sawDone = false;
  let started = false;
  const onText = (delta: string) => {
    started = true;
    text += delta;
    request.onText?.(delta);
  };
  const onReasoning = (delta: string) => {
    started = true;
    reasoning += delta;
    request.onReasoning?.(delta);
  };
  const thinking = splitThinking ? createThinkingSplitter(onText, onReasoning) : undefined;
  const calls = createToolCallAssembly(request.onToolCall);

  function addDelta(delta: Loose): void {
    const thought = string(delta.reasoning_content) || string(delta.reasoning);
    if (thought !== '') onReasoning(thought);
    for (const part of contentParts(delta)) {
      if (part.thought) onReasoning(part.text);
      else if (thinking) thinking.push(part.text);
      else onText(part.text);
    }
    if (!Array.isArray(delta.tool_calls)) return;
    for (const piece of delta.tool_calls) {
      if (typeof piece !== 'object' || piece === null) continue;
      started = true;
      calls.add(piece as ToolCallPiece);
    }
  }

  return {
    add(chunk) {
      if (requestId === '') requestId = string(chunk.id);
      usage = usageOf(chunk.usage) ?? usage;
      const choice = Array.isArray(chunk.choices) ? object(chunk.choices[0]) : undefined;
      if (!choice) return;
      const delta = object(choice.delta) ?? (started ? undefined : object(choice.message));
      if (delta) addDelta(delta);
      if (string(choice.finish_reason) !== '') finish = string(choice.finish_reason);
    },
    done() {
      sawDone = true;
    },
    get complete() {
      return sawDone || finish !== '';
    },
    get ended() {
      return sawDone;
    },
    get started() {
      return started;
    },
    get overflowed() {
      return !started && finish === OVERFLOW_FINISH;
    },
    reply() {
      thinking?.end();
      // Many vendors send only one of the two; with neither, the connection may have ended anywhere.
      const finishReason = finish === '' && !sawDone ? 'cut_off' : finishReasonOf(finish);
      const cut = finishReason === 'length' || finishReason === 'cut_off';
      return { text, reasoning, toolCalls: calls.calls(cut), finishReason, usage, requestId };
    },
  };
}

/** Content is a string; some vendors send a list of parts, and a refusal in a field of its own. */
function contentParts(delta: Loose): readonly { readonly text: string; readonly thought: boolean }[] {
  const { content } = delta;
  if (typeof content === 'string') return content === '' ? [] : [{ text: content, thought: false }];
  if (Array.isArray(content)) return content.flatMap((part) => listedPart(object(part) ?? {}));
  const refusal = string(delta.refusal);
  return refusal === '' ? [] : [{ text: refusal, thought: false }];
}

function listedPart(part: Loose): readonly { readonly text: string; readonly thought: boolean }[] {
  if (Array.isArray(part.thinking)) {
    return part.thinking.map((piece) => ({ text: string(object(piece)?.text), thought: true }));
  }
  return [{ text: string(part.text), thought: false }];
}

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  [OVERFLOW_FINISH]: 'length',
};

function finishReasonOf(reason: string): FinishReason {
  return FINISH_REASONS[reason] ?? 'unknown';
}

function usageOf(value: unknown): TokenUsage | undefined {
  const usage = object(value);
  const inputTokens = usage?.prompt_tokens;
  const outputTokens = usage?.completion_tokens;
  if (!isCount(inputTokens) || !isCount(outputTokens) || inputTokens === 0) return undefined;
  return { inputTokens, outputTokens, estimated: false };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function object(value: unknown): Loose | undefined {
  return typeof value === 'object' && value !== null ? (value as Loose) : undefined;
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
