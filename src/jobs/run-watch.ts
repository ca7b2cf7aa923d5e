import { SupersededError, toError } from '../core/errors.js';
import type { Logger } from '../core/ports/logger.js';
import type { Relay } from '../core/ports/relay.js';
import type { Reading } from '../core/ports/store.js';
import { answerControl, type ControlOptions, isAside } from './controls.js';
import type { Turn } from './conversation-state.js';
import type { Desk } from './desk.js';
import type { Questions } from './questions.js';
import { viewInbox } from './session.js';

export interface RunWatchOptions {
  readonly desk: Desk;
  readonly turn: Turn;
  readonly relay: Relay;
  readonly controls: Omit<ControlOptions, 'reading'>;
  readonly questions: Questions;
  readonly logger: Logger;
  readonly steering: 'steer' | 'queue';
  /** Ends the run: a stop was accepted, or a newer worker took over. */
  readonly end: (reason: Error | 'stop') => void;
}

const LOOK_EVERY_MS = 1_000;

/** A run that has lived so long does not kill its worker: a commit says so, and the poison count begins anew. */
const ALIVE_AFTER_MS = 8_000;

/**
 * Looks at the inbox once a second while a run is active, and at once when a stop is hinted (design 3.6): a stop or a
 * take-over ends the run also while the model is silent; `/status` and `/help` are answered without waiting for it.
 * Also keeps the platform's "typing" alive.
 */
export async function watchRun(options: RunWatchOptions): Promise<{ close(): Promise<void> }> {
  const { desk, turn, logger } = options;
  const marked = new Set<string>();
  let looking: Promise<void> | undefined;
  let closed = false;

  const look = (): void => {
    if (closed || looking) return;
    looking = guarded(lookOnce).finally(() => {
      looking = undefined;
    });
  };

  async function guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      const error = toError(thrown);
      if (error instanceof SupersededError) options.end(error);
      else logger.warn({ err: error }, 'could not look at the inbox; trying again');
    }
  }

  async function lookOnce(): Promise<void> {
    const reading = await desk.read();
    if (reading.stop > 0) {
      options.end('stop');
      return;
    }
    if (await options.questions.look(reading)) return;
    markQueued(reading);
    for (const item of reading.items.filter(isAside)) await answerControl(desk, item, { ...options.controls, reading });
    if (reading.items.some(isAside)) await desk.deliverOutbox(await desk.read());
  }

  /** Texts that wait for the end of the run are acknowledged as queued, once. */
  function markQueued(reading: Reading): void {
    for (const text of viewInbox(reading.items).texts) {
      if (!(text.queue || options.steering === 'queue') || marked.has(text.messageId)) continue;
      marked.add(text.messageId);
      desk.adapter
        .react?.(text.place, text.messageId, 'queued')
        .catch((error: unknown) => logger.debug({ err: error }, 'acknowledgement not shown'));
    }
  }

  const showTyping = (): void => {
    desk.adapter.status?.(turn.place).catch((error: unknown) => logger.debug({ err: error }, 'typing not shown'));
  };

  const unsubscribe = await options.relay.subscribe(`stop:${desk.session.key}`, look);
  const looks = setInterval(look, LOOK_EVERY_MS);
  const alive = setTimeout(() => {
    void guarded(async () => {
      await desk.commit((state) => state);
    });
  }, ALIVE_AFTER_MS);
  const typing = setInterval(showTyping, desk.adapter.statusEveryMs ?? 5_000);
  showTyping();
  return {
    async close() {
      closed = true;
      clearInterval(looks);
      clearTimeout(alive);
      clearInterval(typing);
      await unsubscribe();
      await looking;
    },
  };
}
