import { describe, expect, it } from 'vitest';
import { parseMarkdown } from '../../../src/core/chat/markdown.js';
import type { Block } from '../../../src/core/chat/markdown-tree.js';
import { createPager, paginate } from '../../../src/core/chat/split.js';
import { SNIPPETS, STRESS } from '../../fakes/nasty-markdown.js';
import { createRandom, type Random } from '../../fakes/random.js';
import { HEADER_MARK, randomMarkdown } from '../../fakes/random-markdown.js';
import { visibleText } from '../../fakes/visible-text.js';

const FENCE = '```';
const LIMITS = [120, 150, 200, 400, 1_000, 4_096] as const;

const within =
  (limit: number) =>
  (markdown: string): boolean =>
    markdown.length <= limit;

/** Words without the header cells, which each part of a table has. */
const words = (markdown: string): string => visibleText(markdown, (cell) => cell.includes(HEADER_MARK));

const lettersAndDigits = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, '');

function hasOpenFence(blocks: readonly Block[]): boolean {
  return blocks.some((block) => {
    if (block.type === 'fence') return !block.closed;
    if (block.type === 'quote') return hasOpenFence(block.children);
    return block.type === 'list' && block.items.some((item) => hasOpenFence(item.children));
  });
}

/** Feeds a text in random pieces and draws at random moments; ended pages must stay as they are. */
function streamed(source: string, fits: (markdown: string) => boolean, random: Random): readonly string[] {
  const pager = createPager({ fits });
  let ended: readonly string[] = [];
  for (let at = 0; at < source.length; ) {
    const size = 1 + random.below(random.pick([1, 5, 40, 500]));
    pager.append(source.slice(at, at + size));
    at += size;
    if (random.below(2) === 0) continue;
    const pages = pager.pages;
    expect(pages.slice(0, ended.length)).toEqual(ended);
    for (const page of pages) expect(fits(page)).toBe(true);
    ended = pages.slice(0, -1);
  }
  expect(pager.source).toBe(source);
  return pager.pages;
}

describe('pages of random markdown', () => {
  it.each(Array.from({ length: 40 }, (_, seed) => seed + 1))(
    'fit, are whole and do not depend on the pieces (seed %i)',
    (seed) => {
      const random = createRandom(seed);
      for (let round = 0; round < 6; round++) {
        const source = randomMarkdown(random, 2 + random.below(14));
        const limit = random.pick(LIMITS);
        const pages = paginate(source, within(limit));
        expect(pages.map(words).join('')).toBe(words(source));
        for (const page of pages) {
          expect(page.length).toBeLessThanOrEqual(limit);
          expect(hasOpenFence(parseMarkdown(page).children)).toBe(false);
        }
        for (const page of pages.slice(0, -1)) expect(page.length).toBeGreaterThan(limit * 0.4);
        expect(streamed(source, within(limit), random)).toEqual(pages);
      }
    },
  );
});

describe('pages of nasty text', () => {
  it.each(Object.entries(SNIPPETS))('keep every letter of %s, at every limit', (_, snippet) => {
    const source = `${snippet}\n\n`.repeat(8);
    for (const limit of [60, 75, 90, 120, 200, 400]) {
      const pages = paginate(source, within(limit));
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
      const kept = lettersAndDigits(pages.join(''));
      expect(kept.length).toBeGreaterThanOrEqual(lettersAndDigits(createPagerSource(source)).length);
      // Tables and fences repeat their headers and languages; nothing else may be added.
      if (!/[|`~]/.test(source)) expect(kept).toBe(lettersAndDigits(createPagerSource(source)));
    }
  });

  it.each(Object.entries(STRESS))('go on through %s', (name, make) => {
    const source = make(20_000);
    for (const limit of [200, 3_900]) {
      const pages = paginate(source, within(limit));
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
      const kept = lettersAndDigits(pages.join(''));
      if (name.toLowerCase().includes('table') || name.startsWith('code') || name === 'hugeCell') {
        expect(kept.length).toBeGreaterThanOrEqual(lettersAndDigits(source).length);
      } else {
        expect(kept).toBe(lettersAndDigits(source));
      }
    }
  });

  it('go on when not even one character fits', () => {
    const pages = paginate('word '.repeat(100), () => false);
    expect(pages.length).toBeLessThan(20);
    expect(lettersAndDigits(pages.join(''))).toBe('word'.repeat(100));
  });
});

function createPagerSource(source: string): string {
  const pager = createPager({ fits: () => true });
  pager.append(source);
  return pager.source;
}

describe('where a page ends', () => {
  it('is between blocks when the page is at least half full then', () => {
    const source = `${'a '.repeat(40).trim()}\n\n${'b '.repeat(30).trim()}`;
    expect(paginate(source, within(100))).toEqual(['a '.repeat(40).trim(), 'b '.repeat(30).trim()]);
  });

  it('is inside a block rather than leaving a small page', () => {
    const [first = ''] = paginate(`short\n\n${'b '.repeat(300).trim()}`, within(100));
    expect(first.startsWith('short\n\nb')).toBe(true);
    expect(first.length).toBeGreaterThan(90);
  });

  it('is not behind a heading', () => {
    const source = `${'a '.repeat(35).trim()}\n\n## Title\n\n${'b '.repeat(30).trim()}`;
    expect(paginate(source, within(90))[1]).toMatch(/^## Title/);
  });

  it('prefers sentences, then words', () => {
    expect(paginate('First one is here. Second one is there. Third one too.', within(48))).toEqual([
      'First one is here. Second one is there.',
      'Third one too.',
    ]);
    expect(paginate('这是第一句话。这是第二句话。这是第三句', within(16))).toEqual([
      '这是第一句话。这是第二句话。',
      '这是第三句',
    ]);
    expect(paginate('one two three four five six seven', within(32))).toEqual(['one two three four five six', 'seven']);
  });

  it('never splits a character as people see it', () => {
    const family = '👨‍👩‍👧‍👦';
    for (const unit of [family, '🇩🇪', 'e\u0301\u0323', '👍🏽', '한']) {
      for (const limit of [61, 62, 63, 64, 65]) {
        const pages = paginate(unit.repeat(40), within(limit));
        for (const page of pages) expect(page.replaceAll(unit, '')).toBe('');
      }
    }
  });

  it('does not depend on text behind the end', () => {
    const start = `${'a '.repeat(40)}\n\n${'b '.repeat(40)}`;
    const [first] = paginate(`${start} and an end`, within(100));
    expect(paginate(`${start} **and** another\n\n- end`, within(100))[0]).toBe(first);
  });
});

describe('what goes on in the next page', () => {
  it('is code, in a fence with the same marker and language', () => {
    const lines = Array.from({ length: 12 }, (_, index) => `  line(${index});`);
    const pages = paginate(`~~~~js\n${lines.join('\n')}\n~~~~`, within(100));
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) expect(page).toMatch(/^~~~~js\n(?: {2}line\(\d+\);\n)+~~~~$/);
    expect(pages.join('\n').match(/line\(\d+\)/g)).toHaveLength(12);
  });

  it('is code inside an item, without its indentation', () => {
    const lines = Array.from({ length: 8 }, (_, index) => `   line(${index});`);
    const pages = paginate(`1. step\n\n   ${FENCE}sh\n${lines.join('\n')}\n   ${FENCE}\n2. next`, within(80));
    expect(pages[1]).toMatch(/^```sh\nline\(\d\);\n/);
    expect(pages[0]).toMatch(/\n {3}```$/);
    expect(pages.at(-1)).toMatch(/2\. next$/);
  });

  it('is a list whose numbers keep counting, also when the text repeats the same number', () => {
    const items = Array.from({ length: 30 }, (_, index) => `1. item ${index} with words`);
    const pages = paginate(items.join('\n'), within(120));
    let count = 0;
    for (const page of pages) {
      const [list] = parseMarkdown(page).children;
      expect(list).toMatchObject({ type: 'list', start: count + 1 });
      count += list?.type === 'list' ? list.items.length : 0;
    }
    expect(count).toBe(30);
  });

  it('is the rest of an item, then the next number', () => {
    const pages = paginate(`1. ${'long '.repeat(30).trim()}\n1. second\n   - inner\n1. third`, within(110));
    expect(pages[1]).toMatch(/^long/);
    expect(parseMarkdown(pages[1] ?? '').children[1]).toMatchObject({ type: 'list', start: 2, items: [{}, {}] });
  });

  it('is a table with its header', () => {
    const rows = Array.from({ length: 20 }, (_, index) => `| row ${index} | value |`);
    const pages = paginate(`| Name | Value |\n|---|--:|\n${rows.join('\n')}`, within(150));
    for (const page of pages) {
      expect(parseMarkdown(page).children).toMatchObject([{ type: 'table', align: [undefined, 'right'] }]);
      expect(page).toMatch(/^\| Name \| Value \|\n\|---\|--:\|\n\| row/);
    }
    expect(pages.join('\n').match(/row \d+/g)).toHaveLength(20);
  });

  it.each([
    ['a quote', '> ', '> ', (cells: string) => cells],
    ['an item', '- ', '  ', (cells: string) => `| ${cells} |`],
    ['an item of a quote', '> 1. ', '>    ', (cells: string) => `| ${cells} |`],
  ])('is a table with its header, in %s', (_, first, others, row) => {
    const rows = Array.from({ length: 20 }, (_row, index) => `row ${index} | value`);
    const lines = ['Name | Value', '--- | --:', ...rows].map(
      (cells, line) => (line === 0 ? first : others) + row(cells),
    );
    const pages = paginate(lines.join('\n'), within(150));
    expect(pages.length).toBeGreaterThan(2);
    for (const page of pages) {
      expect(page.match(/Name \| Value/g)).toHaveLength(1);
      expect(visibleText(page)).toMatch(/^NameValue(?:row\d+value)+$/);
    }
    expect(pages.join('\n').match(/row \d+/g)).toHaveLength(20);
  });

  it('is the rest of a cell under the same header', () => {
    const source = `| A | B |\n|---|---|\n| x | ${'long '.repeat(60)}| \n| y | z |`;
    const pages = paginate(source, within(120));
    expect(pages.length).toBeGreaterThan(2);
    for (const page of pages) expect(parseMarkdown(page).children).toMatchObject([{ type: 'table' }]);
    expect(pages[1]).toMatch(/^\| A \| B \|\n\|---\|---\|\n\| \| long/);
  });

  it('is a quote', () => {
    const pages = paginate(`> ${'quoted words go on '.repeat(20)}\n> last`, within(100));
    for (const page of pages) expect(parseMarkdown(page).children).toMatchObject([{ type: 'quote' }]);
  });

  it('has the marks that were open', () => {
    const pages = paginate(
      `**${'bold words '.repeat(20).trim()}** and \`${'code words '.repeat(12).trim()}\``,
      within(100),
    );
    for (const page of pages) expect(visibleText(page)).not.toMatch(/[*`]/);
    expect(pages[1]).toMatch(/^\*\*(?:bold|words)/);
  });

  it('keeps a backslash that is text and drops one that breaks a line', () => {
    expect(paginate(`${'a '.repeat(28)}C:\\ ${'bbbbbbbbbb '.repeat(5)}`, within(64))[0]).toMatch(/C:\\$/);
    expect(paginate(`${'a '.repeat(28).trim()}\\\n${'bbbbbbbbbb '.repeat(5)}`, within(64))[0]).toMatch(/a$/);
  });

  it('has every link whole', () => {
    const links = Array.from({ length: 20 }, (_, index) => `[link number ${index}](https://e.com/page/${index})`);
    const pages = paginate(`Read ${links.join(' or ')}.`, within(100));
    expect(pages.join('\n').match(/\[link number \d+\]\(https:\/\/e\.com\/page\/\d+\)/g)).toHaveLength(20);
  });

  it('does not become a list or heading by chance', () => {
    const pages = paginate(
      `${'aaaa '.repeat(20)}${'- bbb '.repeat(20)}${'# cc '.repeat(20)}${'2. dd '.repeat(20)}`,
      within(50),
    );
    for (const page of pages) expect(parseMarkdown(page).children).toMatchObject([{ type: 'paragraph' }]);
  });
});

describe('the work a pager does', () => {
  /** Numbered words in paragraphs, code and lists. */
  const text = (count: number): string =>
    Array.from(
      { length: count },
      (_, index) => `word${index}${index % 60 === 59 ? '\n\n' : index % 12 === 11 ? '. ' : ' '}`,
    ).join('');

  function counted(limit: number): {
    fits: (markdown: string) => boolean;
    calls: () => number;
    characters: () => number;
    seen: string[];
  } {
    let calls = 0;
    let characters = 0;
    const seen: string[] = [];
    return {
      fits: (markdown) => {
        calls++;
        characters += markdown.length;
        seen.push(markdown);
        return markdown.length <= limit;
      },
      calls: () => calls,
      characters: () => characters,
      seen,
    };
  }

  it('grows with the length of the text', () => {
    const perCharacter = [1_000, 4_000, 16_000].map((count) => {
      const source = text(count);
      const { fits, characters } = counted(3_900);
      paginate(source, fits);
      return characters() / source.length;
    });
    for (const ratio of perCharacter) expect(ratio).toBeLessThan(14);
  });

  it('is one call of fits for a draw without an overflow, none without new text', () => {
    const { fits, calls } = counted(3_900);
    const pager = createPager({ fits });
    for (let draw = 1; draw <= 10; draw++) {
      for (let piece = 0; piece < 20; piece++) pager.append('some words ');
      expect(pager.pages).toHaveLength(1);
      expect(pager.pages).toBe(pager.pages);
      expect(calls()).toBe(draw);
    }
  });

  it('never looks at an ended page again', () => {
    const { fits, seen, calls } = counted(1_000);
    const pager = createPager({ fits });
    const source = text(3_000);
    let draws = 0;
    for (let at = 0; at < source.length; at += 200) {
      const known = pager.pages.length - 1;
      const from = seen.length;
      pager.append(source.slice(at, at + 200));
      draws++;
      const lastWord = /word\d+(?=\D*$)/.exec(pager.pages[known - 1] ?? '')?.[0];
      if (lastWord) for (const markdown of seen.slice(from)) expect(markdown).not.toMatch(new RegExp(`${lastWord}\\b`));
    }
    expect(calls()).toBeLessThan(draws + 10 * pager.pages.length);
    expect(pager.pages.join(' ').match(/word\d+/g)).toHaveLength(3_000);
  });

  it('is small for a line of 100,000 characters', () => {
    const source = text(12_000).replaceAll('\n', ' ');
    const { fits, characters } = counted(3_900);
    const pages = paginate(source, fits);
    expect(pages.join(' ').match(/word\d+/g)).toHaveLength(12_000);
    expect(characters()).toBeLessThan(14 * source.length);
  });
});

describe('a pager', () => {
  it('has one empty page before there is text', () => {
    expect(createPager({ fits: within(100) }).pages).toEqual(['']);
    expect(paginate(' \n\n ', within(100))).toEqual(['']);
  });

  it('cleans the text, and waits for the other half of a pair', () => {
    const pager = createPager({ fits: within(100) });
    for (const unit of '👍\u0000 a\r\nb\u202E'.split('')) pager.append(unit);
    expect(pager.source).toBe('👍 a\nb');
    expect(pager.pages).toEqual(['👍 a\nb']);
  });
});
