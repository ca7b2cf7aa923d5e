import type { Inbox } from '../core/chat/adapter.js';
import type { ConversationKey, InboxItem } from '../core/chat/message.js';
import { toError } from '../core/errors.js';
import type { Logger } from '../core/ports/logger.js';
import type { Metrics } from '../core/ports/metrics.js';
import type { Relay } from '../core/ports/relay.js';
import type { ConversationStore } from '../core/ports/store.js';
import { within } from './store/attempts.js';

export interface InboxOptions {
  readonly conversations: Pick<ConversationStore, 'accept'>;
  readonly addRun: (key: ConversationKey) => Promise<void>;
  readonly relay: Pick<Relay, 'publish'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A platform is not kept waiting longer for the wake-up of something that is already stored. */
const ADD_LIMIT_MS = 2_000;

/**
 * The durable entrance (design 3.2): store first, then wake the conversation up, also for a duplicate, because the
 * process that stored it may have died before its own wake-up. An item is accepted once it is stored: a wake-up that
 * fails is logged and left to the sweeper. A stop also goes out as the hint `stop:<key>`.
 *
 * Rejects with the store's error, and only when nothing was stored.
 */
export function createInbox({ conversations, addRun, relay, logger, metrics }: InboxOptions): Inbox {
  async function wakeUp(key: ConversationKey): Promise<void> {
    try {
      await within(addRun(key), ADD_LIMIT_MS, () => new Error(`no answer within ${ADD_LIMIT_MS} ms`));
    } catch (thrown) {
      metrics.count('inbox_wake_up_failures');
      logger.warn(
        { conversation: key, error: toError(thrown).message },
        'accepted, but not woken up; the sweeper will',
      );
    }
  }

  return {
    async accept(key, item) {
      const accepted = await conversations.accept(key, item);
      metrics.count('inbox_items', { kind: item.kind, result: accepted.result });
      if (accepted.result !== 'accepted' && accepted.result !== 'duplicate') return accepted;
      // Not awaited: the flag in the store is what counts.
      if (isStop(item)) void relay.publish(`stop:${key}`);
      await wakeUp(key);
      return accepted;
    },
  };
}

function isStop(item: InboxItem): boolean {
  return item.kind === 'control' && item.control === 'stop';
}
