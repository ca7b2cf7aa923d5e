import type { Update } from 'grammy/types';
import { BotApiError } from './bot-api-error.js';

/** The kinds of update this server makes. */
export type UpdateKind = 'message' | 'edited_message' | 'callback_query' | 'my_chat_member' | 'message_reaction';
export type NewUpdate = Partial<Omit<Update, 'update_id'>>;

/** An update with the queue it is ordered in: Telegram keeps the order per chat, not between chats. */
interface QueuedUpdate {
  readonly update: Update;
  readonly lane: number;
}

export interface Poll {
  readonly offset: number;
  readonly limit: number;
  readonly timeoutMs: number;
  /** Aborted when the caller hangs up: a batch is never handed to a closed connection. */
  readonly signal: AbortSignal;
}

/** The bot's updates: kept until confirmed by offset, or until a webhook took them. */
export interface UpdateQueue {
  /** Queues an update unless its kind is not asked for; returns its id then. */
  push(update: NewUpdate, lane: number): number | undefined;
  /** Undefined leaves the setting alone, as Telegram does. */
  allow(kinds: readonly string[] | undefined): void;
  /** Long polling. Rejects with 409 when another poll comes while this one waits. */
  poll(poll: Poll): Promise<readonly Update[]>;
  /** Ends a waiting poll with 409. */
  abortPoll(description: string): void;
  /** The oldest unconfirmed update of each lane not in `busy`. */
  heads(busy: ReadonlySet<number>): readonly QueuedUpdate[];
  confirm(updateId: number): void;
  clear(): void;
  /** Called after each push. */
  onPush(listener: () => void): void;
  readonly pending: readonly Update[];
  readonly polling: boolean;
}

/** Kinds that must be asked for by name. */
const NOT_BY_DEFAULT = new Set(['chat_member', 'message_reaction', 'message_reaction_count']);
export const OTHER_POLLER =
  'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running';

export function createUpdateQueue(firstUpdateId: number, conflictDelayMs: number): UpdateQueue {
  let queued: QueuedUpdate[] = [];
  let nextId = firstUpdateId;
  let allowed: readonly string[] = [];
  let waiting: { poll: Poll; resolve(updates: readonly Update[]): void; reject(error: Error): void } | undefined;
  let nextConflictAt = 0;
  const listeners: (() => void)[] = [];

  const isAllowed = (kind: string): boolean =>
    allowed.length === 0 ? !NOT_BY_DEFAULT.has(kind) : allowed.includes(kind);

  function from(offset: number, limit: number): readonly Update[] {
    return queued
      .filter(({ update }) => update.update_id >= offset)
      .slice(0, limit)
      .map(({ update }) => update);
  }

  /** The first 409 comes at once, further ones within three seconds are held back, as the real server does. */
  function abortPoll(description: string): void {
    const victim = waiting;
    waiting = undefined;
    if (!victim) return;
    const now = Date.now();
    const delay = now >= nextConflictAt ? 0 : conflictDelayMs;
    if (delay === 0) nextConflictAt = now + conflictDelayMs;
    setTimeout(() => victim.reject(new BotApiError(409, description)), delay);
  }

  function wake(): void {
    const waiter = waiting;
    if (!waiter) return;
    const updates = from(waiter.poll.offset, waiter.poll.limit);
    if (updates.length === 0) return;
    waiting = undefined;
    waiter.resolve(updates);
  }

  function poll(request: Poll): Promise<readonly Update[]> {
    // A negative offset counts from the end and forgets what lies before.
    const offset = request.offset < 0 ? (queued.at(request.offset)?.update.update_id ?? 0) : request.offset;
    if (offset > 0) queued = queued.filter(({ update }) => update.update_id >= offset);
    const updates = from(offset, request.limit);
    if (updates.length > 0 || request.timeoutMs === 0) return Promise.resolve(updates);
    abortPoll(OTHER_POLLER);
    return new Promise((resolve, reject) => {
      const waiter = { poll: { ...request, offset }, resolve, reject };
      const leave = (): void => {
        if (waiting === waiter) waiting = undefined;
        resolve([]);
      };
      const timer = setTimeout(leave, request.timeoutMs);
      request.signal.addEventListener('abort', leave);
      waiter.resolve = (result) => {
        clearTimeout(timer);
        resolve(result);
      };
      waiter.reject = (error) => {
        clearTimeout(timer);
        reject(error);
      };
      waiting = waiter;
    });
  }

  return {
    poll,
    abortPoll,
    push(update, lane) {
      const kind = Object.keys(update)[0] ?? '';
      if (!isAllowed(kind)) return undefined;
      const id = nextId++;
      queued.push({ update: { ...update, update_id: id } as Update, lane });
      wake();
      for (const listener of listeners) listener();
      return id;
    },
    allow(kinds) {
      if (kinds) allowed = kinds;
    },
    heads(busy) {
      const seen = new Set(busy);
      return queued.filter(({ lane }) => !seen.has(lane) && seen.add(lane));
    },
    confirm(updateId) {
      queued = queued.filter(({ update }) => update.update_id !== updateId);
    },
    clear() {
      queued = [];
    },
    onPush(listener) {
      listeners.push(listener);
    },
    get pending() {
      return queued.map(({ update }) => update);
    },
    get polling() {
      return waiting !== undefined;
    },
  };
}
