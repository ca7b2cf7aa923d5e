import type { AcceptResult, Inbox } from '../../src/core/chat/adapter.js';
import type { ConversationKey, InboxItem } from '../../src/core/chat/message.js';
import type { Logger } from '../../src/core/ports/logger.js';
import type { Leases, Records } from '../../src/core/ports/store.js';

/** An inbox that records; it drops duplicates and numbers items as the real one does. */
export interface MemoryInbox extends Inbox {
  /** Accepted items in the order they were accepted. */
  readonly accepted: readonly { readonly key: ConversationKey; readonly item: InboxItem }[];
  /** Every call, also duplicates and failures. */
  readonly attempts: number;
  /** Looked at before an item is taken: throw to be a store that is down, wait to be a slow one. */
  onAccept: (key: ConversationKey, item: InboxItem) => Promise<void> | void;
  /** Another answer than `accepted`, for choices and controls; undefined: the usual one. */
  verdict: (key: ConversationKey, item: InboxItem) => AcceptResult['result'] | undefined;
}

export function createMemoryInbox(): MemoryInbox {
  const accepted: { key: ConversationKey; item: InboxItem }[] = [];
  const seen = new Map<string, number>();
  const inbox = {
    accepted,
    attempts: 0,
    onAccept: (): Promise<void> | void => {},
    verdict: (): AcceptResult['result'] | undefined => undefined,
    async accept(key: ConversationKey, item: InboxItem): Promise<AcceptResult> {
      inbox.attempts += 1;
      await (inbox as MemoryInbox).onAccept(key, item);
      const known = seen.get(`${key} ${item.dedupe}`);
      if (known !== undefined) return { result: 'duplicate', seq: known };
      const verdict = (inbox as MemoryInbox).verdict(key, item);
      if (verdict && verdict !== 'accepted' && verdict !== 'duplicate') return { result: verdict };
      const seq = accepted.filter((entry) => entry.key === key).length + 1;
      seen.set(`${key} ${item.dedupe}`, seq);
      accepted.push({ key, item });
      return { result: 'accepted', seq };
    },
  };
  return inbox;
}

/** Records with their expiry; `down` makes every call fail. */
export interface MemoryRecords extends Records {
  down: Error | undefined;
  readonly values: ReadonlyMap<string, { readonly value: string; readonly until: number }>;
}

export function createMemoryRecords(): MemoryRecords {
  const values = new Map<string, { value: string; until: number }>();
  const records: MemoryRecords = {
    down: undefined,
    values,
    async get(space, key) {
      if (records.down) throw records.down;
      const found = values.get(`${space}/${key}`);
      return found && found.until > Date.now() ? found.value : undefined;
    },
    async set(space, key, value, ttlMs) {
      if (records.down) throw records.down;
      values.set(`${space}/${key}`, { value, until: Date.now() + ttlMs });
    },
    async delete(space, key) {
      if (records.down) throw records.down;
      values.delete(`${space}/${key}`);
    },
  };
  return records;
}

export function createMemoryLeases(): Leases & { holder(name: string): string | undefined } {
  const held = new Map<string, { owner: string; until: number }>();
  const holder = (name: string): string | undefined => {
    const lease = held.get(name);
    return lease && lease.until > Date.now() ? lease.owner : undefined;
  };
  return {
    holder,
    async acquire(name, owner, ttlMs) {
      const current = holder(name);
      if (current !== undefined && current !== owner) return false;
      held.set(name, { owner, until: Date.now() + ttlMs });
      return true;
    },
    async release(name, owner) {
      if (holder(name) === owner) held.delete(name);
    },
  };
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A logger that keeps its lines; `text()` is everything written, errors with their stacks and causes. */
export function createMemoryLogger(): Logger & { readonly lines: readonly LogLine[]; text(): string } {
  const lines: LogLine[] = [];
  const make = (fixed: object): Logger => {
    const at = (level: LogLine['level']) => (fields: object, message: string) => {
      lines.push({ level, fields: { ...fixed, ...fields }, message });
    };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => make({ ...fixed, ...fields }),
    };
  };
  return { ...make({}), lines, text: () => lines.map((line) => `${line.message} ${show(line.fields)}`).join('\n') };
}

function show(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (!(inner instanceof Error)) return inner;
    return { ...inner, message: inner.message, stack: inner.stack, cause: inner.cause };
  });
}
