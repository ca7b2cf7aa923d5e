import { describe, expect, it } from 'vitest';
import { createEventDecoder, type ServerEvent } from '../../../src/core/llm/event-stream.js';
import { createThinkingSplitter } from '../../../src/core/llm/thinking.js';

function decode(text: string, size = text.length): { events: ServerEvent[]; stray: string } {
  const events: ServerEvent[] = [];
  const decoder = createEventDecoder((event) => events.push(event));
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) decoder.push(bytes.subarray(at, at + size));
  decoder.end();
  return { events, stray: decoder.stray };
}

describe('the event decoder', () => {
  it('gives the same events however the bytes are cut', () => {
    const text =
      ': hello\r\n\r\ndata: {"a":"日本 😀"}\r\n\r\nevent: error\ndata:{"b":2}\n\nid: 3\nretry: 5\ndata: [DONE]\n\n';
    for (const size of [1, 2, 3, 5, 1_000]) {
      expect(decode(text, size)).toEqual({
        events: [
          { name: '', data: { a: '日本 😀' } },
          { name: 'error', data: { b: 2 } },
          { name: '', data: undefined },
        ],
        stray: '',
      });
    }
  });

  it('takes JSON over several data lines, and events without a blank line between them', () => {
    expect(decode('data: {"a":\ndata: 1}\n\n').events).toEqual([{ name: '', data: { a: 1 } }]);
    expect(decode('data: {"a":1}\ndata: {"a":2}\n').events).toHaveLength(2);
  });

  it('takes a last event without a line break and a very large one', () => {
    expect(decode('data: {"a":1}').events).toHaveLength(1);
    const large = 'x'.repeat(3_000_000);
    expect(decode(`data: {"a":"${large}"}\n\n`, 65_536).events).toEqual([{ name: '', data: { a: large } }]);
  });

  it('throws for data that is not JSON and for an endless line', () => {
    expect(() => decode('data: {"half\n\n')).toThrow(SyntaxError);
    expect(() => decode('data: {"half')).toThrow(SyntaxError);
    expect(() => decode('x'.repeat(17 * 1024 * 1024), 1024 * 1024)).toThrow(RangeError);
  });

  it('keeps the beginning of what is no event', () => {
    expect(decode('<html>\n<body>').stray).toBe('<html>\n<body>\n');
  });
});

function split(text: string, size: number): { text: string; reasoning: string } {
  const seen = { text: '', reasoning: '' };
  const splitter = createThinkingSplitter(
    (delta) => {
      seen.text += delta;
    },
    (delta) => {
      seen.reasoning += delta;
    },
  );
  for (let at = 0; at < text.length; at += size) splitter.push(text.slice(at, at + size));
  splitter.end();
  return seen;
}

describe('the thinking splitter', () => {
  it.each([
    ['<think>why</think>because', 'because', 'why'],
    ['\n <think>\nwhy\n</think>\n\nbecause\n\nso', 'because\n\nso', '\nwhy\n'],
    ['<think></think>x', 'x', ''],
    ['<think>a < b </thin c</think>x', 'x', 'a < b </thin c'],
    ['no tag', 'no tag', ''],
    ['<thin air>', '<thin air>', ''],
    ['<thi', '<thi', ''],
    ['<think>never closed', '', 'never closed'],
    ['<think>half</thi', '', 'half</thi'],
    ['text <think>later</think>', 'text <think>later</think>', ''],
    ['<think>a</think><think>b</think>', '<think>b</think>', 'a'],
    ['', '', ''],
  ])('splits %j the same way at every size of piece', (whole, text, reasoning) => {
    for (const size of [1, 2, 3, 4, 7, 100]) expect(split(whole, size)).toEqual({ text, reasoning });
  });
});
