import { setTimeout as sleep } from 'node:timers/promises';
import { type StoreError, toError } from '../../core/errors.js';

const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 500;
const LONGEST_PING_MS = 2_000;
/** Part of the whole time one attempt may take, so that a half-open connection leaves time for a fresh one. */
const ATTEMPT_SHARE = 0.4;

/** How long one try may stay without an answer, ms, when a call may take `timeoutMs` in all. */
export function attemptMs(timeoutMs: number): number {
  return Math.ceil(timeoutMs * ATTEMPT_SHARE);
}

/** How long a ping may take, ms: a readiness check cannot wait as long as a call. */
export function pingMs(timeoutMs: number): number {
  return Math.min(timeoutMs, LONGEST_PING_MS);
}

export interface Attempts<T> {
  /** A call gives up after this many milliseconds. */
  readonly timeoutMs: number;
  /** One try; gets the milliseconds that are left. Must be harmless when repeated after its answer was lost. */
  attempt(leftMs: number): Promise<T>;
  /** True when a later try may pass. */
  transient(error: Error): boolean;
  /** Wraps the error that ends the call. */
  failed(error: Error): StoreError;
}

/** Repeats a store call over a lost connection, with growing pauses, until it passes or its time is up. */
export async function attemptUntil<T>(options: Attempts<T>): Promise<T> {
  const deadline = performance.now() + options.timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await options.attempt(deadline - performance.now());
    } catch (thrown) {
      const error = toError(thrown);
      if (!options.transient(error) || performance.now() + pause >= deadline) throw options.failed(error);
      await sleep(pause);
    }
  }
}

/** Rejects with `late()` when `work` takes longer than `ms`; `work` itself is not cancelled. */
export async function within<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(0, ms));
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
