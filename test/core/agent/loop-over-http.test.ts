import { afterEach, expect, it } from 'vitest';
import { runAgentLoop } from '../../../src/core/agent/run-agent-loop.js';
import { TOOL_AGENT_MAX_ITERATIONS } from '../../../src/core/agent/tool-agent.js';
import { createLoopState } from '../../../src/core/agent/transcript.js';
import { createOpenAiModel } from '../../../src/core/llm/client.js';
import { builtinTools } from '../../../src/core/tools/builtin/index.js';
import { type ModelScript, type ModelServer, numberedWords, startModelServer } from '../../fakes/model-server.js';
import { hooksOver } from './tool-hooks.js';

let server: ModelServer;
afterEach(() => server.close());

async function run(script: ModelScript, stop = new AbortController(), onText?: (text: string) => void) {
  server = await startModelServer(script);
  const { url: baseUrl } = server;
  return runAgentLoop({
    model: createOpenAiModel({ name: 'default', baseUrl, model: 'm', contextWindow: 1_000, maxOutputTokens: 100 }),
    state: createLoopState([{ role: 'user', content: 'what time is it?' }]),
    hooks: {
      ...hooksOver(builtinTools),
      onEvent: (event) => {
        if (event.type === 'text.delta') onText?.(event.text);
      },
    },
    maxIterations: TOOL_AGENT_MAX_ITERATIONS,
    signal: stop.signal,
  });
}

const time = (args: string | object = '') => ({ toolCalls: [{ name: 'current_time', arguments: args }] });

it('a tool call with empty, wrong and broken arguments never breaks the chain', async () => {
  const result = await run([time(), time({ zone: 'x' }), time('{"timeZone": "Asia'), { text: 'It is 1970.' }]);
  expect(result).toMatchObject({ finish: 'final', text: 'It is 1970.' });
  const { messages } = (await server.request(3)).body;
  const sent = messages.flatMap((message: { tool_calls?: { function: { arguments: string } }[] }) =>
    (message.tool_calls ?? []).map((call) => call.function.arguments),
  );
  expect(sent).toEqual(['{}', '{"zone":"x"}', '{}']);
  const results = messages.filter(({ role }: { role: string }) => role === 'tool');
  expect(results[0].content).toContain('1970-01-01T00:00:00+00:00');
  expect(results[1].content).toMatch(/arguments of current_time are wrong.*zone/s);
  expect(results[2].content).toContain('not valid JSON');
});

it('a model that only reasons under the brake is asked once more without tools and answers', async () => {
  const result = await run(({ body }) => {
    if (!body.tools) return { text: 'at last' };
    return body.tool_choice === 'none'
      ? { reasoning: 'hm', finishReason: 'tool_calls' }
      : { ...time(), reasoning: 'hm' };
  });
  expect(result).toMatchObject({ finish: 'final', text: 'at last' });
  expect(server.requests).toHaveLength(8);
  expect(server.requests.map(({ body }) => body.tool_choice)).toEqual([...Array(6).fill(undefined), 'none', undefined]);
});

it('a stop in the middle of an answer keeps its words and closes the connection', async () => {
  const stop = new AbortController();
  let words = 0;
  const result = await run({ words: 500, tokensPerSecond: 200 }, stop, () => {
    words += 1;
    if (words === 20) stop.abort();
  });
  expect(result).toMatchObject({ finish: 'stopped', text: numberedWords(20) });
  expect(await (await server.request(0)).aborted).toBe(true);
});

it('a broken connection is an error that keeps nothing half in the chain', async () => {
  const result = await run([time(), { words: 50, fault: { kind: 'cut', after: 10 } }]);
  expect(result).toMatchObject({ finish: 'error', error: { kind: 'broken_stream' }, text: numberedWords(10) });
  expect(result.state.messages.at(-1)?.role).toBe('tool');
});
