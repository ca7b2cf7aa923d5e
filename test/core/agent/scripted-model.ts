import { NO_CAPABILITIES } from '../../../src/core/llm/capabilities.js';
import type { ChatMessage, Model, ModelReply, ModelRequest, ToolCall } from '../../../src/core/llm/model.js';

/** What the scripted model does with one request. */
export interface ScriptedReply {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly ToolCall[];
  readonly finishReason?: ModelReply['finishReason'];
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Thrown after the text was streamed. */
  readonly fail?: Error;
  /** Runs after the text was streamed; a test uses it to act in the middle of a request. */
  readonly meanwhile?: () => void | Promise<void>;
}

export interface RecordedModelRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: ModelRequest['tools'];
  readonly toolChoice: ModelRequest['toolChoice'];
}

export type Script = readonly ScriptedReply[] | ((request: RecordedModelRequest, index: number) => ScriptedReply);

export interface ScriptedModel extends Model {
  readonly requests: readonly RecordedModelRequest[];
}

/** A model in the process: one reply per request, streamed word by word. Being asked too often is a failed test. */
export function scriptedModel(script: Script, price: Model['price'] = []): ScriptedModel {
  const requests: RecordedModelRequest[] = [];
  return {
    name: 'scripted',
    contextWindow: 128_000,
    maxOutputTokens: 4_096,
    price,
    capabilities: NO_CAPABILITIES,
    requests,
    async request({ messages, tools, toolChoice, signal, onText, onReasoning, onToolCall }) {
      const recorded = { messages: [...messages], tools, toolChoice };
      const faults = transcriptFaults(messages);
      if (faults.length > 0) throw new Error(`a strict vendor would refuse this: ${faults.join('; ')}`);
      const index = requests.push(recorded) - 1;
      const step = typeof script === 'function' ? script(recorded, index) : script[index];
      if (!step) throw new Error(`the script has no reply for request ${index + 1}`);
      const { text = '', reasoning = '', calls = [], inputTokens = 10, outputTokens = 1 } = step;
      if (reasoning !== '') onReasoning?.(reasoning);
      for (const word of text.split(/(?<= )/)) if (word !== '') onText?.(word);
      for (const { name } of calls) onToolCall?.(name);
      await step.meanwhile?.();
      signal.throwIfAborted();
      if (step.fail) throw step.fail;
      return {
        text,
        reasoning,
        toolCalls: calls,
        finishReason: step.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
        usage: { inputTokens, outputTokens, estimated: false },
        requestId: `req-${index}`,
      };
    },
  };
}

export function call(id: string, name = 'look', args = '{}'): ToolCall {
  return { id, name, arguments: args };
}

/**
 * Every call has exactly one result, directly behind its assistant message and in the order of the calls; those that
 * `wait` for a person have none yet.
 */
export function transcriptFaults(chain: readonly ChatMessage[], wait: readonly string[] = []): readonly string[] {
  const faults: string[] = [];
  let expected: string[] = [];
  chain.forEach((message, at) => {
    if (message.role === 'tool') {
      const due = expected.shift();
      if (due !== message.toolCallId) faults.push(`at ${at}: result of ${message.toolCallId}, due was ${due}`);
      return;
    }
    if (expected.length > 0) faults.push(`at ${at}: no result for ${expected.join(', ')}`);
    expected = message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : [];
    expected = expected.filter((id) => !wait.includes(id));
    if (message.role === 'assistant' && message.content === '' && !message.toolCalls?.length)
      faults.push(`at ${at}: empty`);
  });
  if (expected.length > 0) faults.push(`at the end: no result for ${expected.join(', ')}`);
  return faults;
}
