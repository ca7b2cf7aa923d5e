import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { mcpServerConfig } from '../../../../src/core/tools/mcp/server-config.js';

const issuesOf = (value: object) =>
  mcpServerConfig.safeParse(value).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);

describe('mcpServerConfig', () => {
  it('fills in the defaults of a program', () => {
    expect(mcpServerConfig.parse({ transport: 'stdio', command: 'npx' })).toEqual({
      transport: 'stdio',
      command: 'npx',
      args: [],
      env: {},
      enabled: true,
      allow: ['*'],
      deny: [],
      trust: false,
      connectTimeoutMs: 15_000,
      listTimeoutMs: 10_000,
      callTimeoutMs: 60_000,
      maxTotalMs: 600_000,
      maxResultChars: 20_000,
      elicitationMinutes: 10,
    });
  });

  it('refuses what belongs to another transport, and unknown ones with the way out', () => {
    expect(issuesOf({ transport: 'http', url: 'https://example.com/mcp', command: 'npx' })).toEqual([
      ': Unrecognized key: "command"',
    ]);
    expect(issuesOf({ transport: 'http', url: 'ftp://example.com' })).toEqual([
      'url: write the whole address of the endpoint, like https://example.com/mcp',
    ]);
    expect(issuesOf({ command: 'npx' })).toEqual([
      'transport: set transport to stdio (with command) or http (with url)',
    ]);
  });

  it('lets transports of other programs through, to be skipped at run time', () => {
    expect(issuesOf({ transport: 'sse', url: 'https://example.com/sse', headers: { A: 'b' } })).toBeUndefined();
  });

  it('describes every setting and marks what is secret', () => {
    const schema = z.toJSONSchema(mcpServerConfig, { io: 'input' });
    const variants = (schema.oneOf ?? []) as { properties: Record<string, z.core.JSONSchema.BaseSchema> }[];
    const undescribed = variants.flatMap(({ properties }) =>
      Object.entries(properties).filter(([, { description }]) => !description),
    );
    expect(undescribed).toEqual([]);
    const secrets = JSON.stringify(schema).match(/"secret":true/g);
    expect(secrets).toHaveLength(3);
  });
});
