import { setTimeout as sleep } from 'node:timers/promises';
import type { ConversationKey } from '../core/chat/message.js';
import { toError } from '../core/errors.js';
import type { Logger } from '../core/ports/logger.js';
import type { Store } from '../core/ports/store.js';

export interface SweeperOptions {
  readonly store: { readonly conversations: Pick<Store['conversations'], 'sweep'>; readonly leases: Store['leases'] };
  readonly addRun: (key: ConversationKey) => Promise<void>;
  /** Names this process; one sweeper works at a time. */
  readonly owner: string;
  readonly logger: Logger;
  /** A dirty conversation that was silent for so long is woken up, ms. */
  readonly graceMs?: number | undefined;
  /** How often it looks; also the accuracy of wake-up times, ms. */
  readonly intervalMs?: number | undefined;
}

export interface Sweeper {
  close(): Promise<void>;
}

const DEFAULTS = { graceMs: 5_000, intervalMs: 1_000 } as const;
const LEASE = 'sweeper';
/** Looks that may fail before another process takes the lease over. */
const LEASE_LOOKS = 4;
/** A conversation may rightly stay silent, e.g. during a long model request; then it is woken up less and less often. */
const LONGEST_PAUSE_MS = 30_000;
const AT_ONCE = 16;

/**
 * Wakes up conversations with a due `wakeAt`, and those that have been dirty and silent: their wake-up was lost, or
 * their worker died. Part of the correctness argument (design 3.8). Waking up one that is being worked on is harmless.
 *
 * The first look takes everything dirty at once and asks for no lease, which the killed predecessor of a process that
 * was started again would still hold.
 */
export function startSweeper(options: SweeperOptions): Sweeper {
  const { store, addRun, owner, logger } = options;
  const graceMs = options.graceMs ?? DEFAULTS.graceMs;
  const intervalMs = options.intervalMs ?? DEFAULTS.intervalMs;
  const pauses = createPauses(2 * intervalMs);
  const stop = new AbortController();

  async function wakeUp(key: ConversationKey): Promise<void> {
    try {
      await addRun(key);
    } catch (thrown) {
      logger.warn(
        { conversation: key, error: toError(thrown).message },
        'the sweeper could not wake a conversation up',
      );
    }
  }

  async function look(graceNow: number): Promise<void> {
    const due = pauses.due(await store.conversations.sweep(graceNow));
    if (due.length > 0) logger.debug({ conversations: due.length }, 'waking up due or silent conversations');
    for (let i = 0; i < due.length && !stop.signal.aborted; i += AT_ONCE) {
      await Promise.all(due.slice(i, i + AT_ONCE).map(wakeUp));
    }
  }

  async function guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      logger.warn({ error: toError(thrown).message }, 'the sweeper had a problem and tries again');
    }
  }

  async function loop(): Promise<void> {
    await guarded(() => look(0));
    while (await pause(intervalMs, stop.signal)) {
      await guarded(async () => {
        if (await store.leases.acquire(LEASE, owner, LEASE_LOOKS * intervalMs)) await look(graceMs);
      });
    }
    await guarded(() => store.leases.release(LEASE, owner));
  }

  const ended = loop();
  return {
    close() {
      stop.abort();
      return ended;
    },
  };
}

async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}

/** Remembers whom it named, and names them again after pauses that double while they stay on the list. */
function createPauses(firstMs: number): { due(listed: readonly ConversationKey[]): ConversationKey[] } {
  let named = new Map<ConversationKey, { nextAt: number; pauseMs: number }>();
  return {
    due(listed) {
      const now = performance.now();
      const still: typeof named = new Map();
      const due: ConversationKey[] = [];
      for (const key of listed) {
        const before = named.get(key);
        if (before && before.nextAt > now) {
          still.set(key, before);
          continue;
        }
        const pauseMs = before ? Math.min(before.pauseMs * 2, LONGEST_PAUSE_MS) : firstMs;
        still.set(key, { nextAt: now + pauseMs, pauseMs });
        due.push(key);
      }
      named = still;
      return due;
    },
  };
}
