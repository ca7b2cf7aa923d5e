import type { EventEmitter } from 'node:events';
import { toError } from './core/errors.js';
import type { Logger } from './core/ports/logger.js';

export interface ShutdownOptions {
  /** What is being started; a signal that comes too early waits for it. */
  readonly starting: Promise<{ close(): Promise<void> }>;
  /** Longest time an orderly stop may take, in seconds. */
  readonly seconds: number;
  readonly logger: Logger;
  /** The process, for its signals. */
  readonly signals: Pick<EventEmitter, 'on'>;
  readonly exit: (code: number) => void;
}

/** Beyond the deadline, so that a stop in time is never cut off by a few milliseconds. */
const GRACE_MS = 3_000;

/**
 * SIGTERM and SIGINT stop in order and exit with 0; when that fails or takes longer than `seconds`, with 1. A second
 * signal exits with 1 at once: whoever sends it no longer wants to wait, and nothing is lost by a kill.
 */
export function stopOnSignals({ starting, seconds, logger, signals, exit }: ShutdownOptions): void {
  let stopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) return exit(1);
    stopping = true;
    logger.info({ signal }, 'stopping; a second signal ends the process at once');
    const deadline = setTimeout(
      () => {
        logger.error({ seconds }, 'could not stop in time');
        exit(1);
      },
      seconds * 1_000 + GRACE_MS,
    );
    try {
      await (await starting).close();
      exit(0);
    } catch (thrown) {
      logger.error({ error: toError(thrown) }, 'could not stop in order');
      exit(1);
    } finally {
      clearTimeout(deadline);
    }
  };
  signals.on('SIGTERM', stop);
  signals.on('SIGINT', stop);
}
