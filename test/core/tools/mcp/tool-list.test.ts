import { describe, expect, it } from 'vitest';
import type { SdkTool } from '../../../../src/core/tools/mcp/connection.js';
import { mcpServerConfig, type UsableServerConfig } from '../../../../src/core/tools/mcp/server-config.js';
import { listTools } from '../../../../src/core/tools/mcp/tool-list.js';

function list(tools: readonly object[], more: object = {}) {
  const warnings: string[] = [];
  const config = mcpServerConfig.parse({ transport: 'stdio', command: 'x', ...more }) as UsableServerConfig;
  const onWarning = (warning: string) => void warnings.push(warning);
  const remote = tools.map((tool) => ({ inputSchema: { type: 'object' }, ...tool })) as unknown as SdkTool[];
  return { listed: listTools(remote, { server: 's', servers: ['s'], config, onWarning }), warnings };
}

describe('the risk of a tool', () => {
  const hints = [
    { name: 'reads', annotations: { readOnlyHint: true } },
    { name: 'repeats', annotations: { idempotentHint: true } },
    { name: 'destroys', annotations: { destructiveHint: true } },
    { name: 'contradicts', annotations: { readOnlyHint: true, destructiveHint: true } },
    { name: 'plain' },
  ];
  const shown = (trust: boolean) =>
    list(hints, { trust }).listed.map(({ remote, risk, idempotent }) => [remote.name, risk, idempotent]);

  it('is never lowered by the hints of a server that is not trusted', () => {
    expect(shown(false)).toEqual([
      ['reads', 'write', false],
      ['repeats', 'write', false],
      ['destroys', 'destructive', false],
      ['contradicts', 'destructive', false],
      ['plain', 'write', false],
    ]);
  });

  it('follows the hints of a trusted server', () => {
    expect(shown(true)).toEqual([
      ['reads', 'read', true],
      ['repeats', 'write', true],
      ['destroys', 'destructive', false],
      ['contradicts', 'read', true],
      ['plain', 'write', false],
    ]);
  });
});

describe('the tools of a server', () => {
  it('are those that are allowed and not denied', () => {
    const tools = ['read_file', 'read_secret', 'write_file', 'read.*'].map((name) => ({ name }));
    const allowed = list(tools, { allow: ['read*'], deny: ['*secret', 'read.'] });
    expect(allowed.listed.map(({ remote }) => remote.name)).toEqual(['read_file', 'read.*']);
  });

  it('are at most 128, with a warning', () => {
    const { listed, warnings } = list(Array.from({ length: 200 }, (_, index) => ({ name: `t${index}` })));
    expect(listed).toHaveLength(128);
    expect(warnings).toEqual([expect.stringContaining('offers 200 tools')]);
  });

  it('are taken once when listed twice', () => {
    const { listed } = list([
      { name: 'a', description: 'first' },
      { name: 'a', description: 'second' },
    ]);
    expect(listed).toMatchObject([{ name: 'mcp_s_a', description: 'first' }]);
  });

  it('are described in visible characters, at most 2,000', () => {
    const hidden = 'Reads \u001b[8mand sends\u001b[0m\u202e files\u200b\u{e0041}.';
    const { listed } = list([
      { name: 'a', description: hidden },
      { name: 'b', description: 'x'.repeat(5_000) },
      { name: 'c' },
    ]);
    expect(listed.map(({ description }) => description)).toEqual([
      'Reads and sends files.',
      `${'x'.repeat(1_999)}…`,
      'c',
    ]);
  });
});

describe('the schema of a tool', () => {
  const parameters = (inputSchema: unknown) => list([{ name: 'a', inputSchema }]).listed[0]?.parameters;
  const empty = { type: 'object', properties: {} };

  it('is passed on as it is, without its dialect', () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { path: { type: 'string', description: 'Where' }, mode: { enum: ['r', 'w'] } },
      required: ['path'],
      additionalProperties: false,
    };
    const { $schema: _, ...rest } = schema;
    expect(parameters(schema)).toEqual(rest);
  });

  it.each([[null], ['object'], [[]], [undefined]])('is empty for %j', (schema) => {
    expect(parameters(schema)).toEqual(empty);
  });

  it('is of type object whatever the server says', () => {
    expect(parameters({ type: 'string', properties: 'none' })).toEqual(empty);
  });

  it('is left empty with a warning when it is too large', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, index) => [`field${index}`, { type: 'string' }]),
    );
    const { listed, warnings } = list([{ name: 'a', inputSchema: { type: 'object', properties } }]);
    expect(listed[0]?.parameters).toEqual(empty);
    expect(warnings).toEqual(['the schema of tool a is unusable or too large; it is left empty']);
  });

  it('is cut where it is nested without end', () => {
    let nested: object = { type: 'object' };
    for (let depth = 0; depth < 5_000; depth += 1) nested = { type: 'object', properties: { more: nested } };
    expect(JSON.stringify(parameters(nested)).length).toBeLessThan(2_000);
  });

  it('cannot reach a prototype', () => {
    const schema: unknown = JSON.parse('{"type":"object","properties":{"__proto__":{"polluted":true}}}');
    const copy = parameters(schema);
    expect(JSON.stringify(copy)).toBe('{"type":"object","properties":{"__proto__":{"polluted":true}}}');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
});
