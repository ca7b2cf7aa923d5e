import type { ChatMessage, ToolCall } from '../../../../src/core/llm/model.js';
import type { Random } from '../../../fakes/random.js';

const WORDS = [
  'alpha',
  'beta',
  '数据',
  '工作进程',
  'Привет',
  '👍🏽',
  '{"id": 17}',
  'https://example.com/a?b=1',
  '\n\n',
  '  ',
] as const;
const TOOLS = ['web_fetch', 'look', 'ask_agent', 'update_plan'] as const;

export interface RandomTurn {
  /** Earlier turns, whole. */
  readonly history: readonly ChatMessage[];
  /** The current user message and what followed; ends where the next request is due. */
  readonly turn: readonly ChatMessage[];
}

/** Turns with several calls in a round, steering in the middle, empty texts, and texts in any script. */
export function randomTurn(random: Random, size: number): RandomTurn {
  let ids = 0;
  const text = (words: number) => Array.from({ length: random.below(words) }, () => random.pick(WORDS)).join(' ');
  const calls = (): readonly ToolCall[] =>
    Array.from({ length: 1 + random.below(3) }, () => {
      ids += 1;
      return { id: `c${ids}`, name: random.pick(TOOLS), arguments: JSON.stringify({ query: text(20) }) };
    });
  const step = (): readonly ChatMessage[] => {
    const made = calls();
    const results = made.map(
      ({ id }): ChatMessage => ({ role: 'tool', toolCallId: id, content: text(size) || 'none' }),
    );
    const steer: readonly ChatMessage[] = random.below(5) === 0 ? [{ role: 'user', content: `steer ${text(20)}` }] : [];
    return [
      { role: 'assistant', content: random.below(2) === 0 ? text(30) : '', toolCalls: made },
      ...results,
      ...steer,
    ];
  };
  const steps = (most: number) => Array.from({ length: random.below(most) }, step).flat();
  const question = (): ChatMessage => ({ role: 'user', content: `question ${text(60)}` });
  const answer = (): ChatMessage => ({ role: 'assistant', content: `answer ${text(size)}` });
  const history = Array.from({ length: random.below(8) }, () => [question(), ...steps(4), answer()]).flat();
  return { history, turn: [question(), ...steps(6)] };
}
