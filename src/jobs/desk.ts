import type { Adapter } from '../core/chat/adapter.js';
import { deliver } from '../core/chat/delivery.js';
import { type OutboxEntryBody, outboxEntry } from '../core/chat/outbox-entry.js';
import { createSlots, type Slots } from '../core/chat/slots.js';
import { PlatformError } from '../core/errors.js';
import type { Budgets } from '../core/ports/budget.js';
import type { Logger } from '../core/ports/logger.js';
import type { Metrics } from '../core/ports/metrics.js';
import type { Commit, OutboxEntry, Reading } from '../core/ports/store.js';
import { type ConversationState, keptShown, type Turn, trimState } from './conversation-state.js';
import type { Session } from './session.js';

/** Everything but the state: what a boundary writes beside it. */
export type Boundary = Omit<Commit, 'state'>;

/**
 * The holder's desk: one claim, the last committed state and the screen. Several things happen at it at once (the run,
 * the once-a-second look, deliveries), so commits and deliveries each go one after the other.
 */
export interface Desk {
  readonly session: Session;
  readonly slots: Slots;
  readonly adapter: Adapter;
  /** As of the last successful commit. */
  readonly state: ConversationState;
  read(): Promise<Reading>;
  /** Applies `change` to the last committed state and commits both atomically; `taken` leaves the state as it was. */
  commit(change: (state: ConversationState) => ConversationState, boundary?: Boundary): Promise<'ok' | 'taken'>;
  /** Shows what the outbox holds, in order, until it is empty or must rest (`state.hold`). */
  deliverOutbox(reading: Reading): Promise<void>;
}

export interface DeskOptions {
  readonly session: Session;
  readonly adapter: Adapter;
  readonly state: ConversationState;
  readonly budgets: Budgets;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

const HOLD = { firstMs: 2_000, longestMs: 300_000 } as const;

export function createDesk(options: DeskOptions): Desk {
  const { session, adapter, logger, metrics } = options;
  const slots = createSlots({ conversation: session.key, adapter, ledger: session, logger, metrics });
  let state = options.state;
  let commits: Promise<unknown> = Promise.resolve();
  let deliveries: Promise<unknown> = Promise.resolve();
  /** Number of the newest entry that is done; they are delivered in order. */
  let delivered = 0;

  function commit(
    change: (state: ConversationState) => ConversationState,
    boundary: Boundary = {},
  ): Promise<'ok' | 'taken'> {
    const turn = commits.then(async () => {
      const next = trimState(change(state));
      const result = await session.commit({ ...boundary, state: next });
      if (result === 'ok') state = next;
      return result;
    });
    commits = turn.catch(() => undefined);
    return turn;
  }

  function deliverOutbox(reading: Reading): Promise<void> {
    const turn = deliveries.then(async () => {
      for (const entry of reading.outbox) {
        if (state.hold && state.hold.until > reading.now) return;
        // A reading that was overtaken: what it shows may be older than what stands there now.
        if (entry.n > delivered && !(await deliverOne(entry, reading))) return;
      }
    });
    deliveries = turn.catch(() => undefined);
    return turn;
  }

  /** False: it must wait, and with it what is newer. */
  async function deliverOne(entry: OutboxEntry, reading: Reading): Promise<boolean> {
    const body = outboxEntry.parse(entry.body);
    try {
      await deliver(body, { adapter, slots, budgets: options.budgets, signal: options.signal });
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      if (error.kind !== 'refused' && error.kind !== 'invalid' && error.kind !== 'gone') {
        await rest(error, reading.now);
        return false;
      }
      // The person cannot be reached here any more; the answer stays in the history.
      logger.error({ slot: body.slot, err: error, hint: error.hint }, 'a final text could not be delivered');
      metrics.count('undeliverable', { platform: adapter.platform });
    }
    const shown = remember(state.shown, body);
    const kept = [...keptShown(shown), ...reading.outbox.map(({ body: other }) => outboxEntry.parse(other))];
    const needed = new Set([...kept.map(({ slot }) => slot), ...openSlots(state.turn)]);
    const forgetLive = shown.filter(({ slot }) => !needed.has(slot)).flatMap(slotsOf);
    await commit((s) => ({ ...s, hold: null, shown }), { delivered: [entry.n], forgetLive });
    delivered = entry.n;
    return true;
  }

  /** Slots of an entry that is over; nothing will be shown in them any more. */
  function slotsOf({ slot }: OutboxEntryBody): string[] {
    return [...session.live.keys()].filter((name) => name === slot || name.startsWith(`${slot}.`));
  }

  /** Keeps the entry and names the time of the next try; a 429 names it itself. */
  async function rest(error: PlatformError, now: number): Promise<void> {
    const failures = (state.hold?.failures ?? 0) + 1;
    const backOff = Math.min(HOLD.firstMs * 2 ** (failures - 1), HOLD.longestMs);
    const waitMs = error.kind === 'rate_limited' ? (error.retryAfterMs ?? backOff) : backOff;
    logger.warn({ err: error, waitMs, failures }, 'delivery rests');
    await commit((s) => ({ ...s, hold: { until: now + waitMs, failures } }));
  }

  return {
    session,
    slots,
    adapter,
    get state() {
      return state;
    },
    read: () => session.read(),
    commit,
    deliverOutbox,
  };
}

/** Messages of an open turn are edited again, however many notes came after them. */
function openSlots(turn: Turn | null): string[] {
  const asked = [turn?.waiting?.slot, turn?.held?.slot];
  return [...(turn ? [`a${turn.answer}`] : []), ...asked.filter((slot) => slot !== undefined)];
}

function remember(shown: readonly OutboxEntryBody[], body: OutboxEntryBody): OutboxEntryBody[] {
  return [...shown.filter((entry) => entry.slot !== body.slot), body];
}
