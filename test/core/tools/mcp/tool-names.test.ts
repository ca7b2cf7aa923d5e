import { describe, expect, it } from 'vitest';
import { toolNames } from '../../../../src/core/tools/mcp/tool-names.js';

const names = (server: string, tools: readonly string[], servers: readonly string[] = [server]) => [
  ...toolNames(server, tools, servers).values(),
];

describe('toolNames', () => {
  it('puts the server before the tool', () => {
    expect(names('files', ['read', 'write-file'])).toEqual(['mcp_files_read', 'mcp_files_write-file']);
  });

  it('replaces what model vendors do not accept', () => {
    expect(names('my.files', ['notes/read', '删除'])).toEqual(['mcp_my_files_notes_read', 'mcp_my_files__']);
  });

  it('gives every tool a name of its own, whatever the order', () => {
    const tools = ['a.b', 'a_b', 'a/b', '读', '写'];
    const given = toolNames('s', tools, ['s']);
    expect(given.get('a_b')).toBe('mcp_s_a_b');
    expect(given.get('a.b')).toMatch(/^mcp_s_a_b_[0-9a-f]{8}$/);
    expect(new Set(given.values()).size).toBe(tools.length);
    const reversed = toolNames('s', tools.toReversed(), ['s']);
    for (const tool of tools) expect(reversed.get(tool)).toBe(given.get(tool));
  });

  it('cuts long names to 64 characters and keeps them apart', () => {
    const long = 'x'.repeat(80);
    const [first, second, short] = names('s', [`${long}1`, `${long}2`, 'y'.repeat(58)]);
    expect([first?.length, second?.length, short?.length]).toEqual([64, 64, 64]);
    expect(first).not.toBe(second);
    expect(short).toBe(`mcp_s_${'y'.repeat(58)}`);
  });

  it('keeps servers apart whose names would make the same tool name, whether or not a run has both', () => {
    const servers = ['a', 'a_b', 'a.b'];
    const all = servers.flatMap((server) => names(server, server === 'a' ? ['b_c'] : ['c'], servers));
    expect(all[0]).toBe('mcp_a_b_c');
    expect(all[1]).toMatch(/^mcp_a_b_c_[0-9a-f]{8}$/);
    expect(new Set(all).size).toBe(3);
  });
});
