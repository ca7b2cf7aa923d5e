import type { Relay as BullRelay } from 'bullmq';
import { toError } from '../core/errors.js';
import type { Logger } from '../core/ports/logger.js';
import type { Relay } from '../core/ports/relay.js';
import { within } from './store/attempts.js';

/** Hints under way at once; more are dropped, because the store does not answer then. */
const MOST_PENDING = 1_000;
/** Words BullMQ accepts as a topic; ours are the text before the first colon of a hint's topic. */
const KIND = /^[\w-]{1,64}$/;
const OTHER_KIND = 'other';
/** A run or a reader does not wait longer for its hints to be set up. */
const SUBSCRIBE_MS = 1_000;

export interface ClosableRelay extends Relay {
  close(): Promise<void>;
}

/**
 * Hints between processes over BullMQ's relay.
 *
 * Topics look like `stop:telegram:…`. The database sees only the part before the first colon: a process subscribes
 * there once for each such kind and sorts the hints out itself, so a conversation or a reader costs no call. Whatever
 * fails here is logged and otherwise ignored: readers of hints look on their own clock too.
 */
export function createRelay(bull: BullRelay, logger: Logger): ClosableRelay {
  const listeners = new Map<string, Set<() => void>>();
  const subscribed = new Map<string, Promise<unknown>>();
  let pending = 0;

  function deliver(topic: unknown): void {
    if (typeof topic !== 'string') return;
    for (const listener of listeners.get(topic) ?? []) listener();
  }

  function subscribeKind(kind: string): Promise<unknown> {
    const existing = subscribed.get(kind);
    if (existing) return existing;
    const subscription = bull.subscribe<unknown>(kind, (message) => deliver(message.data));
    subscribed.set(kind, subscription);
    subscription.catch((thrown) => {
      // The next listener tries again; BullMQ itself restores a subscription that once stood.
      subscribed.delete(kind);
      logger.warn(
        { kind, error: toError(thrown).message },
        'subscribing to hints failed; they come by the clock alone',
      );
    });
    return subscription;
  }

  return {
    async publish(topic) {
      if (pending >= MOST_PENDING) return;
      pending++;
      try {
        await bull.publish(kindOf(topic), topic);
      } catch (thrown) {
        logger.debug({ error: toError(thrown).message }, 'a hint was not sent');
      } finally {
        pending--;
      }
    },
    async subscribe(topic, listener) {
      const own = () => listener();
      const others = listeners.get(topic);
      if (others) others.add(own);
      else listeners.set(topic, new Set([own]));
      await within(subscribeKind(kindOf(topic)), SUBSCRIBE_MS, () => new Error('late')).catch(() => undefined);
      return async () => {
        const left = listeners.get(topic);
        left?.delete(own);
        if (left?.size === 0) listeners.delete(topic);
      };
    },
    close: () => bull.close(),
  };
}

function kindOf(topic: string): string {
  const kind = topic.split(':', 1)[0] ?? '';
  return KIND.test(kind) ? kind : OTHER_KIND;
}
