import { afterEach, describe, expect, it } from 'vitest';
import { createOpenAiModel, type OpenAiModelOptions } from '../../../src/core/llm/client.js';
import type { ModelRequest } from '../../../src/core/llm/model.js';
import { type ModelScript, type ModelServer, startModelServer } from '../../fakes/model-server.js';

let server: ModelServer;
afterEach(() => server.close());

const tools = [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }];

async function ask(
  options: Partial<OpenAiModelOptions>,
  request: Partial<ModelRequest> = {},
  script: ModelScript = { text: 'hi' },
) {
  server = await startModelServer(script);
  const model = createOpenAiModel({
    ...{ name: 'default', baseUrl: server.url, model: 'm', contextWindow: 1_000, maxOutputTokens: 100 },
    ...options,
  });
  const send = () =>
    model.request({ messages: [{ role: 'user', content: 'q' }], signal: new AbortController().signal, ...request });
  const outcome = await send().catch((error: unknown) => error);
  return { model, send, outcome, sent: (await server.request(0)).body, headers: (await server.request(0)).headers };
}

describe('settings of a model', () => {
  it('are not sent unless they are set', async () => {
    const { sent } = await ask({}, { tools, reasoningEffort: 'high' });
    expect(Object.keys(sent).sort()).toEqual(['max_tokens', 'messages', 'model', 'stream', 'stream_options', 'tools']);
  });

  it('are sent as they are, zero and false too', async () => {
    const { sent } = await ask({ temperature: 0, topP: 0.5, stop: ['END'], parallelToolCalls: false }, { tools });
    expect(sent).toMatchObject({ temperature: 0, top_p: 0.5, stop: ['END'], parallel_tool_calls: false });
  });

  it('about tools stay away without tools, an empty list of stops too', async () => {
    const { sent } = await ask({ parallelToolCalls: true, stop: [] });
    expect(sent).not.toHaveProperty('parallel_tool_calls');
    expect(sent).not.toHaveProperty('stop');
  });

  it('say what it can do; what is not named is off', async () => {
    const { model } = await ask({ capabilities: { vision: true }, defaultSystemPrompt: 'be brief' });
    expect(model.capabilities).toEqual({ vision: true, audio: false, video: false, reasoning: false });
    expect(model.defaultSystemPrompt).toBe('be brief');
  });
});

describe('the effort of reasoning', () => {
  it('is sent to a model that reasons, when one is asked for', async () => {
    const capabilities = { reasoning: true };
    expect((await ask({ capabilities }, { reasoningEffort: 'low' })).sent.reasoning_effort).toBe('low');
    await server.close();
    expect((await ask({ capabilities })).sent).not.toHaveProperty('reasoning_effort');
  });

  it('is left out from then on when the server does not know it', async () => {
    const script: ModelScript = ({ body }) =>
      body.reasoning_effort
        ? { fault: { kind: 'status', status: 400, body: { error: { message: 'Unknown field: reasoning_effort' } } } }
        : { text: 'hi' };
    const { outcome, send } = await ask({ capabilities: { reasoning: true } }, { reasoningEffort: 'low' }, script);
    expect(outcome).toMatchObject({ text: 'hi' });
    await send();
    expect(server.requests.map(({ body }) => body.reasoning_effort)).toEqual(['low', undefined, undefined]);
  });
});

describe('extra headers', () => {
  it('are sent beside the key, or in its place', async () => {
    const { headers } = await ask({ apiKey: 'sk-1', headers: { 'X-Team': 'blue' } });
    expect(headers).toMatchObject({ authorization: 'Bearer sk-1', 'x-team': 'blue' });
    await server.close();
    const own = await ask({ headers: { authorization: 'Token abc' } });
    expect(own.headers.authorization).toBe('Token abc');
  });

  it('are secret: an error does not repeat their values', async () => {
    const body = { error: { message: 'bad gateway key gw-secret-77 for team' } };
    const { outcome } = await ask(
      { headers: { 'x-gateway-key': 'gw-secret-77' } },
      {},
      { fault: { kind: 'status', status: 401, body } },
    );
    const { message, hint, cause } = outcome as Error & { hint: string };
    expect(message).toContain('bad gateway key *** for team');
    expect(JSON.stringify([message, hint, cause])).not.toContain('secret');
  });
});
