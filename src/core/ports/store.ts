import type { AcceptResult } from '../chat/adapter.js';
import type { ConversationKey, InboxItem, NumberedItem } from '../chat/message.js';
import type { Budgets } from './budget.js';

/** What kind of run the conversation has; `accept` judges stops by it. */
export interface RunMark {
  readonly id: string;
  readonly phase: 'running' | 'waiting' | 'finished' | 'stopped' | 'error';
  /** Person ids who may stop it; `*` = anyone. */
  readonly allowed: readonly string[];
  readonly agent: string;
  readonly model: string;
  readonly startedAt: number;
  readonly updatedAt: number;
}

/** A single-use choice: an ask or an approval card. `till` is an absolute time of the store's clock, ms. */
export interface ChoiceRow {
  readonly id: string;
  /** Person ids; `*` = anyone. */
  readonly allowed: readonly string[];
  readonly till: number;
}

/**
 * One priced model request, or what a tool call itself cost; written in the commit of its round, never counted twice.
 * The cost of a run is the sum of its entries.
 */
export interface UsageEntry {
  readonly at: number;
  readonly run: string;
  readonly person: string;
  readonly agent: string;
  /** Configured name of the model; '' for what a tool itself cost. */
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
  /** Whose request it was; absent in entries of early versions: the agent's own. */
  readonly source?: 'agent' | 'compression' | 'tool' | undefined;
  /** The call of the run it belongs to: a sub-agent's or compression's request, a tool's own cost. */
  readonly callId?: string | undefined;
  readonly tool?: string | undefined;
}

export interface Claim {
  /** Fencing token: every later call of this holder carries it. */
  readonly epoch: number;
  /** The state of the last commit, undefined when there was none. */
  readonly state: unknown;
  /** Claims since the last commit or settle; 5 and more = poison (design 3.5). */
  readonly claims: number;
}

/** An outbox entry as stored: `n` numbers it, `body` is opaque JSON to the store. */
export interface OutboxEntry {
  readonly n: number;
  readonly body: unknown;
}

export interface Reading {
  /** All undelivered items by number. */
  readonly items: readonly NumberedItem[];
  readonly outbox: readonly OutboxEntry[];
  /** Slot → platform message id; '' = an intent whose id was never written. */
  readonly live: Readonly<Record<string, string>>;
  /** Number of the newest stop not yet handled, 0 = none. */
  readonly stop: number;
  /** Last number given out; hand it to `settle`. */
  readonly seen: number;
  /** The store's clock, ms. */
  readonly now: number;
}

/** One atomic, fenced boundary. Absent fields leave things as they are. */
export interface Commit {
  readonly state: unknown;
  readonly ack?: readonly number[];
  readonly outbox?: readonly unknown[];
  readonly delivered?: readonly number[];
  readonly openChoices?: readonly ChoiceRow[];
  readonly closeChoices?: readonly string[];
  /** The caller has read the press that won: without it, closing a won choice is refused with `taken`. */
  readonly knowsTaken?: boolean;
  /** Clears the stop flag if it is not newer than this number. */
  readonly stopUpTo?: number;
  readonly run?: RunMark | null;
  /** null clears the wake-up. */
  readonly wakeAt?: number | null;
  readonly usage?: readonly UsageEntry[];
  /** Live slots to forget. */
  readonly forgetLive?: readonly string[];
}

export type Superseded = 'superseded';

/** A conversation as the console shows it; read without a claim. */
export interface ConversationSummary {
  readonly key: ConversationKey;
  readonly run: RunMark | null;
  /** True while something accepted is not settled yet. */
  readonly busy: boolean;
  readonly wakeAt: number | null;
}

/**
 * The conversation protocol (design 3, reference/protocol 2). Each operation is atomic; numbers and times come from
 * the store. "Fenced" operations answer `superseded` and do nothing when a newer epoch exists.
 */
export interface ConversationStore {
  /**
   * In this order: known `dedupe` → `duplicate`; a choice is claimed (`expired`: unknown, closed, past `till` or a stop
   * is pending; `foreign`; `already`); a stop with a `runId` that is not the stored active run → `closed`, a stop by a
   * person the active run does not allow → `foreign`; then remember, number, append, mark dirty, and for a stop set
   * the stop flag to the number. A refused item leaves no trace.
   */
  accept(key: ConversationKey, item: InboxItem): Promise<AcceptResult>;
  /** New epoch; marks dirty so that a woken run is never forgotten. */
  claim(key: ConversationKey): Promise<Claim>;
  read(key: ConversationKey, epoch: number): Promise<Reading | Superseded>;
  commit(key: ConversationKey, epoch: number, commit: Commit): Promise<'ok' | 'taken' | Superseded>;
  /**
   * Ends the holder's work: `busy` when something was accepted after `seen`, or (without `wakeAt`) inbox or outbox are
   * not empty, or `wakeAt` is not in the future. Alone clears dirty.
   */
  settle(key: ConversationKey, epoch: number, seen: number, wakeAt: number | null): Promise<'ok' | 'busy' | Superseded>;
  check(key: ConversationKey, epoch: number): Promise<'ok' | 'stop' | Superseded>;
  /** Writes an intent. `fresh`: none before; `again`: one without id; otherwise the known id. */
  liveIntent(
    key: ConversationKey,
    epoch: number,
    slot: string,
  ): Promise<
    { readonly intent: 'fresh' | 'again' } | { readonly intent: 'known'; readonly messageId: string } | Superseded
  >;
  /** Records the id of a slot; '' turns it back into an intent. */
  liveId(key: ConversationKey, epoch: number, slot: string, messageId: string): Promise<'ok' | Superseded>;
  /** Keys silent for longer than `graceMs` while dirty, or with a due wake-up. */
  sweep(graceMs: number): Promise<readonly ConversationKey[]>;

  summary(key: ConversationKey): Promise<ConversationSummary | undefined>;
  /** Latest run of each conversation, newest first. */
  runs(filter: { phase?: RunMark['phase']; limit: number }): Promise<readonly ConversationSummary[]>;
  /** Usage entries since a time of the store's clock, oldest first, at most 100,000. */
  usage(since: number): Promise<readonly (UsageEntry & { key: ConversationKey })[]>;
}

/** The space of {@link Records} with what ended runs did, by run id. */
export const RUN_RECORDS = 'run';

/** Small durable facts of adapters: message → conversation, thread participation. All expire. */
export interface Records {
  get(space: string, key: string): Promise<string | undefined>;
  set(space: string, key: string, value: string, ttlMs: number): Promise<void>;
  delete(space: string, key: string): Promise<void>;
}

/** Named locks that expire: one poller per Telegram token, one sweeper. */
export interface Leases {
  /** Takes or renews; true while `owner` holds it. */
  acquire(name: string, owner: string, ttlMs: number): Promise<boolean>;
  release(name: string, owner: string): Promise<void>;
}

/** A message on the web board; `body` is opaque JSON, `removed` marks a deletion readers must still see. */
export interface BoardMessage {
  readonly id: string;
  readonly version: number;
  readonly position: number;
  readonly body: unknown;
  readonly removed: boolean;
}

/** The web adapter's messages: durable, versioned by one counter per conversation. */
export interface Board {
  /** Inserts or replaces by id (so a repeated post is one message); keeps the position of the first put. */
  put(conversation: string, id: string, body: unknown): Promise<number>;
  /** False when there was no such message. */
  remove(conversation: string, id: string): Promise<boolean>;
  get(conversation: string, id: string): Promise<BoardMessage | undefined>;
  /** Messages with a version above `after`, in position order; `after` 0 gives the whole board without removed ones. */
  list(
    conversation: string,
    after: number,
  ): Promise<{ readonly version: number; readonly messages: readonly BoardMessage[] }>;
}

/** Everything durable, opened once per process. */
export interface Store {
  readonly conversations: ConversationStore;
  readonly records: Records;
  readonly leases: Leases;
  readonly board: Board;
  readonly budgets: Budgets;
  /** Rejects with a StoreError when the store does not answer; used by `/readyz`. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
