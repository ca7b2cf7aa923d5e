import { describe, expect, it } from 'vitest';
import { mergeSteering, STEERING_PREFIX } from '../../../src/core/agent/steering.js';

const text = (n: number, length = 10) => ({ author: `P${n}`, text: `${n}`.padEnd(length, 'x') });

describe('mergeSteering', () => {
  it('gives nothing when nothing waits', () => {
    expect(mergeSteering([], false)).toBeUndefined();
  });

  it('merges texts in order behind the fixed prefix', () => {
    const merged = mergeSteering(
      [
        { author: 'A', text: 'one' },
        { author: 'B', text: 'two' },
      ],
      false,
    );
    expect(merged).toEqual({ message: `${STEERING_PREFIX}\none\ntwo`, count: 2 });
  });

  it('names the authors when several people write', () => {
    expect(
      mergeSteering(
        [
          { author: 'A', text: 'one' },
          { author: 'B', text: 'two' },
        ],
        true,
      )?.message,
    ).toContain('B: two');
  });

  it('leaves texts above twenty for the next round', () => {
    expect(
      mergeSteering(
        Array.from({ length: 25 }, (_, i) => text(i)),
        false,
      )?.count,
    ).toBe(20);
  });

  it('leaves texts above 8,000 characters for the next round', () => {
    expect(mergeSteering([text(1, 5_000), text(2, 2_900), text(3, 200)], false)?.count).toBe(2);
  });

  it('takes a single text of any length, so that it never blocks the queue', () => {
    expect(mergeSteering([text(1, 90_000), text(2)], false)?.count).toBe(1);
  });
});
