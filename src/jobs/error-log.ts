import { toError } from '../core/errors.js';
import type { Logger } from '../core/ports/logger.js';

/** How long the same message is not repeated. */
const QUIET_MS = 10_000;
/** Different messages remembered; beyond it the memory starts over. */
const MOST_MESSAGES = 100;

/**
 * A listener for `error` events of queue clients. While a store is away they fail several times a second with the same
 * text; each text is logged once in ten seconds, with the number of times it came meanwhile.
 */
export function createErrorLog(logger: Logger, message: string): (thrown: unknown) => void {
  const known = new Map<string, { loggedAt: number; repeats: number }>();
  return (thrown) => {
    const error = toError(thrown);
    const now = performance.now();
    const earlier = known.get(error.message);
    if (earlier && now - earlier.loggedAt < QUIET_MS) {
      earlier.repeats++;
      return;
    }
    if (known.size >= MOST_MESSAGES) known.clear();
    known.set(error.message, { loggedAt: now, repeats: 0 });
    logger.warn({ error: error.message, ...(earlier?.repeats && { repeats: earlier.repeats }) }, message);
  };
}
