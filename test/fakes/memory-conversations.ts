import type { AcceptResult } from '../../src/core/chat/adapter.js';
import type { InboxItem, NumberedItem } from '../../src/core/chat/message.js';
import type {
  Commit,
  ConversationStore,
  ConversationSummary,
  RunMark,
  UsageEntry,
} from '../../src/core/ports/store.js';

interface Conversation {
  epoch: number;
  seq: number;
  outboxCount: number;
  claims: number;
  stop: number;
  state: unknown;
  dirty: number | null;
  wakeAt: number | null;
  run: RunMark | null;
  seen: Map<string, number>;
  items: NumberedItem[];
  outbox: { n: number; body: unknown }[];
  live: Map<string, string>;
  choices: Map<string, { allowed: readonly string[]; till: number; by?: string; closed?: boolean }>;
}

const wholeMs = (time: number | null): number | null => (time === null ? null : Math.ceil(time));
const copy = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));

/** The conversation protocol in memory; passes the contract suite but for the limits of stored identifiers. */
export function createMemoryConversations(now: () => number = Date.now): ConversationStore {
  const all = new Map<string, Conversation>();
  const usage: (UsageEntry & { key: string })[] = [];

  /** Not kept until something is accepted or claimed: a refusal leaves no trace. */
  function conversation(key: string): Conversation {
    return (
      all.get(key) ?? {
        ...{ epoch: 0, seq: 0, outboxCount: 0, claims: 0, stop: 0, state: undefined },
        ...{ dirty: null, wakeAt: null, run: null },
        ...{ seen: new Map(), items: [], outbox: [], live: new Map(), choices: new Map() },
      }
    );
  }

  function owned(key: string, epoch: number): Conversation | undefined {
    const found = all.get(key);
    return found?.epoch === epoch ? found : undefined;
  }

  function claimChoice(c: Conversation, item: Extract<InboxItem, { kind: 'choice' }>): AcceptResult | undefined {
    const choice = c.choices.get(item.choice);
    if (!choice) return { result: 'expired' };
    if (!choice.allowed.includes(item.person.id) && !choice.allowed.includes('*')) return { result: 'foreign' };
    if (choice.by) return { result: 'already' };
    if (choice.closed || choice.till <= now() || c.stop > 0) return { result: 'expired' };
    choice.by = item.person.id;
    return undefined;
  }

  function judgeStop(c: Conversation, item: Extract<InboxItem, { kind: 'control' }>): AcceptResult | undefined {
    const active = c.run && (c.run.phase === 'running' || c.run.phase === 'waiting') ? c.run : null;
    if (item.runId !== undefined && active?.id !== item.runId) return { result: 'closed' };
    if (active && !active.allowed.includes('*') && !active.allowed.includes(item.person.id))
      return { result: 'foreign' };
    return undefined;
  }

  const summary = (key: string, c: Conversation): ConversationSummary => ({
    key,
    run: copy(c.run),
    busy: c.dirty !== null,
    wakeAt: c.wakeAt,
  });

  return {
    async accept(key, item) {
      const c = conversation(key);
      const known = c.seen.get(item.dedupe);
      if (known !== undefined) return { result: 'duplicate', seq: known };
      const stop = item.kind === 'control' && item.control === 'stop';
      const refused = item.kind === 'choice' ? claimChoice(c, item) : stop ? judgeStop(c, item) : undefined;
      if (refused) return refused;
      all.set(key, c);
      c.seq += 1;
      c.seen.set(item.dedupe, c.seq);
      c.items.push({ ...copy(item), seq: c.seq });
      c.dirty ??= now();
      if (stop) c.stop = c.seq;
      return { result: 'accepted', seq: c.seq };
    },
    async claim(key) {
      const c = conversation(key);
      all.set(key, c);
      c.epoch += 1;
      c.claims += 1;
      c.dirty = now();
      return { epoch: c.epoch, state: copy(c.state), claims: c.claims };
    },
    async read(key, epoch) {
      const c = owned(key, epoch);
      if (!c) return 'superseded';
      const live = Object.fromEntries(c.live);
      return { items: copy(c.items), outbox: copy(c.outbox), live, stop: c.stop, seen: c.seq, now: now() };
    },
    async commit(key, epoch, commit) {
      const c = owned(key, epoch);
      if (!c) return 'superseded';
      return applyCommit(c, key, commit);
    },
    async settle(key, epoch, seen, wakeAt) {
      const c = owned(key, epoch);
      if (!c) return 'superseded';
      if (c.seq > seen) return 'busy';
      if (wakeAt === null ? c.items.length + c.outbox.length > 0 : wakeAt <= now()) return 'busy';
      c.wakeAt = wholeMs(wakeAt);
      c.dirty = null;
      c.claims = 0;
      return 'ok';
    },
    async check(key, epoch) {
      const c = owned(key, epoch);
      if (!c) return 'superseded';
      return c.stop > 0 ? 'stop' : 'ok';
    },
    async liveIntent(key, epoch, slot) {
      const c = owned(key, epoch);
      if (!c) return 'superseded';
      const id = c.live.get(slot);
      if (id) return { intent: 'known', messageId: id };
      c.live.set(slot, '');
      return { intent: id === undefined ? 'fresh' : 'again' };
    },
    async liveId(key, epoch, slot, messageId) {
      const c = owned(key, epoch);
      if (!c) return 'superseded';
      c.live.set(slot, messageId);
      return 'ok';
    },
    async sweep(graceMs) {
      const due = (c: Conversation) =>
        (c.dirty !== null && c.dirty <= now() - graceMs) || (c.wakeAt !== null && c.wakeAt <= now());
      return [...all].filter(([, c]) => due(c)).map(([key]) => key);
    },
    async summary(key) {
      const c = all.get(key);
      return c && summary(key, c);
    },
    async runs({ phase, limit }) {
      return [...all]
        .filter(([, c]) => c.run && (phase === undefined || c.run.phase === phase))
        .sort(([, a], [, b]) => (b.run?.updatedAt ?? 0) - (a.run?.updatedAt ?? 0))
        .slice(0, limit)
        .map(([key, c]) => summary(key, c));
    },
    async usage(since) {
      return usage.filter((entry) => entry.at >= since);
    },
  };

  function applyCommit(c: Conversation, key: string, commit: Commit): 'ok' | 'taken' {
    const closing = commit.closeChoices ?? [];
    const won = (id: string): boolean => c.choices.get(id)?.by !== undefined;
    if (!commit.knowsTaken && closing.some((id) => won(id) && !c.choices.get(id)?.closed)) return 'taken';
    c.state = copy(commit.state);
    c.items = c.items.filter((item) => !commit.ack?.includes(item.seq));
    c.outbox = c.outbox.filter((entry) => !commit.delivered?.includes(entry.n));
    for (const body of commit.outbox ?? []) {
      c.outboxCount += 1;
      c.outbox.push({ n: c.outboxCount, body: copy(body) });
    }
    for (const { id, allowed, till } of commit.openChoices ?? []) if (!won(id)) c.choices.set(id, { allowed, till });
    for (const id of closing) {
      const choice = c.choices.get(id);
      if (choice) choice.closed = true;
    }
    if (commit.stopUpTo !== undefined && c.stop <= commit.stopUpTo) c.stop = 0;
    if (commit.run !== undefined) c.run = commit.run;
    if (commit.wakeAt !== undefined) c.wakeAt = wholeMs(commit.wakeAt);
    for (const slot of commit.forgetLive ?? []) c.live.delete(slot);
    for (const entry of commit.usage ?? []) usage.push({ ...entry, key });
    c.claims = 0;
    c.dirty = now();
    return 'ok';
  }
}
