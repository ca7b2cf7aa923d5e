import type { ConversationKey } from '../core/chat/message.js';
import { toError } from '../core/errors.js';
import type { Logger } from '../core/ports/logger.js';
import type { RunConsumer, RunQueue } from './queues.js';
import { within } from './store/attempts.js';

export interface RunWorkerOptions {
  /** Conversations worked on at the same time. */
  readonly concurrency: number;
  /**
   * Handles a conversation until it is settled. The signal is aborted with the reason `lock lost` when another worker
   * may have taken it over, `shutdown` when this process must end. What it throws is logged; the sweeper starts it anew.
   */
  readonly process: (key: ConversationKey, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
}

export interface RunWorker {
  /** Conversations being worked on now. */
  readonly active: () => number;
  /**
   * Takes no more jobs and waits for the running ones; after `deadlineMs` their signals are aborted and their
   * conversations added again for another worker, and two seconds later it gives up on the rest.
   */
  close(deadlineMs: number): Promise<void>;
}

interface ActiveRun {
  readonly jobId: string;
  readonly key: ConversationKey;
  readonly abort: AbortController;
}

/** How long an aborted run may take to put its things in order. */
const ABORTED_MS = 2_000;

/** Starts working on conversations that were woken up. */
export async function startRunWorker(queue: RunQueue, options: RunWorkerOptions): Promise<RunWorker> {
  const { concurrency, logger } = options;
  const runs = new Set<ActiveRun>();
  let pastDeadline = false;

  function lockLost(jobIds: readonly string[]): void {
    for (const run of runs) {
      if (!jobIds.includes(run.jobId) || run.abort.signal.aborted) continue;
      logger.warn({ conversation: run.key }, 'the lock of a run is lost; another worker may have it');
      run.abort.abort('lock lost');
    }
  }

  async function handle(jobId: string, key: ConversationKey): Promise<void> {
    if (pastDeadline) {
      // Fetched just before the end: stored again as the follow-up of this job, for a worker that stays.
      await queue.addRun(key);
      return;
    }
    // The same job again means that the lock of its earlier start was lost while this process did not get to run.
    lockLost([jobId]);
    const run: ActiveRun = { jobId, key, abort: new AbortController() };
    runs.add(run);
    try {
      await options.process(key, run.abort.signal);
    } catch (thrown) {
      const error = toError(thrown);
      logger.error({ conversation: key, error: error.message, stack: error.stack }, 'a run failed; it is started anew');
    } finally {
      runs.delete(run);
    }
  }

  const consumer = await queue.consume({ concurrency, handle, lockLost, logger });
  let closing: Promise<void> | undefined;

  async function end(deadlineMs: number): Promise<void> {
    const ended = endConsumer(consumer, logger);
    if (await endsWithin(ended, deadlineMs)) return;
    pastDeadline = true;
    const left = [...runs];
    // Stored as the follow-up of the running job, so another worker has it the moment this one lets go.
    await endsWithin(Promise.allSettled(left.map(({ key }) => queue.addRun(key))), ABORTED_MS);
    for (const { abort } of left) abort.abort('shutdown');
    if (await endsWithin(ended, ABORTED_MS)) return;
    logger.warn(
      { runs: runs.size },
      'runs did not end in time; another worker takes them over when their locks run out',
    );
    await endsWithin(consumer.disconnect(), ABORTED_MS);
  }

  return {
    active: () => runs.size,
    close(deadlineMs) {
      closing ??= end(deadlineMs);
      return closing;
    },
  };
}

async function endConsumer(consumer: RunConsumer, logger: Logger): Promise<void> {
  try {
    await consumer.close();
  } catch (thrown) {
    logger.warn({ error: toError(thrown).message }, 'the run worker did not close cleanly');
  }
}

/** True when `work` ends, well or not, within the time. */
function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const ended = work.then(
    () => true,
    () => true,
  );
  return within(ended, ms, () => new Error('late')).catch(() => false);
}
