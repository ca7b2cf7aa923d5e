import { describe, expect, it } from 'vitest';
import { estimateTokens, textTokens } from '../../../src/core/llm/tokens.js';

describe('the token estimate', () => {
  // Real counts: gpt-tokenizer 4, encoding o200k_base, for exactly these texts.
  it.each([
    ['The gateway receives a message, enqueues a job and a worker streams the answer back by editing.', 20],
    ['平台适配器把消息变成任务，工作进程运行共享的循环，答案通过编辑消息流式返回。', 26],
    ['Шлюз получает сообщение и ставит задачу в очередь.', 13],
    ['{"id":17,"name":"item_17","ts":1700000017,"ok":false,"hash":"8f3a21c4"}', 32],
    [
      'export function priceOf(usage: TokenUsage, tiers: readonly PriceTier[]): number {\n  return usage.inputTokens * 2;\n}',
      28,
    ],
  ])('is between 5 %% below and 45 %% above the real count: %s', (text, real) => {
    const ratio = textTokens(text) / real;
    expect(ratio).toBeGreaterThan(0.95);
    expect(ratio).toBeLessThan(1.45);
  });

  it('is 0 for nothing, grows with the text and counts Chinese by character', () => {
    expect(textTokens('')).toBe(0);
    expect(textTokens('a')).toBe(1);
    expect(textTokens('运行中引导')).toBe(5);
    expect(textTokens('word '.repeat(100))).toBeGreaterThan(textTokens('word '.repeat(50)));
  });

  it('counts messages, calls and schemas', () => {
    const messages = [{ role: 'user', content: 'hello' }] as const;
    const tools = [{ name: 'look', description: 'Looks.', parameters: { type: 'object' } }];
    const calls = [
      { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }] },
    ] as const;
    expect(estimateTokens(messages)).toBe(5);
    expect(estimateTokens(messages, tools)).toBeGreaterThan(10);
    expect(estimateTokens(calls)).toBeGreaterThan(8);
  });
});
