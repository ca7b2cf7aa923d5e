import { describe, expect, it } from 'vitest';
import { requiresPlan } from '../../../src/core/plan/require-plan.js';
import * as said from './plan-requests.js';

describe('a request for a plan is recognised', () => {
  it.each([...said.englishRequests, ...said.chineseRequests])('%s', (text) => {
    expect(requiresPlan(text)).toBe(true);
  });
});

describe('a request not to plan is none', () => {
  it.each([...said.englishRefusals, ...said.chineseRefusals])('%s', (text) => {
    expect(requiresPlan(text)).toBe(false);
  });
});

describe('talk about plans is none', () => {
  it.each([...said.englishTalk, ...said.chineseTalk])('%s', (text) => {
    expect(requiresPlan(text)).toBe(false);
  });
});

describe('a plan that is the product is none', () => {
  it.each([...said.englishProducts, ...said.chineseProducts])('%s', (text) => {
    expect(requiresPlan(text)).toBe(false);
  });
});

describe('only what the person says in their own words counts', () => {
  it.each([
    ['a code block', 'What does this do?\n```md\nMake a plan first.\n```'],
    ['a code block that is not closed', 'Explain:\n```\n先列个计划'],
    ['a code block of tildes', '~~~\nuse plan mode\n~~~\nWhy?'],
    ['inline code', 'Run `make a plan first` for me'],
    ['a cited line', '> make a plan first\n> 先列个计划\n\nWho wrote that?'],
    ['straight quotes', 'The sign says "make a plan first"; who put it there?'],
    ['typographic quotes', 'He wrote “make a plan first” and ‘use plan mode’ on the board'],
    ['Chinese quotes', '墙上写着「先列个计划」和“制定计划再做”'],
    ['an address', 'Read https://example.com/?q=create+a+plan,use-plan-mode'],
    ['an empty text', ''],
  ])('not %s', (_name, text) => {
    expect(requiresPlan(text)).toBe(false);
  });

  it.each([
    ['beside a code block', 'Fix this, but make a plan first.\n```\nlet x = 1\n```'],
    ['behind a cited line', '> old text\n先列个计划'],
    ['with the name of the mode in quotes', 'Use "plan mode". 请用「计划模式」'],
    [
      "with an apostrophe on both sides: don't guess, make a plan first, it's safer",
      "don't guess, make a plan first, it's safer",
    ],
    ['in full-width letters', 'use plan mode'],
    ['over several lines', 'Three vendors.\n\n1. make a plan\n2. compare'],
    ['in capitals', 'CREATE A PLAN FIRST!'],
    ['at the end of a long text', `${'Some background. '.repeat(5_000)}\nPlease make a plan first.`],
    ['at the start of a long text', `先列个计划。${'背景资料。'.repeat(5_000)}`],
  ])('but %s', (_name, text) => {
    expect(requiresPlan(text)).toBe(true);
  });

  it('a refusal in one clause does not cancel a request in the next', () => {
    expect(requiresPlan("Don't just start, make a plan first")).toBe(true);
    expect(requiresPlan('不要急着动手,先列个计划')).toBe(true);
    expect(requiresPlan("Don't start without a plan")).toBe(true);
    expect(requiresPlan('没有计划就不要开始')).toBe(true);
  });
});

describe('a hostile text', () => {
  const pieces = [
    '`',
    '```\n',
    '> \n',
    '"a ',
    "'a ",
    ' ',
    "don't ",
    'make a detailed ',
    'plan ',
    'users can to ',
    '每一步',
    '更新一下',
    '不要你我',
    '没有计划',
  ];

  it.each(pieces)('of a million characters made of %j is read in no time', (piece) => {
    const text = piece.repeat(1_000_000 / piece.length);
    const started = performance.now();
    requiresPlan(text);
    expect(performance.now() - started).toBeLessThan(1_500);
  });
});
