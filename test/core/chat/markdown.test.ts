import { describe, expect, it } from 'vitest';
import { cleanText } from '../../../src/core/chat/clean-text.js';
import { parseMarkdown } from '../../../src/core/chat/markdown.js';
import { type Block, type Inline, plainText } from '../../../src/core/chat/markdown-tree.js';
import { SNIPPETS, STRESS } from '../../fakes/nasty-markdown.js';

function parse(source: string): readonly Block[] {
  return parseMarkdown(source).children;
}

function inline(source: string): readonly Inline[] {
  const [block] = parse(source);
  return block?.type === 'paragraph' ? block.children : [];
}

function text(value: string): Inline {
  return { type: 'text', value };
}

function links(nodes: readonly Inline[]): string[] {
  return nodes.flatMap((node) => {
    if (!('children' in node)) return [];
    return [...(node.type === 'link' ? [node.url] : []), ...links(node.children)];
  });
}

/** Every block's lines lie in its container's, in order. */
function checkLines(blocks: readonly Block[], from: number, to: number): void {
  let at = from;
  for (const block of blocks) {
    expect(block.lines.start).toBeGreaterThanOrEqual(at);
    expect(block.lines.end).toBeGreaterThan(block.lines.start);
    expect(block.lines.end).toBeLessThanOrEqual(to);
    if (block.type === 'quote') checkLines(block.children, block.lines.start, block.lines.end);
    if (block.type === 'list') {
      for (const item of block.items) checkLines(item.children, item.lines.start, item.lines.end);
    }
    at = block.lines.end;
  }
}

function depthOf(nodes: readonly (Block | Inline)[]): number {
  return Math.max(
    0,
    ...nodes.map((node) => {
      if (node.type === 'list') return 1 + depthOf(node.items.flatMap((item) => item.children));
      return 'children' in node ? 1 + depthOf(node.children) : 1;
    }),
  );
}

describe('the markdown tree', () => {
  it('holds marks, code and line ends of a paragraph', () => {
    expect(inline('a **b *c* d** ~~e~~ `f`\ng  \nh')).toEqual([
      text('a '),
      { type: 'strong', children: [text('b '), { type: 'emphasis', children: [text('c')] }, text(' d')] },
      text(' '),
      { type: 'strike', children: [text('e')] },
      text(' '),
      { type: 'code', value: 'f' },
      { type: 'break' },
      text('g'),
      { type: 'break' },
      text('h'),
    ]);
  });

  it('sees emphasis beside Chinese punctuation', () => {
    expect(inline('这是**重点。**后面,**“引号”**也要')).toEqual([
      text('这是'),
      { type: 'strong', children: [text('重点。')] },
      text('后面,'),
      { type: 'strong', children: [text('“引号”')] },
      text('也要'),
    ]);
  });

  it('tells the lines, fence and language of code, closed or not', () => {
    expect(parse(SNIPPETS.innerFence)[0]).toEqual({
      type: 'fence',
      lines: { start: 0, end: 5 },
      value: '```js\ncode with ``` inside\n```',
      language: 'md',
      marker: '````',
      closed: true,
    });
    expect(parse('```\n```')[0]).toMatchObject({ value: '', closed: true });
    expect(parse('```py\nx')[0]).toMatchObject({ value: 'x', language: 'py', closed: false });
    expect(parse('    x')[0]).toMatchObject({ type: 'fence', value: 'x', marker: '' });
  });

  it('keeps only harmless characters and a bounded length of a language', () => {
    expect(parse(SNIPPETS.fenceInfo)[0]).toMatchObject({ language: 'scriptx' });
    expect(parse(`\`\`\`${'x'.repeat(500)}\n\`\`\``)[0]).toMatchObject({ language: 'x'.repeat(32) });
  });

  it('counts ordered items and recognises tasks', () => {
    expect(parse('7. a\n8. b')[0]).toMatchObject({ type: 'list', start: 7, tight: true });
    expect(parse(SNIPPETS.looseList)[0]).toMatchObject({ type: 'list', start: 1, tight: false });
    const [list] = parse('- [x] done\n- [ ] open\n- [x](http://a.b)\n- plain');
    expect(list?.type === 'list' && list.items.map((item) => item.checked)).toEqual([
      true,
      false,
      undefined,
      undefined,
    ]);
  });

  it('reads tables with escaped pipes and alignment', () => {
    const [table] = parse(SNIPPETS.table);
    expect(table).toMatchObject({ type: 'table', align: [undefined, 'center'], lines: { start: 0, end: 6 } });
    expect(table?.type === 'table' && table.rows.map((row) => row.map(plainText))).toEqual([
      ['1 | x', '2'],
      ['`c', 'd`'],
      ['表格', '👍'],
      ['after?', ''],
    ]);
  });

  it('takes no HTML, no definition and no underline as markup', () => {
    expect(parse(SNIPPETS.html).map((block) => block.type)).toEqual(['paragraph', 'paragraph', 'paragraph']);
    expect(parse('a [x][r]\n\n[r]: http://evil.x\n\n[^1]: note').map((block) => block.type)).toEqual([
      'paragraph',
      'paragraph',
      'paragraph',
    ]);
    expect(parse('Title\n---\n').map((block) => block.type)).toEqual(['paragraph', 'rule']);
  });

  it('links http, https and mailto only', () => {
    expect(links(inline(SNIPPETS.evilLinks))).toEqual(["http://a.b/%7Cx%3Ey%22'%3Cz"]);
    expect(links(inline(SNIPPETS.autolinks))).toEqual([
      'https://a.b/c_d_e?x=1&y=2',
      'https://z.z',
      'mailto:a@b.co',
      'http://x.y/z',
    ]);
    expect(links(inline(`[a](http://b.c/${'x'.repeat(3_000)})`))).toEqual([]);
  });

  it('turns images into links and shows the address of a link without a label', () => {
    expect(inline(SNIPPETS.linkedImage)).toEqual([
      { type: 'link', url: 'https://ci.x', children: [text('build')] },
      text(' '),
      { type: 'link', url: 'https://i.mg/x.png', children: [text('https://i.mg/x.png')] },
      text(' '),
      { type: 'link', url: 'https://i.mg/y.png', children: [text('alt *text*')] },
    ]);
    expect(inline('[](http://e.f)')).toEqual([{ type: 'link', url: 'http://e.f', children: [text('http://e.f')] }]);
  });

  it('has lines that lie inside each other, for every prefix of every snippet', () => {
    for (const snippet of Object.values(SNIPPETS)) {
      for (let end = 0; end <= snippet.length; end++) {
        const source = snippet.slice(0, end);
        checkLines(parse(source), 0, cleanText(source).split('\n').length);
      }
    }
  });
});

describe('text made to hurt', () => {
  it.each(Object.entries(STRESS))('%s gives a shallow tree', (_, make) => {
    const blocks = parse(make(20_000));
    expect(depthOf(blocks)).toBeLessThan(60);
  });

  it('shows what is nested too deeply as it was written', () => {
    expect(JSON.stringify(parse(`${'>'.repeat(20_000)}a`))).toContain(`${'>'.repeat(10_000)}`);
    expect(JSON.stringify(parse(`${'> '.repeat(200)}the end`))).toContain('the end');
  });

  it('shows a table with too many columns as it was written', () => {
    const wide = STRESS.wideTable?.(8_000) ?? '';
    expect(parse(wide)).toMatchObject([{ type: 'fence', value: wide.trimEnd() }]);
    expect(parse('|a|b|\n|-|-|\n|x|')).toMatchObject([{ type: 'table' }]);
  });
});
