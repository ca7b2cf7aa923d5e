import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createToolCatalog } from '../../../src/core/tools/catalog.js';
import { defineTool } from '../../../src/core/tools/tool.js';

const context = { signal: new AbortController().signal, now: () => 0, interrupted: false };

function tool(name: string, answer = name, idempotent = false) {
  return defineTool({ name, description: name, parameters: z.object({}), idempotent, execute: async () => answer });
}

const call = (name: string, args = '{}') => ({ id: '1', name, arguments: args });

describe('a catalog', () => {
  it('lists schemas in order and runs tools by name', async () => {
    const catalog = createToolCatalog([tool('one'), tool('two')]);
    expect(catalog.schemas.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(catalog.get('two')?.name).toBe('two');
    expect(await catalog.run(call('two'), context)).toEqual({ content: 'two' });
  });

  it('keeps the first of two tools with one name and says which were left out', async () => {
    const catalog = createToolCatalog([tool('one', 'built-in'), tool('one', 'mcp')]);
    expect(catalog.shadowed).toEqual(['one']);
    expect(catalog.schemas).toHaveLength(1);
    expect(await catalog.run(call('one'), context)).toEqual({ content: 'built-in' });
  });

  it('answers an unknown name with the names there are', async () => {
    const result = await createToolCatalog([tool('one')]).run(call('tow'), context);
    expect(result).toEqual({ content: 'Error: there is no tool "tow". Tools: one', failed: true });
  });

  it('throws what arguments and tools throw: the loop makes a text of it', async () => {
    await expect(createToolCatalog([tool('one')]).run(call('one', '{"x":1}'), context)).rejects.toThrow(/arguments/);
  });

  it('repeats an interrupted call only when that is harmless', async () => {
    const catalog = createToolCatalog([tool('pay'), tool('look', 'seen', true)]);
    const interrupted = { ...context, interrupted: true };
    expect(await catalog.run(call('pay'), interrupted)).toMatchObject({
      failed: true,
      content: expect.stringContaining('outcome is unknown'),
    });
    expect(await catalog.run(call('look'), interrupted)).toEqual({ content: 'seen' });
  });

  it('hands on what interactive and stop tools give', async () => {
    const form = defineTool({
      name: 'form',
      description: '',
      parameters: z.object({ field: z.string() }),
      execute: async ({ field }) => ({ content: `${field}?`, suspend: 'interactive' }),
      resume: async ({ field }, answer) => ({ content: `${field} = ${answer}`, stop: true }),
    });
    const catalog = createToolCatalog([form, tool('one')]);
    const asked = call('form', '{"field":"name"}');
    expect(await catalog.run(asked, context)).toEqual({ content: 'name?', suspend: 'interactive' });
    expect(await catalog.resume(asked, 'Ada', context)).toEqual({ content: 'name = Ada', stop: true });
    expect(await catalog.resume(call('one'), 'Ada', context)).toMatchObject({ failed: true });
    expect(await catalog.resume(call('gone'), 'Ada', context)).toMatchObject({ failed: true });
  });
});
