import { isBlank } from '../core/chat/clean-text.js';
import type { ConversationKey, NumberedItem } from '../core/chat/message.js';
import type { SlotLedger } from '../core/chat/slots.js';
import { SupersededError } from '../core/errors.js';
import type { Commit, ConversationStore, Reading } from '../core/ports/store.js';

interface Touch {
  readonly slot: string;
  messageId: string | undefined;
  ended: boolean;
}

/**
 * One claim of a conversation: the store's fenced operations with the epoch filled in. Any `superseded` answer throws
 * SupersededError; what was touched on the platform since the last fenced success can then be filed as strays.
 */
export interface Session extends SlotLedger {
  readonly key: ConversationKey;
  readonly epoch: number;
  readonly claims: number;
  readonly storedState: unknown;
  read(): Promise<Reading>;
  commit(commit: Commit): Promise<'ok' | 'taken'>;
  settle(seen: number, wakeAt: number | null): Promise<'ok' | 'busy'>;
  /** Files one inbox item per message touched since its last fenced success; true when there was one. */
  fileStrays(): Promise<boolean>;
}

export async function openSession(store: ConversationStore, key: ConversationKey): Promise<Session> {
  const { epoch, claims, state: storedState } = await store.claim(key);
  const live = new Map<string, string>();
  let touches: Touch[] = [];

  /** Runs a fenced call; only effects that had ended before it began are covered by its success. */
  async function fenced<T>(operation: string, call: () => Promise<T | 'superseded'>): Promise<T> {
    const covered = new Set(touches.filter((touch) => touch.ended));
    const answer = await call();
    if (answer === 'superseded') throw new SupersededError(operation);
    touches = touches.filter((touch) => !covered.has(touch));
    return answer;
  }

  return {
    key,
    epoch,
    claims,
    storedState,
    live,
    async read() {
      const reading = await fenced('read', () => store.read(key, epoch));
      live.clear();
      for (const [slot, id] of Object.entries(reading.live)) live.set(slot, id);
      return reading;
    },
    commit: (commit) => fenced('commit', () => store.commit(key, epoch, commit)),
    settle: (seen, wakeAt) => fenced('settle', () => store.settle(key, epoch, seen, wakeAt)),
    check: () => fenced('check', () => store.check(key, epoch)),
    intent: (slot) => fenced('intent', () => store.liveIntent(key, epoch, slot)),
    async record(slot, messageId) {
      await fenced('record', () => store.liveId(key, epoch, slot, messageId));
      live.set(slot, messageId);
    },
    touch(slot, messageId) {
      const touch: Touch = { slot, messageId, ended: false };
      touches.push(touch);
      return {
        done(id) {
          touch.messageId = id ?? touch.messageId;
          touch.ended = true;
        },
      };
    },
    async fileStrays() {
      const filed = new Set<string>();
      for (const { slot, messageId } of touches) {
        const dedupe = `stray:${epoch}:${slot}:${messageId ?? ''}`;
        if (filed.has(dedupe)) continue;
        filed.add(dedupe);
        await store.accept(key, {
          v: 1,
          kind: 'stray',
          dedupe,
          slot,
          ...(messageId === undefined ? {} : { messageId }),
        });
      }
      return filed.size > 0;
    },
  };
}

/** Items in order with edits and deletions applied to texts that are still waiting (design 3, row edit / delete). */
export interface InboxView {
  /** Waiting texts with their newest wording; `seqs` are acked together. */
  readonly texts: readonly (Extract<NumberedItem, { kind: 'message' }> & { readonly seqs: readonly number[] })[];
  /** Edits of texts that are no longer waiting. */
  readonly corrections: readonly Extract<NumberedItem, { kind: 'edit' }>[];
  /** Numbers of items that have no effect of their own any more (deleted texts, their edits and deletions). */
  readonly spent: readonly number[];
}

/** Stands for a file that came without a word: vendors refuse empty messages, and the model should know of it. */
export const FILE_ALONE = '📎 (a file without a text; it cannot be read here)';

/** Pure; see {@link InboxView}. */
export function viewInbox(items: readonly NumberedItem[]): InboxView {
  const texts = new Map<string, { item: Extract<NumberedItem, { kind: 'message' }>; seqs: number[] }>();
  const corrections: Extract<NumberedItem, { kind: 'edit' }>[] = [];
  const spent: number[] = [];
  for (const item of items) {
    if (item.kind === 'message') {
      const text = item.attachments?.length && isBlank(item.text) ? FILE_ALONE : item.text;
      texts.set(item.messageId, { item: { ...item, text }, seqs: [item.seq] });
    } else if (item.kind === 'edit') {
      const waiting = texts.get(item.messageId);
      if (waiting) {
        waiting.item = { ...waiting.item, text: item.text };
        waiting.seqs.push(item.seq);
      } else corrections.push(item);
    } else if (item.kind === 'delete') {
      spent.push(item.seq, ...(texts.get(item.messageId)?.seqs ?? []));
      texts.delete(item.messageId);
    }
  }
  return { texts: [...texts.values()].map(({ item, seqs }) => ({ ...item, seqs })), corrections, spent };
}
