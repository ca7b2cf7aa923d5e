import { toError } from '../core/errors.js';
import type { Logger } from '../core/ports/logger.js';
import { type Records, RUN_RECORDS } from '../core/ports/store.js';
import type { Turn } from './conversation-state.js';

const KEPT_MS = 30 * 24 * 3_600_000;

/** A longer record keeps the beginnings only. */
const MAX_CHARACTERS = 1_000_000;

/**
 * Keeps what an ended run did for thirty days: every step, and the whole tool results people and later turns only see
 * cut. It is an account of what happened, not part of it: when it cannot be written the run stays as it is.
 */
export async function keepRunDetails(
  records: Pick<Records, 'set'>,
  { turn, finish }: { turn: Turn; finish: string },
  logger: Logger,
): Promise<void> {
  const { id, agent, startedAt, starter, record } = turn;
  const details = { v: 1, id, agent, startedAt, person: starter.id, finish, ...record };
  const whole = JSON.stringify({ ...details, messages: turn.state?.loop.produced ?? [] });
  const text = whole.length <= MAX_CHARACTERS ? whole : JSON.stringify(details);
  try {
    await records.set(RUN_RECORDS, id, text, KEPT_MS);
  } catch (thrown) {
    logger.warn({ err: toError(thrown), run: id }, 'the record of a run could not be kept');
  }
}
