import { describe, expect, it } from 'vitest';
import type { LoopState } from '../../src/core/agent/run-state.js';
import { createLoopState } from '../../src/core/agent/transcript.js';
import { turnHistory } from '../../src/jobs/turn-history.js';

const calls = (...ids: string[]) => ({
  ...{ role: 'assistant' as const, content: '' },
  toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
});
const result = (toolCallId: string, content = 'seen') => ({ role: 'tool' as const, toolCallId, content });
const historyOf = (...produced: LoopState['produced']) => turnHistory('go', { ...createLoopState([]), produced });

describe('what later turns see of a turn', () => {
  it('has a result for every call, in the order of the calls, also when only a later one has its own', () => {
    const [, , ...results] = historyOf(calls('a', 'b', 'c'), result('b'));
    expect(results.map((m) => [m.role === 'tool' && m.toolCallId, m.content])).toEqual([
      ['a', 'Interrupted before a result arrived.'],
      ['b', 'seen'],
      ['c', 'Interrupted before a result arrived.'],
    ]);
  });

  it('takes no result of an earlier round for a call with the same id', () => {
    const history = historyOf(calls('call_0'), result('call_0'), calls('call_0'));
    expect(history.at(-1)).toEqual(result('call_0', 'Interrupted before a result arrived.'));
  });

  it('never cuts a surrogate pair in half', () => {
    for (const before of ['x', 'xy']) {
      const content = historyOf(calls('a'), result('a', `${before}${'😀'.repeat(2_000)}z`)).at(-1)?.content ?? '';
      expect(content.length).toBeLessThan(1_100);
      expect(encodeURIComponent(content)).toContain('%F0%9F%98%80');
    }
  });
});
