import { describe, expect, it } from 'vitest';
import { cutMiddle, cutToTokens, splitText } from '../../../../src/core/agent/compression/text-cut.js';
import { textTokens } from '../../../../src/core/llm/tokens.js';
import { createRandom } from '../../../fakes/random.js';

const PIECES = ['word ', '数据', '👍🏽', '🇩🇪', 'Ж', '\n', 'ไทย', '{"a":1}'] as const;

function randomText(seed: number): string {
  const random = createRandom(seed);
  return Array.from({ length: random.below(900) }, () => random.pick(PIECES)).join('');
}

const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

function missing(text: string): number {
  return Number(/\[… (\d+) characters left out …\]/.exec(text)?.[1] ?? 0);
}

function mark(text: string): number {
  return /\n\[… \d+ characters left out …\]\n/.exec(text)?.[0].length ?? 0;
}

describe('a cut', () => {
  it('keeps 70 % at the head and 30 % at the tail and says exactly what is missing', () => {
    const cut = cutMiddle(`${'h'.repeat(10_000)}${'t'.repeat(10_000)}`, 1_040);
    expect(cut).toMatch(/^h+\n\[… 18993 characters left out …\]\nt+$/);
    expect(cut).toHaveLength(1_040);
    expect(cut.match(/h/g)?.length).toBeGreaterThan(2 * (cut.match(/t/g)?.length ?? 0));
  });

  it('fits its limit in any script, halves no character, and tells the truth, also when cut again', () => {
    for (let seed = 1; seed <= 400; seed += 1) {
      const text = randomText(seed);
      let cut = text;
      for (const limit of [700, 300, 150, 90]) {
        cut = cutMiddle(cut, limit);
        expect({ seed, limit, long: cut.length > limit }).toEqual({ seed, limit, long: false });
        expect({ seed, half: HALF.test(cut) }).toEqual({ seed, half: false });
        expect({ seed, limit, whole: cut.length - mark(cut) + missing(cut) }).toEqual({
          seed,
          limit,
          whole: text.length,
        });
        expect(cut.match(/left out/g)?.length ?? 0).toBeLessThanOrEqual(1);
      }
    }
  });

  it('by tokens fits too, and uses most of its room', () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const text = randomText(seed);
      const cut = cutToTokens(text, 200);
      expect({ seed, long: textTokens(cut) > 200 }).toEqual({ seed, long: false });
      if (cut !== text) expect({ seed, wasted: textTokens(cut) < 100 }).toEqual({ seed, wasted: false });
    }
  });

  it('leaves what fits alone', () => {
    expect(cutMiddle('short', 100)).toBe('short');
    expect(cutToTokens('short', 100)).toBe('short');
  });
});

describe('pieces', () => {
  it('make up the text again, fit, and halve no character', () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const text = randomText(seed);
      const pieces = splitText(text, 101);
      expect(pieces.join('')).toBe(text);
      for (const piece of pieces) {
        expect({ seed, fits: piece.length <= 101, half: HALF.test(piece) }).toEqual({ seed, fits: true, half: false });
      }
    }
  });

  it('end at a line when one ends near', () => {
    expect(splitText(`${'a'.repeat(90)}\n${'b'.repeat(50)}`, 100)).toEqual([`${'a'.repeat(90)}\n`, 'b'.repeat(50)]);
  });
});
