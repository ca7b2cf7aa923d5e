import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCallClock } from '../../../../src/core/tools/mcp/call-clock.js';
import { createCircuit } from '../../../../src/core/tools/mcp/circuit.js';
import { resultText } from '../../../../src/core/tools/mcp/result-text.js';

describe('the clock of a call', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => vi.useRealTimers());

  function clockOf(silenceMs: number, totalMs: number) {
    const onExpire = vi.fn();
    return { clock: createCallClock(silenceMs, totalMs, onExpire), onExpire };
  }

  it('ends after silence', () => {
    const { clock, onExpire } = clockOf(100, 1_000);
    vi.advanceTimersByTime(99);
    clock.touch();
    vi.advanceTimersByTime(99);
    expect(onExpire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onExpire).toHaveBeenCalledOnce();
    expect(clock.expired).toBe('silent');
  });

  it('ends after the time in all, signs of life or not', () => {
    const { clock, onExpire } = clockOf(100, 250);
    for (let passed = 0; passed < 250; passed += 50) {
      clock.touch();
      vi.advanceTimersByTime(50);
    }
    expect(onExpire).toHaveBeenCalledOnce();
    expect(clock.expired).toBe('total');
  });

  it('stands still while a person is asked, also twice at once', () => {
    const { clock, onExpire } = clockOf(100, 150);
    vi.advanceTimersByTime(90);
    const first = clock.pause();
    const second = clock.pause();
    vi.advanceTimersByTime(10_000);
    first();
    first();
    clock.touch();
    vi.advanceTimersByTime(10_000);
    expect(onExpire).not.toHaveBeenCalled();
    second();
    vi.advanceTimersByTime(59);
    expect(onExpire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(clock.expired).toBe('total');
  });

  it('says nothing after it was stopped', () => {
    const { clock, onExpire } = clockOf(100, 200);
    const goOn = clock.pause();
    clock.stop();
    goOn();
    clock.touch();
    vi.advanceTimersByTime(1_000);
    expect(onExpire).not.toHaveBeenCalled();
  });
});

describe('the circuit of a server', () => {
  it('waits 1, 2, 4 and 8 s after failures in a row, then opens for a minute at a time', () => {
    let now = 0;
    const circuit = createCircuit(() => now);
    const waits = Array.from({ length: 7 }, () => {
      circuit.failed();
      const wait = circuit.waitMs();
      now += wait;
      return [wait, circuit.open];
    });
    expect(waits).toEqual([
      [1_000, false],
      [2_000, false],
      [4_000, false],
      [8_000, false],
      [60_000, true],
      [60_000, true],
      [60_000, true],
    ]);
    circuit.worked();
    expect([circuit.open, circuit.failures, circuit.waitMs()]).toEqual([false, 0, 0]);
  });
});

describe('the text of a result', () => {
  it('is never empty', () => {
    expect(resultText({ content: [] })).toBe('The tool returned nothing.');
    expect(resultText({ content: [{ type: 'text', text: ' \u0000' }] })).toBe('The tool returned nothing.');
  });

  it('prefers text to structured content', () => {
    const text = { type: 'text', text: 'sunny' } as const;
    expect(resultText({ content: [text], structuredContent: { weather: 'sunny' } })).toBe('sunny');
    expect(resultText({ content: [], structuredContent: [1] })).toBe('[1]');
  });

  it('is well-formed, without control characters', () => {
    expect(resultText({ content: [{ type: 'text', text: 'a\u0000\ud800\tb\r\n\u001b]0;title\u0007c' }] })).toBe(
      'a\ufffd\tb\r\nc',
    );
  });

  it('is cut above a million characters, with a line that says so', () => {
    const text = resultText({ content: [{ type: 'text', text: 'x'.repeat(1_200_000) }] });
    expect(text.length).toBeLessThan(1_000_100);
    expect(text).toMatch(/…\n\[cut: the result had 1200000 characters\]$/);
  });
});

it('the SDK is loaded when a server is first used: no file imports more than its types', () => {
  const folder = new URL('../../../../src/core/tools/mcp/', import.meta.url);
  const text = readdirSync(folder)
    .map((file) => readFileSync(new URL(file, folder), 'utf8'))
    .join('\n');
  const imports = text.match(/^import [^;]*? from '@modelcontextprotocol\/[^;]*;/gm) ?? [];
  expect(imports.length).toBeGreaterThan(2);
  expect(imports.filter((statement) => !statement.startsWith('import type '))).toEqual([]);
});
