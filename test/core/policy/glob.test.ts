import { describe, expect, it } from 'vitest';
import { type GlobKind, matchesGlob } from '../../../src/core/policy/glob.js';

describe('a glob', () => {
  it.each<[pattern: string, text: string, kind: GlobKind, matches: boolean]>([
    ['mcp_files_*', 'mcp_files_read', 'text', true],
    ['mcp_files_*', 'mcp_files_', 'text', true],
    ['mcp_files_*', 'mcp_crm_read', 'text', false],
    ['MCP_*', 'mcp_Files', 'text', true],
    ['*', '', 'text', true],
    ['', '', 'path', true],
    ['', 'a', 'path', false],
    ['docs/*', 'docs/a.md', 'path', true],
    ['docs/*', 'docs/sub/a.md', 'path', false],
    ['docs/*', 'docs', 'path', false],
    ['docs/**', 'docs/sub/a.md', 'path', true],
    ['docs/**', 'docs', 'path', true],
    ['docs/**', 'docs2/a', 'path', false],
    ['docs/**/a.md', 'docs/a.md', 'path', true],
    ['docs/**/a.md', 'docs/x/y/a.md', 'path', true],
    ['docs/**/a.md', 'docs/xa.md', 'path', false],
    ['**/secrets/**', 'secrets', 'path', true],
    ['**/secrets/**', 'a/b/secrets/c/d', 'path', true],
    ['**/secrets/**', 'a/nosecrets/c', 'path', false],
    ['**/**/a/**/**', 'a', 'path', true],
    ['**/**/a/**/**', 'x/a/y', 'path', true],
    ['/**', '/a', 'path', true],
    ['a**b', 'a/x/b', 'path', true],
    ['?.md', 'a.md', 'path', true],
    ['?.md', '/.md', 'path', false],
    ['?.md', '/.md', 'text', true],
    ['?', '😀', 'text', true],
    ['*.md', 'sub/a.md', 'path', false],
    ['*.md', 'sub/a.md', 'text', true],
    ['a.c', 'abc', 'text', false],
    ['[ab]+(c)', '[ab]+(c)', 'text', true],
    ['caf\u00e9/*', 'cafe\u0301/x', 'path', true],
    ['k/*', '\u212a/x', 'path', true],
  ])('%s and %s as a %s: %s', (pattern, text, kind, matches) => {
    expect(matchesGlob(pattern, text, kind)).toBe(matches);
  });

  it('takes time in proportion to the text, however many stars there are', () => {
    const text = 'a'.repeat(20_000);
    const began = performance.now();
    for (const pattern of ['**a'.repeat(20), '*a'.repeat(20), '**/a*'.repeat(20)]) {
      expect(matchesGlob(`${pattern}b`, text, 'path')).toBe(false);
    }
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
