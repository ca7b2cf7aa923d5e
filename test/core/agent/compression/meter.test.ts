import { describe, expect, it } from 'vitest';
import { createMeter } from '../../../../src/core/agent/compression/meter.js';
import type { CompressionState } from '../../../../src/core/agent/compression-state.js';
import type { ChatMessage } from '../../../../src/core/llm/model.js';
import { estimateTokens } from '../../../../src/core/llm/tokens.js';
import { assistant, prose, round, system, user } from './fixture.js';

function newState(): CompressionState {
  return { turnAt: 1, historyFrom: 0, summary: null, triedAt: 0, failures: 0, factor: 1 };
}

const chain: readonly ChatMessage[] = [system, user(prose(1_000))];
const plain = { changed: false, comparable: true } as const;

function sizeOf(meter: ReturnType<typeof createMeter>, messages: readonly ChatMessage[]): number {
  return meter.scale(messages).size(messages);
}

describe('the size of a request', () => {
  it('is the estimate of messages and schemas until something was reported', () => {
    const tools = [{ name: 'look', description: prose(100), parameters: {} }];
    const meter = createMeter(newState(), () => tools);
    expect(sizeOf(meter, chain)).toBe(estimateTokens(chain, tools));
  });

  it('is anchored on what was reported: only what came after is estimated', () => {
    const state = newState();
    const meter = createMeter(state, () => []);
    const real = Math.round(estimateTokens(chain) * 1.4);
    meter.sending(chain, plain);
    meter.observe({ inputTokens: real, outputTokens: 60, estimated: false });
    const later = [assistant(prose(50)), user(prose(100))];
    expect(state.factor).toBeCloseTo(1.4);
    const expected = real + 60 + estimateTokens(later.slice(1)) * 1.4;
    expect(Math.abs(sizeOf(meter, [...chain, ...later]) - expected)).toBeLessThan(2);
  });

  it('follows a vendor that counts otherwise within a few per cent over a whole run', () => {
    for (const real of [0.6, 0.85, 1.3, 1.9]) {
      const meter = createMeter(newState(), () => []);
      const messages = [...chain];
      const errors: number[] = [];
      for (let n = 0; n < 12; n += 1) {
        const truth = estimateTokens(messages) * real;
        if (n > 0) errors.push(Math.abs(sizeOf(meter, messages) / truth - 1));
        meter.sending(messages, plain);
        meter.observe({ inputTokens: Math.round(truth), outputTokens: 20, estimated: false });
        messages.push(...round(`c${n}`, prose(300, `r${n}x`)));
      }
      expect({ real, worst: Math.max(...errors) < 0.05 }).toEqual({ real, worst: true });
    }
  });

  it('counts a reply at most twice its length: reasoning was paid for but is not sent back', () => {
    const meter = createMeter(newState(), () => []);
    const before = estimateTokens(chain);
    meter.sending(chain, plain);
    meter.observe({ inputTokens: before, outputTokens: 9_000, estimated: false });
    const reply = assistant(prose(50));
    expect(sizeOf(meter, [...chain, reply])).toBe(before + 2 * estimateTokens([reply]));
  });

  it('does not believe nonsense, estimates, or usage of a request without its tools', () => {
    const nonsense = newState();
    const meter = createMeter(nonsense, () => []);
    meter.sending(chain, plain);
    meter.observe({ inputTokens: 3, outputTokens: 1, estimated: false });
    expect(nonsense.factor).toBe(0.5);
    expect(sizeOf(meter, chain)).toBeGreaterThan(estimateTokens(chain) * 0.49);
    const state = newState();
    const other = createMeter(state, () => []);
    other.sending(chain, plain);
    other.observe({ inputTokens: 5_000, outputTokens: 1, estimated: true });
    other.sending(chain, { changed: false, comparable: false });
    other.observe({ inputTokens: 5_000, outputTokens: 1, estimated: false });
    expect(state.factor).toBe(1);
  });

  it('forgets the anchor once the chain was changed', () => {
    const state = newState();
    const meter = createMeter(state, () => []);
    meter.sending(chain, plain);
    meter.observe({ inputTokens: estimateTokens(chain), outputTokens: 10, estimated: false });
    const shorter = [system, user('short')];
    meter.sending(shorter, { changed: true, comparable: true });
    expect(sizeOf(meter, [...shorter, user('more')])).toBe(estimateTokens([...shorter, user('more')]));
  });

  it('stays below what was refused once', () => {
    const meter = createMeter(newState(), () => []);
    expect(meter.ceiling).toBe(Number.POSITIVE_INFINITY);
    meter.sending(chain, plain);
    meter.refused();
    expect(meter.ceiling).toBeLessThan(estimateTokens(chain));
  });
});
