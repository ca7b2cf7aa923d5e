import { expect, it } from 'vitest';
import { toMcpError } from '../../../../src/core/tools/mcp/failure.js';
import { mcpServerConfig, type UsableServerConfig } from '../../../../src/core/tools/mcp/server-config.js';

it('a failure repeats no key of an address, wherever in it the key is', () => {
  const url = 'https://user:password1@x.example/s/abcdefghijklmnopqrstuvwxyz/mcp?api_key=hunter2hunter2&v=1';
  const config = mcpServerConfig.parse({ transport: 'http', url }) as UsableServerConfig;
  for (const key of ['abcdefghijklmnopqrstuvwxyz', 'hunter2hunter2', 'password1']) {
    const { message } = toMcpError(new Error(`no access with ${key} to mcp`), { name: 'x', config });
    expect(message).toBe('no access with *** to mcp');
  }
});
