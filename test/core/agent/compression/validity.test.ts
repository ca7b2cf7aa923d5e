import { describe, expect, it } from 'vitest';
import { isValidChain, repairChain } from '../../../../src/core/agent/compression/validity.js';
import type { ChatMessage } from '../../../../src/core/llm/model.js';
import { createRandom } from '../../../fakes/random.js';
import { call, transcriptFaults } from '../scripted-model.js';
import { assistant, round, user } from './fixture.js';
import { randomTurn } from './random-transcript.js';

const result = (toolCallId: string, content = 'fine'): ChatMessage => ({ role: 'tool', toolCallId, content });
const calls = (...ids: readonly string[]): ChatMessage => ({
  ...{ role: 'assistant', content: '', toolCalls: ids.map((id) => call(id)) },
});

describe('a chain', () => {
  it.each<readonly [fault: RegExp, chain: readonly ChatMessage[]]>([
    [/message 1: a result of x, which is not due/, [user('q'), result('x')]],
    [/message 2: no result of b before it/, [calls('a', 'b'), result('a'), user('q')]],
    [/at the end: no result of a/, [user('q'), calls('a')]],
    [/which is not due/, [calls('a', 'b'), result('b'), result('a')]],
    [/which is not due/, [calls('a'), result('a'), result('a')]],
    [/an empty assistant message/, [assistant('')]],
    [/a call without arguments/, [{ ...calls('a'), toolCalls: [call('a', 'look', '')] } as ChatMessage, result('a')]],
    [/two calls with one id/, [calls('a', 'a'), result('a'), result('a')]],
  ])('is refused with the reason %s, and repaired', (fault, chain) => {
    expect(isValidChain(chain)).toMatch(fault);
    expect(isValidChain(repairChain(chain))).toBeUndefined();
    expect(transcriptFaults(repairChain(chain))).toEqual([]);
  });

  it('that is whole stays the same array', () => {
    const chain = [user('q'), ...round('a', 'fine'), assistant('done')];
    expect(isValidChain(chain)).toBeUndefined();
    expect(repairChain(chain)).toBe(chain);
  });

  it('keeps the results it has, in call order, and says of the others that they were interrupted', () => {
    const repaired = repairChain([user('q'), calls('a', 'b', 'c'), result('c', 'third'), result('a', 'first')]);
    expect(repaired.slice(2)).toEqual([
      result('a', 'first'),
      result('b', '[no result: interrupted]'),
      result('c', 'third'),
    ]);
  });

  it('is whole again after any loss and disorder, and loses nothing people wrote', () => {
    for (let seed = 1; seed <= 500; seed += 1) {
      const random = createRandom(seed);
      const { history, turn } = randomTurn(random, 10);
      const damaged = [...history, ...turn].filter(() => random.below(8) > 0);
      for (let n = 0; n < 3; n += 1)
        damaged.splice(random.below(damaged.length), 0, ...damaged.splice(random.below(damaged.length), 1));
      const repaired = repairChain(damaged);
      expect({ seed, faults: transcriptFaults(repaired) }).toEqual({ seed, faults: [] });
      const people = (chain: readonly ChatMessage[]) => chain.filter(({ role }) => role === 'user');
      expect(people(repaired)).toEqual(people(damaged));
    }
  });
});
