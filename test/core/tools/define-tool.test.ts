import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ThreadloopError } from '../../../src/core/errors.js';
import { defineTool } from '../../../src/core/tools/tool.js';

const context = { signal: new AbortController().signal, now: () => 0 };

const search = defineTool({
  name: 'search',
  description: 'Searches.',
  parameters: z.object({
    query: z.string().describe('what to look for'),
    limit: z.int().max(50).optional(),
    strict: z.boolean().default(false),
  }),
  execute: async (args) => JSON.stringify(args),
});

describe('a defined tool', () => {
  it('shows a JSON schema: descriptions, required fields, nothing else allowed', () => {
    expect(search.parameters).toEqual({
      type: 'object',
      properties: {
        query: { type: 'string', description: 'what to look for' },
        limit: expect.objectContaining({ type: 'integer', maximum: 50 }),
        strict: { type: 'boolean', default: false },
      },
      required: ['query'],
      additionalProperties: false,
    });
    expect(search.idempotent).toBe(false);
  });

  it('parses arguments and fills defaults', async () => {
    expect(await search.run('{"query":"x","limit":3}', context)).toBe('{"query":"x","limit":3,"strict":false}');
  });

  it('takes null for a field left out and nothing for no arguments', async () => {
    expect(await search.run('{"query":"x","limit":null}', context)).toBe('{"query":"x","strict":false}');
    const now = defineTool({ name: 'now', description: '', parameters: z.object({}), execute: async () => 'ok' });
    expect(await now.run('', context)).toBe('ok');
    expect(await now.run('{}', context)).toBe('ok');
  });

  it.each([
    ['{"query": "x', /arguments of search are wrong: not valid JSON/],
    ['{}', /query/],
    ['{"query":"x","limit":51}', /limit/],
    ['{"query":"x","limt":5}', /limt/],
    ['[]', /expected object/],
  ])('refuses %s with the reason', async (json, reason) => {
    const refused = search.run(json, context);
    await expect(refused).rejects.toBeInstanceOf(ThreadloopError);
    await expect(refused).rejects.toMatchObject({ code: 'tool_arguments', message: expect.stringMatching(reason) });
  });

  it('with a name no vendor accepts cannot be defined', () => {
    const broken = { name: 'a b', description: '', parameters: z.object({}), execute: async () => '' };
    expect(() => defineTool(broken)).toThrow(/"a b"/);
  });
});
