import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../src/logger.js';
import { stopOnSignals } from '../src/shutdown.js';

describe('stopOnSignals', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  function listen(starting: Promise<{ close(): Promise<void> }>) {
    const signals = new EventEmitter();
    const codes: number[] = [];
    const logger = createLogger({ level: 'silent' });
    stopOnSignals({ starting, seconds: 25, logger, signals, exit: (code) => codes.push(code) });
    return { codes, signals };
  }

  it.each(['SIGTERM', 'SIGINT'])('closes and exits with 0 on %s', async (signal) => {
    const close = vi.fn(async () => {});
    const { codes, signals } = listen(Promise.resolve({ close }));
    signals.emit(signal, signal);
    await vi.runAllTimersAsync();
    expect(close).toHaveBeenCalledOnce();
    expect(codes).toEqual([0]);
  });

  it('exits with 1 at once on a second signal', () => {
    const { codes, signals } = listen(Promise.resolve({ close: () => new Promise<void>(() => {}) }));
    signals.emit('SIGTERM', 'SIGTERM');
    expect(codes).toEqual([]);
    signals.emit('SIGINT', 'SIGINT');
    expect(codes).toEqual([1]);
  });

  it('exits with 1 when closing takes longer than allowed', async () => {
    const { codes, signals } = listen(Promise.resolve({ close: () => new Promise<void>(() => {}) }));
    signals.emit('SIGTERM', 'SIGTERM');
    await vi.advanceTimersByTimeAsync(25_000);
    expect(codes).toEqual([]);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(codes).toEqual([1]);
  });

  it('exits with 1 when closing fails', async () => {
    const { codes, signals } = listen(Promise.resolve({ close: () => Promise.reject(new Error('stuck')) }));
    signals.emit('SIGTERM', 'SIGTERM');
    await vi.runAllTimersAsync();
    expect(codes).toEqual([1]);
  });

  it('waits for a start that is under way before it closes', async () => {
    const close = vi.fn(async () => {});
    let started: (running: { close(): Promise<void> }) => void = () => {};
    const starting = new Promise<{ close(): Promise<void> }>((resolve) => {
      started = resolve;
    });
    const { codes, signals } = listen(starting);
    signals.emit('SIGTERM', 'SIGTERM');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(codes).toEqual([]);
    started({ close });
    await vi.runAllTimersAsync();
    expect(close).toHaveBeenCalledOnce();
    expect(codes).toEqual([0]);
  });
});
