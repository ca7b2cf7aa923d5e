import { afterEach, describe, expect, it } from 'vitest';
import { createOpenAiModel } from '../../../src/core/llm/client.js';
import { type ModelServer, type ModelStep, startModelServer } from '../../fakes/model-server.js';

let server: ModelServer;
afterEach(() => server.close());

async function reply(step: ModelStep) {
  server = await startModelServer(step);
  const model = createOpenAiModel({
    ...{ name: 'default', baseUrl: server.url, model: 'm', contextWindow: 1_000, maxOutputTokens: 100 },
  });
  return model.request({ messages: [{ role: 'user', content: 'q' }], signal: new AbortController().signal });
}

const toolCalls = [{ name: 'look', arguments: '{"at":"sky"}', id: 'a' }];
const whole = { id: 'a', name: 'look', arguments: '{"at":"sky"}' };

describe('a reply', () => {
  it.each<[string, ModelStep, object]>([
    ['stop', { text: 'x' }, { text: 'x', finishReason: 'stop', toolCalls: [] }],
    [
      'stop, with calls all the same',
      { toolCalls, finishReason: 'stop' },
      { finishReason: 'stop', toolCalls: [whole] },
    ],
    ['tool_calls', { toolCalls }, { finishReason: 'tool_calls', toolCalls: [whole] }],
    [
      'function_call, the old name',
      { toolCalls, finishReason: 'function_call' },
      { finishReason: 'tool_calls', toolCalls: [whole] },
    ],
    ['tool_calls, with none', { finishReason: 'tool_calls' }, { text: '', finishReason: 'tool_calls', toolCalls: [] }],
    [
      'tool_calls, with none but a text',
      { text: 'x', finishReason: 'tool_calls' },
      { text: 'x', finishReason: 'tool_calls', toolCalls: [] },
    ],
    ['length', { text: 'half', finishReason: 'length' }, { text: 'half', finishReason: 'length', toolCalls: [] }],
    [
      'length, before any text',
      { reasoning: 'hm', finishReason: 'length' },
      { text: '', reasoning: 'hm', finishReason: 'length' },
    ],
    [
      'content_filter, after a text',
      { text: 'half', finishReason: 'content_filter' },
      { text: 'half', finishReason: 'content_filter' },
    ],
    [
      'content_filter, before any',
      { finishReason: 'content_filter' },
      { text: '', finishReason: 'content_filter', toolCalls: [] },
    ],
    ['a reason of its own', { text: 'x', finishReason: 'eos' }, { text: 'x', finishReason: 'unknown' }],
    ['none, but with [DONE]', { text: 'x', finishReason: null }, { text: 'x', finishReason: 'unknown' }],
  ])('that ends with %s', async (_, step, expected) => {
    expect(await reply(step)).toMatchObject(expected);
  });

  it('cut by length before the arguments of a call began does not hold that call', async () => {
    const cut = await reply({ toolCalls: [...toolCalls, { name: 'move', id: 'b' }], finishReason: 'length' });
    expect(cut.toolCalls).toEqual([whole]);
  });

  it('cut by length inside the arguments of a call holds them as they came: running it gives an error text', async () => {
    const cut = await reply({ toolCalls: [{ name: 'look', arguments: '{"at":"s', id: 'a' }], finishReason: 'length' });
    expect(cut.toolCalls).toEqual([{ id: 'a', name: 'look', arguments: '{"at":"s' }]);
  });
});
