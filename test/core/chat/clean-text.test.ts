import { describe, expect, it } from 'vitest';
import { cleanText, isBlank } from '../../../src/core/chat/clean-text.js';
import { SNIPPETS } from '../../fakes/nasty-markdown.js';

describe('cleaning text', () => {
  it('removes controls, bidi overrides and lone surrogates, and keeps pairs, tabs and joiners', () => {
    expect(cleanText(SNIPPETS.control)).toBe('evil a\u200Bb nul bell\nnext\nold iso  lone  x\ny\ttab');
    expect(cleanText('\ufeffa\u009bb')).toBe('ab');
    expect(cleanText('👨‍👩‍👧‍👦🇩🇪')).toBe('👨‍👩‍👧‍👦🇩🇪');
  });

  it('changes nothing the second time', () => {
    for (const snippet of Object.values(SNIPPETS)) expect(cleanText(cleanText(snippet))).toBe(cleanText(snippet));
  });
});

describe('a blank text', () => {
  it.each([
    ['nothing', ''],
    ['spaces and line ends', ' \t\n\u00a0\u3000'],
    ['controls', '\u0000\u0007\u009b'],
    ['joiners and other formats', '\u200b\u200c\u200d\u2060\ufeff\u202e\u{e0041}'],
    ['fillers, variation selectors and the empty braille cell', '\u3164\u115f\uffa0\ufe0f\u034f\u2800'],
  ])('is one of %s', (_, text) => {
    expect(isBlank(text)).toBe(true);
  });

  it.each(['.', '你', '👩\u200d💻', '\u200bx', '\u0301'])('is not one with something to see (%j)', (text) => {
    expect(isBlank(text)).toBe(false);
  });
});
