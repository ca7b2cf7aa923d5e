import { describe, expect, it } from 'vitest';
import { cleanedContent } from '../../../../src/core/agent/compression/content-cleaning.js';
import { AbortedError } from '../../../../src/core/errors.js';
import { textTokens } from '../../../../src/core/llm/tokens.js';
import { call, type Script, scriptedModel } from '../scripted-model.js';
import { type Bench, type BenchOptions, bench, prose, system, user } from './fixture.js';

const fetch = call('c1', 'web_fetch', '{"url":"https://example.com"}');

/** A run whose newest round waits for the results of these calls. */
function waiting(options: BenchOptions = {}, calls = [fetch]): Bench {
  const made = bench([system], [user('What does the page say about green?')], { contextWindow: 20_000, ...options });
  made.push({ role: 'assistant', content: '', toolCalls: calls });
  return made;
}

function shorten(made: Bench, content: string, signal = new AbortController().signal): Promise<string> {
  return made.compression.hooks.compressToolResponse(fetch, content, made.loop, signal);
}

function summarising(script: Script, options: BenchOptions = {}) {
  const model = Object.assign(scriptedModel(script, [{ input: 1_000_000, output: 0 }]), { contextWindow: 16_000 });
  return { model, made: waiting({ mode: 'hybrid', model, ...options }) };
}

const lines = (count: number) =>
  Array.from({ length: count }, (_, n) => `line ${n}: value ${n * 7} of 2024-05-0${n % 9}`).join('\n');

describe('the result of a tool', () => {
  it('stays as it is within its share of the window and 20,000 characters', async () => {
    const made = waiting({ mode: 'hybrid', model: scriptedModel([]) });
    const content = `${lines(200)}\n\n\n\n\n   trailing   \n`;
    expect(await shorten(made, content)).toBe(content);
    expect(await shorten(made, '')).toBe('');
    expect(made.events).toEqual([]);
  });

  it('is cut to head and tail with the number of missing characters when nothing else helps', async () => {
    const made = waiting();
    const content = lines(2_000);
    const shorter = await shorten(made, content);
    expect(shorter.length).toBeLessThanOrEqual(20_000);
    expect(shorter.startsWith(content.slice(0, 3_000))).toBe(true);
    expect(shorter.endsWith(content.slice(-1_500))).toBe(true);
    const missing = Number(/\[… (\d+) characters left out …\]/.exec(shorter)?.[1]);
    const mark = /\n\[….*?\]\n/.exec(shorter)?.[0].length ?? 0;
    expect(shorter.length - mark + missing).toBe(content.length);
    expect(made.told()).toEqual(['results']);
  });

  it('gets half the window at most, and an equal part of what is left with the calls beside it', async () => {
    const content = prose(9_000);
    const alone = textTokens(await shorten(waiting({ contextWindow: 12_000, maxOutputTokens: 1_000 }), content));
    expect(alone).toBeGreaterThan(4_500);
    expect(alone).toBeLessThanOrEqual(6_000);
    const three = [fetch, call('c2'), call('c3')];
    const shared = textTokens(
      await shorten(waiting({ contextWindow: 12_000, maxOutputTokens: 1_000 }, three), content),
    );
    expect(shared).toBeGreaterThan(2_500);
    expect(shared).toBeLessThanOrEqual(3_500);
  });

  it('keeps a little even when the chain is full, and nothing of it halves a character', async () => {
    const made = bench([system, user(prose(4_000))], [user('And the other page?')]);
    made.push({ role: 'assistant', content: '', toolCalls: [fetch] });
    const shorter = await shorten(made, '👍🏽数据'.repeat(2_000));
    expect(textTokens(shorter)).toBeGreaterThan(100);
    expect(textTokens(shorter)).toBeLessThanOrEqual(200);
    expect(shorter).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/);
  });

  it('is cleaned by rules before anything of it is lost', async () => {
    const { made, model } = summarising([]);
    const content = `${lines(300)}\n![A green door](https://example.com/door.png)\n${' \n'.repeat(9_000)}the end 12345678901234567890`;
    const shorter = await shorten(made, content);
    expect(shorter).toContain(lines(300));
    expect(shorter).toContain('[image: A green door]');
    expect(shorter).toMatch(/the end 12345678901234567890$/);
    expect(model.requests).toEqual([]);
  });

  it('is summarised part by part when a model is there, asked with the question and the call, and priced', async () => {
    const { made, model } = summarising(({ messages }) => ({
      text: `Summary of ${/line \d+/.exec(messages.at(-1)?.content ?? '')?.[0]}.`,
      inputTokens: 5,
    }));
    const shorter = await shorten(made, lines(4_000));
    expect(model.requests.length).toBeGreaterThan(2);
    const [first] = model.requests;
    const text = first?.messages.map(({ content }) => content).join('\n');
    expect(text).toContain('Question: What does the page say about green?');
    expect(text).toContain('Tool: web_fetch {"url":"https://example.com"}');
    expect(first?.tools).toBeUndefined();
    expect(shorter).toMatch(
      /^\[A summary of the result; the whole has \d+ characters\.\]\n\nSummary of line 0\.\n\nSummary of line \d+\./,
    );
    const priced = made.events.filter(({ type }) => type === 'request.finished');
    expect(priced).toHaveLength(model.requests.length);
    expect(priced[0]).toMatchObject({ source: 'compression', callId: 'c1', cost: 5, model: 'scripted' });
  });

  it('falls back to head and tail for the parts no model could shorten', async () => {
    const failing = summarising(() => ({ fail: new Error('down') }));
    expect(await shorten(failing.made, lines(2_000))).toBe(await shorten(waiting(), lines(2_000)));
    const one = summarising((_, index) => (index === 0 ? { text: '' } : { text: 'Short.' }));
    const shorter = await shorten(one.made, lines(2_000));
    expect(shorter).toContain('line 0: value 0');
    expect(shorter).toMatch(/\[… \d+ characters left out …\].*\n\nShort\.$/s);
  });

  it('of several megabytes costs a bounded number of requests and little time', async () => {
    const { made, model } = summarising(() => ({ text: 'Short.' }));
    const began = performance.now();
    const shorter = await shorten(
      made,
      `${lines(40)}${'![a](![['.repeat(100_000)}${'    x'.repeat(400_000)}${lines(40)}`,
    );
    expect(shorter.length).toBeLessThanOrEqual(20_000);
    expect(model.requests.length).toBeLessThanOrEqual(6);
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  it('is still made shorter when compressHistory is off', async () => {
    const made = waiting({ compressHistory: false });
    expect((await shorten(made, lines(2_000))).length).toBeLessThanOrEqual(20_000);
  });

  it('is left alone by an abort, which passes through', async () => {
    const stop = new AbortController();
    const { made } = summarising(() => ({ text: 'Short.', meanwhile: () => stop.abort() }));
    await expect(shorten(made, lines(2_000), stop.signal)).rejects.toBeInstanceOf(AbortedError);
    await expect(shorten(made, 'short', stop.signal)).rejects.toBeInstanceOf(AbortedError);
  });
});

describe('cleaning', () => {
  it('takes the blanks out of JSON and changes no text or number in it', () => {
    const json =
      '{\n  "id": 12345678901234567890,\n  "rate": 1.0,\n  "text": "two  blanks \\" and: a quote",\n  "list": [1, 2]\n}\n';
    expect(cleanedContent(json)).toBe(
      '{"id":12345678901234567890,"rate":1.0,"text":"two  blanks \\" and: a quote","list":[1,2]}',
    );
  });

  it('replaces embedded data, not hex, paths or long words', () => {
    const data = Buffer.from(Array.from({ length: 400 }, (_, at) => (at * 7_919 + (at >> 3) * 31) & 255)).toString(
      'base64',
    );
    const hex = Buffer.from(data).toString('hex');
    const path = '/usr/share/some-long-path/'.repeat(12);
    expect(cleanedContent(`see ${data} and data:image/png;base64,${data} but ${hex} ${path}`)).toBe(
      `see [embedded data, ${data.length} characters] and [embedded data, ${data.length + 22} characters] but ${hex} ${path.trim()}`,
    );
  });

  it('counts equal lines in a row', () => {
    expect(cleanedContent('start\nretry\nretry\nretry\nend')).toBe(
      'start\nretry\n[the line above stands 3 times]\nend',
    );
  });
});
