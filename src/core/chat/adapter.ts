import type { Logger } from '../ports/logger.js';
import type { Leases, Records } from '../ports/store.js';
import type { Texts } from '../ports/texts.js';
import type { ConversationKey, InboxItem, Place } from './message.js';
import type { PlanView } from './plan-view.js';

/** A button; `id` is `choice.option`, `danger` asks for a warning colour where the platform has one. */
export interface Button {
  readonly id: string;
  readonly label: string;
  readonly style?: 'primary' | 'danger' | undefined;
}

/** Life of a shown message; the web API shows it by these names. */
export type MessageState = 'streaming' | 'final' | 'stopped' | 'error';

/**
 * What one platform message shows, platform-neutral: status or plan lines · answer · buttons · footer
 * (design section 5). `markdown` is one page: standalone markdown that fits the platform's limit.
 */
export interface MessageBody {
  readonly state: MessageState;
  readonly markdown: string;
  readonly status?: readonly string[] | undefined;
  /** A checklist; platforms without a block for it show `planLines`. */
  readonly plan?: PlanView | undefined;
  readonly reasoning?: string | undefined;
  readonly buttons?: readonly Button[] | undefined;
  readonly footer?: string | undefined;
}

/**
 * A body turned into a platform's payload. `length` counts in the platform's own unit and is compared with
 * `Adapter.limits.text`; `digest` is equal for equal payloads, so that identical edits are not sent.
 */
export interface Rendered<Payload = unknown> {
  readonly payload: Payload;
  readonly length: number;
  readonly digest: string;
}

/** A shared budget for calls: at most one per `everyMs` on average, `burst` at once (GCRA). */
export interface CallBudget {
  readonly bucket: string;
  readonly everyMs: number;
  readonly burst: number;
}

export interface AdapterLimits {
  /** Longest message in the unit of `Rendered.length`. */
  readonly text: number;
  /** Pages are cut at this length, leaving room for what a later edit adds. */
  readonly page: number;
}

/** Options of a post. `nonce` is the same for every worker that ever makes this post. */
export interface PostOptions {
  readonly nonce: string;
  /** False asks for a silent post where the platform has such a thing. */
  readonly notify?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What `Inbox.accept` says; see jobs/inbox. */
export type AcceptResult =
  | { readonly result: 'accepted' | 'duplicate'; readonly seq: number }
  | { readonly result: 'foreign' | 'already' | 'expired' | 'closed' };

/** The durable entrance. Resolves only after the item is stored; only then may a platform be told "received". */
export interface Inbox {
  accept(key: ConversationKey, item: InboxItem): Promise<AcceptResult>;
}

/** Why an adapter is not ready; shown by `/readyz` and the log. */
export interface AdapterHealth {
  readonly ready: boolean;
  readonly reason?: string | undefined;
  readonly hint?: string | undefined;
}

/** What the gateway hands to an adapter that listens. Adapters get ports, never implementations. */
export interface GatewayPorts {
  readonly inbox: Inbox;
  readonly records: Records;
  readonly leases: Leases;
  readonly logger: Logger;
  readonly texts: Texts;
}

/**
 * A chat platform. Outbound methods work without `start()`, so a worker opens no socket. All outbound methods throw
 * `PlatformError`; "not modified" and "already removed" count as success.
 */
export interface Adapter<Payload = unknown> {
  readonly platform: string;
  readonly account: string;
  readonly limits: AdapterLimits;

  /** Pure. Never throws on any markdown a model may write, also in the middle of a stream. */
  render(body: MessageBody): Rendered<Payload>;
  /** Shortest time between two edits of one message at this place, in ms, when the budget is free. */
  editIntervalMs(place: Place): number;
  /** Budgets every post and edit at this place draws from, shared by all workers. */
  budgets(place: Place): readonly CallBudget[];

  /** Posts a new message and returns the platform's id of it. */
  post(place: Place, rendered: Rendered<Payload>, options: PostOptions): Promise<string>;
  edit(place: Place, messageId: string, rendered: Rendered<Payload>, signal?: AbortSignal): Promise<void>;
  remove(place: Place, messageId: string): Promise<void>;
  /** Ids of messages posted with this nonce, oldest first. Absent: the platform offers no way to learn it. */
  find?(place: Place, nonce: string): Promise<readonly string[]>;

  /** Shows "typing" for as long as the platform shows it; called again while a run is active. */
  status?(place: Place): Promise<void>;
  /** How often `status` must be repeated, ms. */
  readonly statusEveryMs?: number | undefined;
  /** Acknowledges a person's message: `seen` for a steer taken in, `queued` for one that waits. */
  react?(place: Place, messageId: string, mark: 'seen' | 'queued'): Promise<void>;

  /** True where editing a message tells nobody: long runs then end with a short notifying reply. */
  readonly silentEdits?: boolean | undefined;

  /** Starts listening; resolves when the first connection stands or the adapter retries on its own. */
  start(ports: GatewayPorts): Promise<void>;
  stop(): Promise<void>;
  health(): AdapterHealth;
}
