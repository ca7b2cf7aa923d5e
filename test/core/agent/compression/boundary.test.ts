import { describe, expect, it } from 'vitest';
import { tailStart } from '../../../../src/core/agent/compression/boundary.js';
import type { ChatMessage } from '../../../../src/core/llm/model.js';
import { estimateTokens } from '../../../../src/core/llm/tokens.js';
import { assistant, prose, round, user } from './fixture.js';

function turns(count: number, tokens: number): readonly ChatMessage[] {
  return Array.from({ length: count }, (_, n) => [user(`question ${n}`), assistant(prose(tokens))]).flat();
}

const room = Number.POSITIVE_INFINITY;

describe('the kept tail of a history', () => {
  it('is the last two turns when they are more than the least', () => {
    expect(tailStart(turns(6, 500), { keep: 100, room })).toBe(8);
  });

  it('is more turns when two are less', () => {
    expect(tailStart(turns(6, 100), { keep: 350, room })).toBe(4);
  });

  it('is less when there is no room for it, down to nothing', () => {
    const history = turns(6, 500);
    expect(tailStart(history, { keep: 100, room: 600 })).toBe(10);
    expect(tailStart(history, { keep: 100, room: 10 })).toBe(12);
    expect(tailStart(history, { keep: 100, room: -50 })).toBe(12);
  });

  it('is everything when there is little', () => {
    expect(tailStart(turns(2, 500), { keep: 100, room })).toBe(0);
    expect(tailStart([], { keep: 100, room })).toBe(0);
  });

  it('begins at a step of a long turn rather than keeping all of it, and never inside a pair', () => {
    const steps = Array.from({ length: 30 }, (_, n) => round(`c${n}`, prose(100))).flat();
    const history = [...turns(1, 10), user('long'), ...steps, ...turns(1, 10)];
    const start = tailStart([...history, ...turns(1, 10)], { keep: 500, room });
    expect(history[start]?.role).toBe('assistant');
    const kept = estimateTokens([...history, ...turns(1, 10)].slice(start));
    expect(kept).toBeGreaterThanOrEqual(500);
    expect(kept).toBeLessThanOrEqual(1_000);
  });
});
