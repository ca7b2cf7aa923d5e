import { afterEach, describe, expect, it } from 'vitest';
import { createOpenAiModel } from '../../../src/core/llm/client.js';
import type { ModelReply } from '../../../src/core/llm/model.js';
import { type ModelServer, type ModelStep, startModelServer, type ToolCallShape } from '../../fakes/model-server.js';

let server: ModelServer | undefined;
afterEach(async () => server?.close());

async function reply(step: ModelStep, announced: string[] = []): Promise<ModelReply> {
  await server?.close();
  server = await startModelServer(step);
  const model = createOpenAiModel({
    name: 'default',
    baseUrl: server.url,
    model: 'fake-1',
    contextWindow: 1_000,
    maxOutputTokens: 100,
  });
  return model.request({
    messages: [{ role: 'user', content: 'q' }],
    signal: new AbortController().signal,
    onToolCall: (name) => announced.push(name),
  });
}

const calls = [
  { name: 'read', arguments: { path: 'a "b" \\ 日本', depth: 2 } },
  { name: 'list', arguments: {} },
  { name: 'read', arguments: { path: 'second' } },
];
const shapes: ToolCallShape[] = [
  'openai',
  'interleaved',
  'whole',
  'no_ids',
  'no_index',
  'bare',
  'same_index',
  'repeated',
  'null_arguments',
  'object_arguments',
];

describe('tool calls', () => {
  it.each(shapes)('in the shape %s are put together', async (shape) => {
    const announced: string[] = [];
    const { toolCalls, finishReason } = await reply({ toolCalls: calls, shape }, announced);
    expect(toolCalls.map(({ name, arguments: args }) => ({ name, arguments: JSON.parse(args) }))).toEqual(calls);
    expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(3);
    expect(toolCalls.every(({ id }) => id !== '')).toBe(true);
    expect(announced).toEqual(['read', 'list', 'read']);
    expect(finishReason).toBe('tool_calls');
  });

  it('without ids, indexes and with one index for all, in one piece each, stay apart', async () => {
    for (const shape of ['whole', 'bare', 'same_index'] as const) {
      const twice = [
        { name: 'read', arguments: '{"n":1}' },
        { name: 'read', arguments: '{"n":2}' },
      ];
      const { toolCalls } = await reply({ toolCalls: twice, shape });
      expect(toolCalls.map((call) => call.arguments)).toEqual(['{"n":1}', '{"n":2}']);
    }
  });

  it('without arguments get an empty object', async () => {
    for (const shape of ['openai', 'whole', 'null_arguments', 'no_ids'] as const) {
      const { toolCalls } = await reply({ toolCalls: [{ name: 'now', arguments: '' }], shape });
      expect(toolCalls).toMatchObject([{ name: 'now', arguments: '{}' }]);
    }
  });

  it('without arguments stay apart from the next one, even without ids and indexes', async () => {
    for (const shape of ['bare', 'no_index', 'no_ids', 'same_index', 'whole'] as const) {
      const { toolCalls } = await reply({
        toolCalls: [
          { name: 'now', arguments: '' },
          { name: 'list', arguments: '{"n":1}' },
        ],
        shape,
      });
      expect(toolCalls.map(({ name, arguments: args }) => [name, args])).toEqual([
        ['now', '{}'],
        ['list', '{"n":1}'],
      ]);
    }
  });

  it('that share one id, the name of the tool, stay apart and get ids of their own', async () => {
    for (const shape of ['openai', 'interleaved', 'whole', 'repeated'] as const) {
      const { toolCalls } = await reply({
        toolCalls: [1, 2].map((n) => ({ id: 'read', name: 'read', arguments: { n } })),
        shape,
      });
      expect(toolCalls.map((call) => call.arguments)).toEqual(['{"n":1}', '{"n":2}']);
      expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(2);
    }
  });

  it('keep arguments that are not JSON, so that the tool can say so', async () => {
    const { toolCalls } = await reply({ toolCalls: [{ name: 'read', arguments: '{"path": "a' }] });
    expect(toolCalls).toMatchObject([{ name: 'read', arguments: '{"path": "a' }]);
  });

  it('cut before their arguments began are no calls', async () => {
    const { toolCalls, text } = await reply({
      text: 'so far',
      toolCalls: [
        { name: 'read', arguments: '{}' },
        { name: 'drop', arguments: '' },
      ],
      finishReason: 'length',
    });
    expect(toolCalls).toMatchObject([{ name: 'read' }]);
    expect(text).toBe('so far');
  });

  it('announced by the finish reason but missing leave an empty reply', async () => {
    const { toolCalls, text, finishReason } = await reply({ reasoning: 'hm', finishReason: 'tool_calls' });
    expect({ toolCalls, text, finishReason }).toEqual({ toolCalls: [], text: '', finishReason: 'tool_calls' });
  });
});
