import { afterEach, describe, expect, it } from 'vitest';
import { ModelError } from '../../../src/core/errors.js';
import { createOpenAiModel } from '../../../src/core/llm/client.js';
import { type ModelScript, type ModelServer, startModelServer } from '../../fakes/model-server.js';

let server: ModelServer;
afterEach(() => server.close());

async function refusal(script: ModelScript): Promise<ModelError> {
  server = await startModelServer(script);
  const model = createOpenAiModel({
    name: 'm',
    baseUrl: server.url,
    model: 'x',
    contextWindow: 1_000,
    maxOutputTokens: 100,
  });
  const messages = [{ role: 'user', content: 'hello' }] as const;
  const thrown = await model
    .request({ messages, signal: new AbortController().signal })
    .catch((error: unknown) => error);
  if (!(thrown instanceof ModelError)) throw new Error(`expected a ModelError, got ${String(thrown)}`);
  return thrown;
}

function status(code: number, error: unknown): ModelScript {
  return { fault: { kind: 'status', status: code, body: { error } } };
}

describe('a request that is too long', () => {
  it.each([
    [400, { code: 'context_length_exceeded', message: 'Please adjust your input.' }],
    [
      400,
      {
        message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
      },
    ],
    [400, { message: 'Your input exceeds the context window of this model.' }],
    [400, { message: 'prompt is too long: 213462 tokens > 200000 maximum' }],
    [400, { message: 'Input is too long for requested model.' }],
    [400, { message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).' }],
    [400, { message: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." }],
    [413, { message: 'Please reduce the length of the messages or completion.' }],
    [
      400,
      {
        type: 'exceed_context_size_error',
        message: 'the request exceeds the available context size, try increasing it',
      },
    ],
    [400, { message: 'The number of tokens to keep from the initial prompt is greater than the context length.' }],
    [422, { message: "The input (9000 tokens) is longer than the model's context length (8192 tokens)." }],
    [
      400,
      {
        message:
          'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      },
    ],
    [400, { message: 'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).' }],
    [400, { message: 'Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)' }],
    [400, { message: 'invalid params, context window exceeds limit (2013)' }],
    [400, { message: '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]' }],
    [400, { message: 'length of prompt_tokens (12833) must be less than max_seq_len (8192).' }],
    [400, { message: 'Total tokens of image and text exceed max message tokens.' }],
    [400, { code: '1261', message: 'Prompt 超长' }],
    [400, { message: '输入长度超过模型上限' }],
    [400, { message: '请求的内容超出模型的上下文长度' }],
    [500, { message: 'context length exceeded' }],
  ])('is recognised by the words of its refusal: %i %j', async (code, error) => {
    const thrown = await refusal(status(code, error));
    expect(thrown).toMatchObject({ kind: 'context_overflow', code: 'model_context_overflow', model: 'm' });
    expect(thrown.hint).toContain('models.m.contextWindow');
    expect(server.requests).toHaveLength(1);
  });

  it('is recognised in the stream, and as a finish reason before anything came', async () => {
    const reported = { message: 'prompt is too long: 9 tokens > 8 maximum', type: 'invalid_request_error' };
    expect(await refusal({ text: 'x', fault: { kind: 'error_event', after: 0, error: reported } })).toMatchObject({
      kind: 'context_overflow',
    });
    await server.close();
    const finish = { text: '', finishReason: 'model_context_window_exceeded' };
    expect(await refusal(finish)).toMatchObject({ kind: 'context_overflow' });
  });

  it.each([
    [429, { message: 'Request too large for m on tokens per min (TPM): Limit 10000, Requested 12000' }, 'rate_limited'],
    [
      413,
      { message: 'Request too large: on tokens per minute (TPM): Limit 6000', code: 'rate_limit_exceeded' },
      'bad_request',
    ],
    [401, { message: 'maximum context length' }, 'unauthorized'],
    [
      400,
      { message: 'max_tokens is too large: 40000. This model supports at most 16384 completion tokens.' },
      'bad_request',
    ],
    [400, { message: 'Invalid schema for function look' }, 'bad_request'],
    [400, { message: 'Too many tokens, please wait before trying again.' }, 'bad_request'],
  ])('is not what a limit over time or another mistake is taken for: %i %j', async (code, error, kind) => {
    expect(
      await refusal(({ body }) =>
        body ? { fault: { kind: 'status', status: code, body: { error }, headers: { 'retry-after': '60' } } } : {},
      ),
    ).toMatchObject({ kind });
  });
});
