import { describe, expect, it } from 'vitest';
import { estimateTokens, messageTokens, textTokens } from '../../../src/core/llm/tokens.js';
import { createRandom } from '../../fakes/random.js';

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

  it('counts base64 as what it is, but not paths, hex or long names', () => {
    // o200k: 4,101 and 4,055 tokens for 6,000 characters of random base64, 3,408 for as much hex.
    const bytes = createRandom(1);
    const data = Buffer.from(Array.from({ length: 4_500 }, () => bytes.below(256)));
    for (const encoding of ['base64', 'base64url'] as const) {
      const ratio = textTokens(data.toString(encoding).slice(0, 6_000)) / 4_080;
      expect({ encoding, close: ratio > 0.95 && ratio < 1.1 }).toEqual({ encoding, close: true });
    }
    const hex = textTokens(data.toString('hex').slice(0, 6_000)) / 3_408;
    expect(hex).toBeGreaterThan(0.9);
    expect(hex).toBeLessThan(1.1);
    expect(textTokens('/usr/share/some-long-path/with-many-words'.repeat(3))).toBeLessThan(60);
  });

  it('takes the same time for a character of a long run as for one of prose', () => {
    const time = (text: string) => {
      const began = performance.now();
      textTokens(text);
      return performance.now() - began;
    };
    const path = 'some-long-path/'.repeat(60_000);
    time(path);
    expect(time(path)).toBeLessThan(2_000);
  });

  it('counts a message once, and again after its text was replaced', () => {
    const message = { role: 'user' as const, content: 'hello' };
    expect(messageTokens(message)).toBe(5);
    message.content = 'hello hello hello';
    expect(messageTokens(message)).toBe(7);
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
