import { afterEach, describe, expect, it } from 'vitest';
import { createCompression } from '../../../../src/core/agent/compression/compression.js';
import type { CompressionState } from '../../../../src/core/agent/compression-state.js';
import type { AgentEvent } from '../../../../src/core/agent/events.js';
import { type AgentLoopResult, runAgentLoop } from '../../../../src/core/agent/run-agent-loop.js';
import { createLoopState } from '../../../../src/core/agent/transcript.js';
import { createOpenAiModel } from '../../../../src/core/llm/client.js';
import type { ChatMessage } from '../../../../src/core/llm/model.js';
import { textTokens } from '../../../../src/core/llm/tokens.js';
import { type ModelScript, type ModelServer, type ModelStep, startModelServer } from '../../../fakes/model-server.js';
import { assistant, prose, system, user } from './fixture.js';

let server: ModelServer;
afterEach(() => server.close());

const REFUSED: ModelStep = {
  fault: { kind: 'status', status: 400, body: { error: { code: 'context_length_exceeded', message: 'too long' } } },
};

const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } };

interface Run {
  readonly result: AgentLoopResult;
  readonly events: readonly AgentEvent[];
  readonly state: CompressionState;
}

/** The kernel with compression as its hooks, over HTTP. The window is believed to be larger than it is. */
async function run(before: readonly ChatMessage[], script: ModelScript, result = 'none'): Promise<Run> {
  server = await startModelServer(script);
  const limits = { contextWindow: 32_000, maxOutputTokens: 1_000 };
  const model = createOpenAiModel({ name: 'm', baseUrl: server.url, model: 'x', ...limits });
  const events: AgentEvent[] = [];
  const turn = { turnAt: before.length, historyFrom: 0, summary: null, triedAt: 0, failures: 0, factor: 1 };
  const compression = createCompression({
    ...{ state: turn, tools: () => [tool], now: () => performance.now() },
    options: { compressHistory: true, mode: 'hybrid', threshold: 0.8, model: undefined, ...limits },
    onEvent: (event) => events.push(event),
  });
  const loop = createLoopState([...before, user('and now?')]);
  const ended = await runAgentLoop({
    ...{ model, state: loop, signal: new AbortController().signal },
    hooks: {
      ...compression.hooks,
      getRequestControl: () => ({ tools: [tool] }),
      onRunTool: async () => ({ content: result }),
      onEvent(event) {
        if (event.type === 'request.finished' && event.source === 'agent') compression.observe(event.usage);
        events.push(event);
      },
    },
  });
  return { result: ended, events, state: turn };
}

const history = Array.from({ length: 8 }, (_, n) => [user(`question ${n}`), assistant(prose(1_000, `a${n}x`))]).flat();

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
}

function bodies(): readonly Body[] {
  return server.requests.map(({ body }) => body as Body);
}

describe('a request the vendor refuses as too long', () => {
  it('is sent once more, shorter, valid, with the current message unchanged', async () => {
    const { result, events } = await run([system, ...history], [REFUSED, { text: 'Here.' }]);
    expect(result).toMatchObject({ finish: 'final', text: 'Here.' });
    const [refused, accepted] = bodies();
    expect(JSON.stringify(accepted).length).toBeLessThan(JSON.stringify(refused).length * 0.7);
    expect(accepted?.messages[0]).toEqual(refused?.messages[0]);
    expect(accepted?.messages.at(-1)).toEqual({ role: 'user', content: 'and now?' });
    expect(events.filter(({ type }) => type === 'compressed').at(-1)).toMatchObject({ how: 'left_out' });
    expect(result.state.messages.length).toBe((accepted?.messages.length ?? 0) + 1);
  });

  it('is not sent a third time: the error says what it is', async () => {
    const { result } = await run([system, ...history], () => REFUSED);
    expect(result).toMatchObject({ finish: 'error', error: { kind: 'context_overflow' } });
    expect(server.requests).toHaveLength(2);
  });

  it('is not repeated when nothing can be left out', async () => {
    const { result } = await run([system], () => REFUSED);
    expect(result).toMatchObject({ finish: 'error', error: { kind: 'context_overflow' } });
    expect(server.requests).toHaveLength(1);
    expect(result.state.messages).toEqual([system, user('and now?')]);
  });

  it('keeps later requests of the run below what was refused', async () => {
    const look = { toolCalls: [{ name: 'look', arguments: '{}' }], usage: false } as const;
    const { result } = await run([system, ...history], [look, REFUSED, look, look, { text: 'Done.' }], prose(2_500));
    expect(result).toMatchObject({ finish: 'final', text: 'Done.' });
    const sizes = bodies().map(({ messages }) =>
      messages.reduce((sum, { content }) => sum + textTokens(content ?? ''), 0),
    );
    const [, refused = 0, ...later] = sizes;
    expect(later).toHaveLength(3);
    for (const size of later) expect(size).toBeLessThan(refused);
    for (const { messages } of bodies()) expect(messages.some(({ content }) => content === 'and now?')).toBe(true);
  });

  it('is not repeated after a part of an answer was shown', async () => {
    const error = { message: 'maximum context length', code: 'context_length_exceeded' };
    const { result } = await run([system, ...history], { words: 20, fault: { kind: 'error_event', after: 5, error } });
    expect(result).toMatchObject({ finish: 'error', error: { kind: 'context_overflow' }, text: 'w1 w2 w3 w4 w5' });
    expect(server.requests).toHaveLength(1);
  });
});

it('usage the vendor reports keeps the estimate of a run close to what it counts', async () => {
  // This vendor counts a token for each 2 characters.
  const count = (body: unknown) => Math.round(JSON.stringify(body).length / 2);
  const sizes: number[] = [];
  const { state } = await run(
    [system, ...history.slice(0, 4)],
    ({ body }, index) => {
      sizes.push(count(body));
      const usage = { prompt_tokens: count(body), completion_tokens: 10 };
      return index < 4 ? { toolCalls: [{ name: 'look', arguments: '{}' }], usage } : { text: 'Done.', usage };
    },
    prose(500),
  );
  expect(sizes).toHaveLength(5);
  expect(state.factor).not.toBe(1);
  expect(state.factor).toBeGreaterThan(0.5);
  expect(state.factor).toBeLessThan(1.2);
});
