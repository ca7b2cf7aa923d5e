import { toError } from '../../core/errors.js';
import type { Logger } from '../../core/ports/logger.js';

const EVERY_MS = 60_000;

/** How long things are kept that nobody reads any more, ms. */
export const RETENTION_MS = {
  /** De-duplication keys; no platform repeats an event after a day. */
  seen: 24 * 3_600_000,
  /** Closed choices, so that late presses are told "already answered". */
  choices: 24 * 3_600_000,
  /** Usage entries: a year can be compared with the one before it. */
  usage: 400 * 24 * 3_600_000,
} as const;

/** Runs `clean` at most once a minute. A failure is logged and never reaches the caller: the next minute repeats it. */
export function onceAMinute(clean: () => Promise<unknown>, logger: Logger): () => Promise<void> {
  let last = -EVERY_MS;
  return async () => {
    if (performance.now() - last < EVERY_MS) return;
    last = performance.now();
    try {
      await clean();
    } catch (thrown) {
      logger.warn({ error: toError(thrown).message }, 'removing expired rows failed; it is tried again in a minute');
    }
  };
}
