import { describe, expect, it } from 'vitest';
import { summaryMessage } from '../../../src/core/agent/compression/summary.js';
import { newestGroups } from '../../../src/core/agent/history.js';
import type { ChatMessage } from '../../../src/core/llm/model.js';
import { estimateTokens } from '../../../src/core/llm/tokens.js';
import { call, transcriptFaults } from './scripted-model.js';

const system: ChatMessage = { role: 'system', content: 'be brief' };
const group = (name: string, length = 1): ChatMessage[] => [
  { role: 'user', content: `${name} `.repeat(length) },
  { role: 'assistant', content: `answer to ${name}` },
];
const first = group('first');
const second: ChatMessage[] = [
  { role: 'user', content: 'second' },
  { role: 'assistant', content: '', toolCalls: [call('a'), call('b')] },
  { role: 'tool', toolCallId: 'a', content: 'result of a' },
  { role: 'tool', toolCallId: 'b', content: 'result of b' },
  { role: 'assistant', content: 'answer to second' },
];
const question: ChatMessage = { role: 'user', content: 'question' };

describe('the newest groups', () => {
  const chain = [system, ...first, ...second, question];

  it('are all of them while they fit, to the token', () => {
    const all = estimateTokens(chain);
    expect(newestGroups(chain, all)).toEqual({ messages: chain, leftOut: 0 });
    expect(newestGroups(chain, all - 1)).toEqual({ messages: [system, ...second, question], leftOut: 2 });
  });

  it('keep calls and results together', () => {
    for (let budget = 0; budget <= estimateTokens(chain); budget += 1) {
      const { messages, leftOut } = newestGroups(chain, budget);
      expect(transcriptFaults(messages)).toEqual([]);
      expect(messages.length + leftOut).toBe(chain.length);
      expect(messages[0]).toBe(system);
      expect(messages.at(-1)).toBe(question);
    }
  });

  it('hold the newest even if it alone is too long', () => {
    for (const budget of [0, -100]) {
      expect(newestGroups(chain, budget)).toEqual({ messages: [system, question], leftOut: 7 });
    }
  });

  it('end at the first that does not fit, even if an older one would', () => {
    const long = group('long', 500);
    const chain = [...first, ...long, ...second, question];
    const budget = estimateTokens([...first, ...second, question]) + 100;
    expect(newestGroups(chain, budget)).toEqual({ messages: [...second, question], leftOut: 4 });
  });

  it('begin at a user message: what stands before the first belongs to none', () => {
    const orphans: ChatMessage[] = [
      { role: 'tool', toolCallId: 'x', content: 'r' },
      { role: 'assistant', content: 'a' },
    ];
    expect(newestGroups([system, ...orphans, ...first, question], 10_000)).toEqual({
      messages: [system, ...first, question],
      leftOut: 0,
    });
    expect(newestGroups([system, system, ...orphans], 10_000)).toEqual({ messages: [system, system], leftOut: 0 });
    expect(newestGroups([], 0)).toEqual({ messages: [], leftOut: 0 });
  });

  it('keep the summary of what came before, and only there', () => {
    const summary = summaryMessage({ text: 'they spoke of apples', through: 8 });
    expect(newestGroups([system, summary, ...first, question], 0)).toEqual({
      messages: [system, summary, question],
      leftOut: 2,
    });
    expect(newestGroups([system, ...first, summary, question], 0).messages).toEqual([system, question]);
  });

  it('leave room for the leading system messages', () => {
    const chain = [system, system, ...first, question];
    const budget = estimateTokens([...first, question]);
    expect(newestGroups(chain.slice(2), budget).leftOut).toBe(0);
    expect(newestGroups(chain, budget).leftOut).toBe(2);
  });
});
