import { toError } from '../../core/errors.js';
import type { Logger } from '../../core/ports/logger.js';
import type { Leases } from '../../core/ports/store.js';

export interface LeaseOptions {
  readonly leases: Leases;
  readonly name: string;
  readonly owner: string;
  readonly ttlMs: number;
  /** How often it is renewed by the holder and asked for by the others. */
  readonly renewMs: number;
  readonly logger: Logger;
  /** Told each time somebody else turns out to hold it. */
  readonly onStandby: () => void;
  /** Told each time the store could not say who holds it. */
  readonly onUnknown: (error: unknown) => void;
}

/**
 * Runs `work` whenever this process holds the lease, until `signal` is aborted or `work` returns by itself. Its signal
 * is aborted when the lease may have passed on: somebody else has it, or it could not be renewed for its whole time.
 */
export async function whileHolding(
  options: LeaseOptions,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { leases, name, owner, ttlMs, renewMs, logger } = options;
  while (!signal.aborted) {
    const askedAt = performance.now();
    const held = await leases.acquire(name, owner, ttlMs).catch((error: unknown) => {
      logger.warn({ err: toError(error), lease: name }, 'lease could not be asked for');
      options.onUnknown(error);
      return undefined;
    });
    if (held === true) {
      const term = new AbortController();
      const renewal = renew(options, term, askedAt);
      try {
        await work(AbortSignal.any([signal, term.signal]));
        if (!term.signal.aborted) return;
        logger.warn({ lease: name }, 'lease lost');
      } finally {
        await renewal.stop();
        await leases.release(name, owner).catch(() => {});
      }
    } else if (held === false) {
      options.onStandby();
    }
    await pause(renewMs, signal);
  }
}

/** `stop` waits for a renewal in flight: it must not take the lease again after it was released. */
function renew(options: LeaseOptions, term: AbortController, askedAt: number): { stop(): Promise<void> } {
  const { leases, name, owner, ttlMs, renewMs } = options;
  let validUntil = askedAt + ttlMs;
  let inFlight: Promise<void> | undefined;

  async function once(): Promise<void> {
    const at = performance.now();
    // While the store is not reachable the lease still runs until its time is over.
    const held = await leases.acquire(name, owner, ttlMs).catch(() => undefined);
    if (held === true) validUntil = at + ttlMs;
    if (held === false) term.abort();
  }

  const timer = setInterval(() => {
    if (performance.now() >= validUntil) term.abort();
    inFlight ??= once().finally(() => {
      inFlight = undefined;
    });
  }, renewMs);
  return {
    async stop() {
      clearInterval(timer);
      await inFlight;
    },
  };
}

/** Waits; resolves early when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
