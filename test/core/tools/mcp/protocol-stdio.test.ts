import { describe, expect, it } from 'vitest';
import { waitFor } from '../../../fakes/wait-for.js';
import { openServers, pipe } from './fixture.js';
import { describeProtocol } from './protocol-table.js';

const running = async (era: 'modern' | 'legacy') => ({ config: pipe(era), close: async () => undefined });

describeProtocol('over stdio', () => running('modern'));
describeProtocol('over stdio in the older protocol', () => running('legacy'));

describe('over stdio', () => {
  it('ignores progress that comes after the answer', async () => {
    const mcp = openServers(pipe('modern'));
    try {
      const lines: string[] = [];
      expect(await mcp.run('late', {}, { progress: (line) => void lines.push(line) })).toEqual({ content: 'early' });
      const ignored = () => mcp.lines.find(({ message }) => message === 'MCP message ignored');
      expect((await waitFor(ignored)).level).toBe('debug');
      expect(lines).toEqual([]);
      expect(await mcp.run('echo', { text: 'still there' })).toEqual({ content: 'still there' });
    } finally {
      await mcp.servers.close();
    }
  });
});
