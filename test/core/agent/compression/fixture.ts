import {
  type Compression,
  type CompressionSettings,
  createCompression,
} from '../../../../src/core/agent/compression/compression.js';
import type { CompressionState } from '../../../../src/core/agent/compression-state.js';
import type { AgentEvent } from '../../../../src/core/agent/events.js';
import type { LoopState } from '../../../../src/core/agent/run-state.js';
import { createLoopState, stored } from '../../../../src/core/agent/transcript.js';
import type { ChatMessage, ToolSchema } from '../../../../src/core/llm/model.js';
import { textTokens } from '../../../../src/core/llm/tokens.js';

export interface Bench {
  readonly loop: LoopState;
  readonly state: CompressionState;
  readonly compression: Compression;
  readonly events: AgentEvent[];
  /** Events of compression, as short lines: `how` or `how: reason`. */
  told(): readonly string[];
  /** Appends messages as the kernel does. */
  push(...messages: readonly ChatMessage[]): void;
  /** Runs the hook as the kernel does: a replacement takes the chain's place. */
  compress(options?: { signal?: AbortSignal; overflow?: boolean }): Promise<boolean>;
}

export interface BenchOptions extends Partial<CompressionSettings> {
  readonly state?: Partial<CompressionState>;
  readonly tools?: readonly ToolSchema[];
}

/** Compression of a turn: `[system, …history]`, then the turn's messages. */
export function bench(before: readonly ChatMessage[], turn: readonly ChatMessage[], options: BenchOptions = {}): Bench {
  const { state: given, tools = [], ...settings } = options;
  const loop = createLoopState([...before, ...turn]);
  const state: CompressionState = {
    ...{ turnAt: before.length, historyFrom: 0, summary: null, triedAt: 0, failures: 0, factor: 1 },
    ...given,
  };
  const events: AgentEvent[] = [];
  const compression = createCompression({
    state,
    options: {
      ...{ compressHistory: true, mode: 'algorithmic', threshold: 0.8, model: undefined },
      ...{ contextWindow: 4_000, maxOutputTokens: 400 },
      ...settings,
    },
    tools: () => tools,
    onEvent: (event) => events.push(event),
    now: () => performance.now(),
  });
  return {
    ...{ loop, state, compression, events },
    told: () =>
      events.flatMap((event) =>
        event.type === 'compressed' ? [event.unchanged ? `${event.how}: ${event.unchanged}` : event.how] : [],
      ),
    push: (...messages) => void loop.messages.push(...messages.map(stored)),
    async compress({ signal = new AbortController().signal, overflow = false } = {}) {
      const shorter = await compression.hooks.onCompressContext(loop, signal, overflow);
      if (shorter) loop.messages = shorter.map(stored);
      return shorter !== undefined;
    },
  };
}

export const system: ChatMessage = { role: 'system', content: 'You are helpful.' };

export function user(content: string): ChatMessage {
  return { role: 'user', content };
}

export function assistant(content: string): ChatMessage {
  return { role: 'assistant', content };
}

/** One round: an assistant message with a call, and its result. */
export function round(id: string, result: string, { name = 'look', args = '{}' } = {}): readonly ChatMessage[] {
  return [
    { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: args }] },
    { role: 'tool', toolCallId: id, content: result },
  ];
}

/** Distinct words of `tokens` tokens in all, as they are estimated. */
export function prose(tokens: number, seed = 'w'): string {
  const each = textTokens(`${seed}0`);
  return Array.from({ length: Math.ceil(tokens / each) }, (_, at) => `${seed}${at % 1_000}`).join(' ');
}
