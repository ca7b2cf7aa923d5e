import { describe, expect, it } from 'vitest';
import { healMarkdown } from '../../../src/core/chat/heal.js';
import { parseMarkdown } from '../../../src/core/chat/markdown.js';
import { openMarks } from '../../../src/core/chat/open-marks.js';
import { SNIPPETS, STRESS, TIDY } from '../../fakes/nasty-markdown.js';
import { visibleText } from '../../fakes/visible-text.js';

describe('healing a growing text', () => {
  it.each([
    ['a **bold', 'a **bold**'],
    ['a **bold*', 'a **bold**'],
    ['a **bold**', 'a **bold**'],
    ['a *b **c', 'a *b **c***'],
    ['~~a **b', '~~a **b**~~'],
    ['***x', '***x***'],
    ['a **', 'a'],
    ['use `npm i', 'use `npm i`'],
    ['**a `code', '**a `code`**'],
    ['这是**重点。', '这是**重点。**'],
    ['> - **q', '> - **q**'],
    ['- a **b\n  c', '- a **b\n  c**'],
    ['see [label](https://exa', 'see label'],
    ['see [lab', 'see lab'],
    ['see [label]', 'see label'],
    ['see ![alt](ht', 'see alt'],
    ['array `x[0', 'array `x[0`'],
    ['text\n-', 'text'],
    ['text\n\n12.', 'text'],
    ['text\n##', 'text'],
    ['| a | b |\n|--', '| a | b |\n|---|---|'],
    ['x\n\n| a | b |\n|', 'x\n\n| a | b |\n|---|---|'],
    ['| a |\n|---|\n| **x', '| a |\n|---|\n| **x**'],
  ])('%j becomes %j', (half, healed) => {
    expect(healMarkdown(half)).toBe(healed);
  });

  it.each([
    ['2*3 and 4*x'],
    ['- a[0]'],
    ['- [x]'],
    ['note[^1]'],
    ['a_b_c'],
    ['\\*a'],
    ['a ` b, then much more text after a stray backtick'.padEnd(400, ' and more')],
    ['```py\nx = **'],
    ['```py\n[a](b'],
    ['foo [bar baz\n\nnext paragraph'],
    ['**open\n\nnext paragraph'],
  ])('leaves %j alone', (source) => {
    expect(healMarkdown(source)).toBe(source);
  });

  it('shows, at every moment, the beginning of what the whole text will show', () => {
    for (const source of TIDY) {
      const whole = visibleText(source);
      for (let end = 0; end <= source.length; end++) {
        const shown = visibleText(healMarkdown(source.slice(0, end)));
        expect(whole.slice(0, shown.length), `after ${JSON.stringify(source.slice(0, end))}`).toBe(shown);
      }
    }
  });

  it('parses for every prefix of every snippet', () => {
    for (const snippet of Object.values(SNIPPETS)) {
      for (let end = 0; end <= snippet.length; end++) {
        expect(parseMarkdown(healMarkdown(snippet.slice(0, end))).children.length).toBeGreaterThanOrEqual(0);
      }
    }
  });

  it.each(Object.entries(STRESS))('stands %s', (_, make) => {
    const source = make(20_000);
    expect(healMarkdown(source).length).toBeLessThan(source.length + 20_000);
  });
});

describe('open marks', () => {
  it('are the ones that a closing mark may still close, outermost first', () => {
    expect(openMarks('**a *b ~~c')).toEqual(['**', '*', '~~']);
    expect(openMarks('***a* b')).toEqual(['**']);
    expect(openMarks('**a *b* c** d')).toEqual([]);
    // By the rules the inner star takes one of the two behind `b`.
    expect(openMarks('**a *b** c')).toEqual(['*']);
    expect(openMarks('a ** b * c')).toEqual([]);
    expect(openMarks('**a [b *c](http://d.e)')).toEqual(['**']);
    expect(openMarks('****a')).toEqual([]);
    expect(openMarks('*a *b **c')).toEqual(['*', '**']);
  });
});
