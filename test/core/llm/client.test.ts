import { afterEach, describe, expect, it } from 'vitest';
import { AbortedError, ModelError } from '../../../src/core/errors.js';
import { createOpenAiModel, type OpenAiModelOptions } from '../../../src/core/llm/client.js';
import type { ChatMessage, ModelRequest } from '../../../src/core/llm/model.js';
import { type ModelScript, type ModelServer, numberedWords, startModelServer } from '../../fakes/model-server.js';

const servers: ModelServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(script: ModelScript): Promise<ModelServer> {
  const server = await startModelServer(script);
  servers.push(server);
  return server;
}

function modelAt(baseUrl: string, options: Partial<OpenAiModelOptions> = {}) {
  return createOpenAiModel({
    name: 'default',
    baseUrl,
    apiKey: 'sk-secret-1234',
    model: 'fake-1',
    contextWindow: 1_000,
    maxOutputTokens: 100,
    ...options,
  });
}

const question: ChatMessage[] = [{ role: 'user', content: 'hello' }];

function request(fields: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: question, signal: new AbortController().signal, ...fields };
}

async function failure(work: Promise<unknown>): Promise<ModelError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ModelError)) throw new Error(`expected a ModelError, got ${String(error)}`);
  return error;
}

const tools = [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }];

describe('a request', () => {
  it('carries messages, limits and schemas and nothing a strict server refuses', async () => {
    const server = await serve({ text: 'hi' });
    const messages: ChatMessage[] = [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'q' },
      { role: 'assistant', content: '' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'a', name: 'look', arguments: '' },
          { id: 'b', name: 'look', arguments: '{"half' },
          { id: 'c', name: 'look', arguments: '[1]' },
          { id: 'd', name: 'look', arguments: '{"x":1}' },
        ],
      },
      ...['a', 'b', 'c', 'd'].map((toolCallId) => ({ role: 'tool', toolCallId, content: 'r' }) as const),
    ];
    await modelAt(server.url).request(request({ messages, tools, toolChoice: 'none' }));
    const { path, headers, body } = await server.request(0);
    expect(path).toBe('/v1/chat/completions');
    expect(headers.authorization).toBe('Bearer sk-secret-1234');
    expect(body).toMatchObject({
      model: 'fake-1',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 100,
      tool_choice: 'none',
      tools: [{ type: 'function', function: { name: 'look', description: 'Looks.' } }],
    });
    expect(body.messages.map((message: { role: string }) => message.role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'tool',
      'tool',
    ]);
    const calls = body.messages[2].tool_calls as { function: { arguments: string } }[];
    expect(calls.map((call) => call.function.arguments)).toEqual(['{}', '{}', '{}', '{"x":1}']);
  });

  it('sends no choice without tools, no word auto, and no Authorization header without a key', async () => {
    const server = await serve({ text: 'hi' });
    await modelAt(server.url, { apiKey: '' }).request(request({ tools: [], toolChoice: 'none' }));
    await modelAt(server.url, { headers: { 'x-team': 'blue' } }).request(request({ tools }));
    const [first, second] = server.requests;
    expect(first?.headers.authorization).toBeUndefined();
    expect(first?.body).not.toHaveProperty('tool_choice');
    expect(first?.body).not.toHaveProperty('tools');
    expect(second?.body).not.toHaveProperty('tool_choice');
    expect(second?.headers['x-team']).toBe('blue');
  });
});

describe('a streamed text', () => {
  it('arrives whole and in pieces, with usage, finish reason and request id', async () => {
    const server = await serve({ words: 500, requestId: 'req_7' });
    const pieces: string[] = [];
    const reply = await modelAt(server.url).request(request({ onText: (delta) => pieces.push(delta) }));
    expect(reply.text).toBe(numberedWords(500));
    expect(pieces.join('')).toBe(reply.text);
    expect(pieces.length).toBeGreaterThan(100);
    expect(reply).toMatchObject({
      reasoning: '',
      toolCalls: [],
      finishReason: 'stop',
      usage: { inputTokens: 10, outputTokens: 500, estimated: false },
      requestId: 'req_7',
    });
  });

  it('survives network writes that cut characters, tags and lines anywhere', async () => {
    const text = '今天 😀 “quotes” — ende';
    for (const writeBytes of [1, 2, 3, 7]) {
      const server = await serve({ text, reasoning: '思考 a < b', reasoningAs: 'think', piece: 1, writeBytes });
      const reply = await modelAt(server.url).request(request());
      expect(reply.text).toBe(text);
      expect(reply.reasoning.trim()).toBe('思考 a < b');
    }
  });

  it('keeps reasoning apart in every form vendors use', async () => {
    for (const reasoningAs of ['reasoning_content', 'reasoning', 'think'] as const) {
      for (const piece of [1, 5, Number.POSITIVE_INFINITY]) {
        const server = await serve({ text: 'The answer.', reasoning: 'Let me think', reasoningAs, piece });
        const thoughts: string[] = [];
        const reply = await modelAt(server.url).request(request({ onReasoning: (delta) => thoughts.push(delta) }));
        expect(reply.text).toBe('The answer.');
        expect(reply.reasoning.trim()).toBe('Let me think');
        expect(thoughts.join('')).toBe(reply.reasoning);
      }
    }
  });

  it('leaves <think> alone inside a text and when the model is said not to reason', async () => {
    const inside = await serve({ text: 'a <think>b</think> c', piece: 2 });
    expect((await modelAt(inside.url).request(request())).text).toBe('a <think>b</think> c');
    const literal = await serve({ text: '<think>b</think> c', piece: 2 });
    expect((await modelAt(literal.url, { splitThinking: false }).request(request())).text).toBe('<think>b</think> c');
  });

  it('reads through comments, events without choices, a missing [DONE] and a connection left open', async () => {
    for (const kind of ['noise', 'no_done', 'keep_open'] as const) {
      const server = await serve({ words: 20, fault: { kind } });
      const reply = await modelAt(server.url).request(request());
      expect(reply).toMatchObject({ text: numberedWords(20), finishReason: 'stop' });
      expect(reply.usage.estimated).toBe(false);
    }
  });

  it('takes a whole JSON completion from a server that does not stream', async () => {
    const server = await serve({ text: 'hi', toolCalls: [{ name: 'look' }], fault: { kind: 'json' } });
    const reply = await modelAt(server.url).request(request());
    expect(reply).toMatchObject({ text: 'hi', finishReason: 'tool_calls' });
    expect(reply.toolCalls).toEqual([{ id: 'call_0', name: 'look', arguments: '{}' }]);
  });

  it('estimates usage when none is reported', async () => {
    const server = await serve({ words: 100, usage: false });
    const { usage } = await modelAt(server.url).request(request());
    expect(usage.estimated).toBe(true);
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect(usage.outputTokens).toBeGreaterThan(99);
  });

  it('maps finish reasons and calls unknown ones unknown', async () => {
    const names = { length: 'length', max_tokens: 'length', content_filter: 'content_filter', eos: 'unknown' };
    for (const [finishReason, expected] of Object.entries(names)) {
      const server = await serve({ text: 'x', finishReason });
      expect((await modelAt(server.url).request(request())).finishReason).toBe(expected);
    }
  });
});

describe('a stream that ends early', () => {
  it('is an answer that was cut off when the server closed it cleanly after some text', async () => {
    const server = await serve({ words: 50, fault: { kind: 'eof', after: 10 } });
    const reply = await modelAt(server.url).request(request());
    expect(reply).toMatchObject({ text: numberedWords(10), finishReason: 'cut_off' });
    const unmarked = await serve({ words: 10, finishReason: null, fault: { kind: 'no_done' } });
    expect((await modelAt(unmarked.url).request(request())).finishReason).toBe('cut_off');
  });

  it('is complete with one of finish reason and [DONE], and so is one JSON object', async () => {
    const noDone = await serve({ words: 10, fault: { kind: 'no_done' } });
    expect((await modelAt(noDone.url).request(request())).finishReason).toBe('stop');
    for (const fault of [undefined, { kind: 'json' }] as const) {
      const noReason = await serve({ words: 10, finishReason: null, fault });
      const reply = await modelAt(noReason.url).request(request());
      expect(reply).toMatchObject({ text: numberedWords(10), finishReason: 'unknown' });
    }
  });

  it('is broken when the connection broke, and is not repeated after text was shown', async () => {
    const server = await serve({ words: 50, fault: { kind: 'cut', after: 10 } });
    let shown = '';
    const work = modelAt(server.url).request(
      request({
        onText: (delta) => {
          shown += delta;
        },
      }),
    );
    expect(await failure(work)).toMatchObject({ kind: 'broken_stream', model: 'default' });
    expect(shown).toBe(numberedWords(10));
    expect(server.requests).toHaveLength(1);
  });

  it('is repeated when nothing had come yet', async () => {
    const server = await serve([
      { words: 5, fault: { kind: 'cut', after: 0 } },
      { words: 5, fault: { kind: 'eof', after: 0 } },
      { text: 'third time' },
    ]);
    expect((await modelAt(server.url).request(request())).text).toBe('third time');
    expect(server.requests).toHaveLength(3);
  });

  it('is repeated when the connection closed without a response', async () => {
    const server = await serve([{ fault: { kind: 'refuse' } }, { text: 'second time' }]);
    expect((await modelAt(server.url).request(request())).text).toBe('second time');
  });

  it('is broken by a line that is not JSON', async () => {
    const server = await serve({ words: 50, fault: { kind: 'malformed', after: 10 } });
    expect((await failure(modelAt(server.url).request(request()))).kind).toBe('broken_stream');
  });

  it('is stalled when the socket stays open and silent', async () => {
    const server = await serve({ words: 50, fault: { kind: 'stall', after: 10 } });
    const error = await failure(modelAt(server.url, { idleTimeoutMs: 150 }).request(request()));
    expect(error).toMatchObject({ kind: 'stalled', message: expect.stringContaining('0.15 s') });
    expect(await (await server.request(0)).aborted).toBe(true);
  });

  it('is stalled when no response begins', async () => {
    const server = await serve({ fault: { kind: 'silent' } });
    const error = await failure(modelAt(server.url, { firstByteTimeoutMs: 150 }).request(request()));
    expect(error.kind).toBe('stalled');
    expect(server.requests).toHaveLength(1);
  });

  it('is alive while keep-alive comments come', async () => {
    const server = await serve({ words: 9, fault: { kind: 'keep_alive', after: 3, everyMs: 100, times: 15 } });
    const reply = await modelAt(server.url, { idleTimeoutMs: 1_200 }).request(request());
    expect(reply.text).toBe(numberedWords(9));
  });

  it('reports an error object inside the stream', async () => {
    const server = await serve({
      words: 9,
      fault: { kind: 'error_event', after: 3, error: { message: 'engine overloaded', code: 503 } },
    });
    expect(await failure(modelAt(server.url).request(request()))).toMatchObject({
      kind: 'server',
      status: 503,
      message: expect.stringContaining('engine overloaded'),
    });
  });
});

describe('an abort', () => {
  it('in the middle of a stream ends the request and the connection at once', async () => {
    const server = await serve({ words: 1_000, tokensPerSecond: 50 });
    const stop = new AbortController();
    let began = 0;
    const work = modelAt(server.url).request(
      request({
        signal: stop.signal,
        onText: () => {
          if (began > 0) return;
          began = performance.now();
          stop.abort();
        },
      }),
    );
    await expect(work).rejects.toBeInstanceOf(AbortedError);
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(await (await server.request(0)).aborted).toBe(true);
  });

  it('before the response, between repeats and before the request is an AbortedError too', async () => {
    const silent = await serve({ fault: { kind: 'silent' } });
    const busy = await serve({ fault: { kind: 'status', status: 503 } });
    for (const server of [silent, busy]) {
      const stop = new AbortController();
      const work = modelAt(server.url).request(request({ signal: stop.signal }));
      await server.request(0);
      setTimeout(() => stop.abort(), 50);
      await expect(work).rejects.toBeInstanceOf(AbortedError);
    }
    await expect(modelAt(silent.url).request(request({ signal: AbortSignal.abort() }))).rejects.toBeInstanceOf(
      AbortedError,
    );
  });
});

describe('a refusal', () => {
  it.each([
    [401, 'unauthorized', 'models.default.apiKey'],
    [403, 'unauthorized', 'models.default.apiKey'],
    [404, 'not_found', 'models.default.model'],
    [400, 'bad_request', 'models.default'],
    [402, 'quota', 'models.default.apiKey'],
    [422, 'bad_request', 'models.default'],
  ])('with status %i is %s, names model, host and fix, and is not repeated', async (status, kind, fix) => {
    const server = await serve({
      fault: { kind: 'status', status, body: { error: { message: 'the vendor says no' } } },
    });
    const error = await failure(modelAt(server.url).request(request()));
    expect(error).toMatchObject({ kind, status, model: 'default', hint: expect.stringContaining(fix) });
    expect(error.message).toContain('model "default" (fake-1 at 127.0.0.1:');
    expect(error.message).toContain('the vendor says no');
    expect(server.requests).toHaveLength(1);
  });

  it('does not leak the key that the vendor repeats', async () => {
    const body = { error: { message: 'Incorrect API key provided: sk-secret-1234' } };
    const server = await serve({ fault: { kind: 'status', status: 401, body } });
    const error = await failure(modelAt(server.url).request(request()));
    expect(JSON.stringify([error.message, error.hint, error.cause])).not.toContain('secret');
  });

  it('with 429 and 5xx is repeated twice, after the wait the vendor asks for', async () => {
    const wait = { 'retry-after-ms': '120' };
    const server = await serve([
      { fault: { kind: 'status', status: 429, headers: wait } },
      { fault: { kind: 'status', status: 502, headers: wait } },
      { text: 'now' },
    ]);
    const began = performance.now();
    expect((await modelAt(server.url).request(request())).text).toBe('now');
    expect(performance.now() - began).toBeGreaterThan(235);
  });

  it('gives up after two repeats', async () => {
    const server = await serve({ fault: { kind: 'status', status: 503, headers: { 'retry-after-ms': '1' } } });
    expect((await failure(modelAt(server.url).request(request()))).kind).toBe('server');
    expect(server.requests).toHaveLength(3);
  });

  it('that asks for a long wait is handed on with it instead of holding the worker', async () => {
    const server = await serve({ fault: { kind: 'status', status: 429, headers: { 'retry-after': '90' } } });
    const error = await failure(modelAt(server.url).request(request()));
    expect(error).toMatchObject({ kind: 'rate_limited', retryAfterMs: 90_000 });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    [429, 'insufficient_quota', 'You exceeded your current quota, please check your plan and billing details.'],
    [429, 'quota_exceeded', 'Monthly limit reached.'],
    [429, undefined, 'Insufficient balance.'],
    [402, undefined, 'Payment Required'],
    [400, 'billing_hard_limit_reached', 'Billing hard limit has been reached'],
  ])(
    'with %s and code %s tells the operator that the account is empty, and is not repeated',
    async (status, code, message) => {
      for (const error of [
        { message, code },
        { message, type: code },
      ]) {
        const server = await serve({ fault: { kind: 'status', status, body: { error } } });
        const fault = await failure(modelAt(server.url).request(request()));
        expect(fault).toMatchObject({ kind: 'quota', status, hint: expect.stringContaining('nothing left to spend') });
        expect(server.requests).toHaveLength(1);
      }
    },
  );

  it('that says insufficient_quota is no short wait, whether a wait is named or it comes inside the stream', async () => {
    const error = { message: 'No.', type: 'insufficient_quota' };
    const headers = { 'retry-after-ms': '1' };
    const named = await serve({ fault: { kind: 'status', status: 429, headers, body: { error } } });
    expect((await failure(modelAt(named.url).request(request()))).kind).toBe('quota');
    const inside = await serve({ words: 5, fault: { kind: 'error_event', after: 0, error } });
    expect((await failure(modelAt(inside.url).request(request()))).kind).toBe('quota');
  });

  it.each([
    ['Throttling.RateQuota', 'Requests rate limit exceeded, please try again later.'],
    ['RESOURCE_EXHAUSTED', 'You exceeded your current quota. Please retry in 34.07s.'],
    ['rate_limit_exceeded', 'Rate limit reached. Visit your billing page to raise it.'],
  ])('with 429 and code %s passes, although it speaks of a quota', async (code, message) => {
    const headers = { 'x-none': '' };
    const server = await serve([
      { fault: { kind: 'status', status: 429, headers, body: { error: { message, code } } } },
      { text: 'now' },
    ]);
    expect((await modelAt(server.url).request(request())).text).toBe('now');
  });

  it('of stream_options or the name of the token limit is answered in the other dialect, and remembered', async () => {
    const server = await serve(({ body }) => {
      const refuse = (message: string) =>
        ({ fault: { kind: 'status', status: 400, body: { error: { message } } } }) as const;
      if (body.stream_options) return refuse('Unknown parameter: stream_options');
      if (body.max_tokens) return refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.");
      return { text: 'ok', usage: false };
    });
    const model = modelAt(server.url);
    expect((await model.request(request())).text).toBe('ok');
    expect(server.requests).toHaveLength(3);
    await model.request(request());
    expect(server.requests).toHaveLength(4);
    expect(server.requests[3]?.body).toMatchObject({ max_completion_tokens: 100 });
  });

  it('in the form of a web page names the path', async () => {
    const body = '<html><body>Welcome</body></html>';
    const html = await serve({ fault: { kind: 'raw', contentType: 'text/html', body } });
    expect(await failure(modelAt(html.url).request(request()))).toMatchObject({
      kind: 'not_found',
      hint: expect.stringContaining('baseUrl'),
    });
  });

  it('in the form of a body that is no event stream shows the body', async () => {
    const plain = await serve({ fault: { kind: 'raw', contentType: 'text/event-stream', body: 'upstream went away' } });
    const error = await failure(modelAt(plain.url).request(request()));
    expect(error.message).toContain('upstream went away');
    const reported = await serve({
      fault: { kind: 'raw', contentType: 'application/json', body: '{"error":{"message":"no such model","code":404}}' },
    });
    expect(await failure(modelAt(reported.url).request(request()))).toMatchObject({ kind: 'not_found' });
  });

  it('of the connection names the base URL', async () => {
    const server = await startModelServer({ text: 'x' });
    await server.close();
    const error = await failure(modelAt(server.url).request(request()));
    expect(error).toMatchObject({ kind: 'unreachable', hint: expect.stringContaining('models.default.baseUrl') });
    expect(error.message).toContain('ECONNREFUSED');
  });
});
