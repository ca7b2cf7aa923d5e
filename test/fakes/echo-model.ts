import { setTimeout as sleep } from 'node:timers/promises';
import { NO_CAPABILITIES } from '../../src/core/llm/capabilities.js';
import type { ChatMessage, Model, ModelReply, ModelRequest } from '../../src/core/llm/model.js';

export interface EchoModelOptions {
  /** Rounds with a call of the tool `work` before the answer. */
  readonly toolRounds?: number;
  /** Time a request takes, spread over its pieces, ms. */
  readonly milliseconds?: number;
  /** Words of padding behind the ids, so that answers can span several messages. */
  readonly padding?: number;
}

/**
 * A model in the test's process whose answer names every id (`#…`) of the texts it answers: those after the last
 * finished answer of the chain. A judge can so count what was answered, how often and in which order.
 */
export function createEchoModel(options: EchoModelOptions = {}): Model {
  const { toolRounds = 1, milliseconds = 30, padding = 0 } = options;
  let calls = 0;

  async function request({ messages, signal, onText, tools, toolChoice }: ModelRequest): Promise<ModelReply> {
    const usage = { inputTokens: 10, outputTokens: 5, estimated: false };
    const from = messages.findLastIndex((m) => m.role === 'assistant' && !m.toolCalls?.length) + 1;
    const turn = messages.slice(from);
    const done = turn.filter((m) => m.role === 'tool').length;
    if (done < toolRounds && tools?.length && toolChoice !== 'none') {
      await sleep(milliseconds, undefined, { signal });
      calls += 1;
      const toolCalls = [{ id: `call-${calls}-${Math.random().toString(36).slice(2)}`, name: 'work', arguments: '{}' }];
      return { text: '', reasoning: '', toolCalls, finishReason: 'tool_calls', usage, requestId: '' };
    }
    const words = [`answer ${idsIn(turn).join(' ')}`, ...Array.from({ length: padding }, (_, i) => ` w${i + 1}`)];
    for (const word of words) {
      await sleep(milliseconds / words.length, undefined, { signal });
      onText?.(word);
    }
    return { text: words.join(''), reasoning: '', toolCalls: [], finishReason: 'stop', usage, requestId: '' };
  }

  return {
    ...{ name: 'echo', contextWindow: 100_000, maxOutputTokens: 1_000, price: [] },
    capabilities: NO_CAPABILITIES,
    request,
  };
}

/** The ids in the user messages of a chain, in order. */
export function idsIn(messages: readonly ChatMessage[]): string[] {
  return messages.flatMap((m) => (m.role === 'user' ? (m.content.match(/#[\w-]+/g) ?? []) : []));
}
