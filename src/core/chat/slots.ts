import { PlatformError } from '../errors.js';
import type { Logger } from '../ports/logger.js';
import type { Metrics } from '../ports/metrics.js';
import type { Adapter, MessageBody, Rendered } from './adapter.js';
import type { Place } from './message.js';

/**
 * The fenced side of one claim, as far as posting needs it. Every method throws SupersededError once a newer worker
 * holds the conversation.
 */
export interface SlotLedger {
  /** Asked before each external effect (design 3.6). */
  check(): Promise<'ok' | 'stop'>;
  intent(slot: string): Promise<{ intent: 'fresh' | 'again' } | { intent: 'known'; messageId: string }>;
  /** '' turns the slot back into an intent. */
  record(slot: string, messageId: string): Promise<void>;
  /**
   * Remembers that the platform message of this slot is about to be touched, until a fenced success follows the end
   * of the effect. What is left when the claim is lost is filed as strays.
   */
  touch(slot: string, messageId?: string): { done(messageId?: string): void };
  /** Slots of the last reading: slot → message id, '' for an intent whose id was never written. */
  readonly live: ReadonlyMap<string, string>;
}

/** Puts bodies into numbered slots of a conversation; each slot is one platform message, posted once. */
export interface Slots {
  /** Posts or edits so that the slot shows `body`. Throws PlatformError when the platform says no. */
  put(slot: string, place: Place, body: MessageBody, options?: { notify?: boolean }): Promise<void>;
  /** Removes the slot's message and whatever an unanswered post left behind. */
  remove(slot: string, place: Place): Promise<void>;
  /** Removes messages of this slot that are not the recorded one (a post that was answered too late). */
  removeUnrecorded(slot: string, place: Place): Promise<void>;
  /** Slots that hold a message, by name prefix. */
  occupied(prefix: string): readonly string[];
}

export interface SlotsOptions {
  /** Prefix of all nonces: the conversation's key. */
  readonly conversation: string;
  readonly adapter: Adapter;
  readonly ledger: SlotLedger;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A slot whose message was removed keeps this mark, so that it is neither shown nor posted again. */
const REMOVED = 'x';
const MAX_TRIES = 8;

/**
 * Posting with take-over in mind (design 3.6): an intent is stored before the post and the id right after it, so a
 * successor edits instead of posting; an intent found without an id is looked up by its nonce first. Where a platform
 * cannot look up (no `find`), a post in flight at a kill may appear twice; that is counted in
 * `posts_outcome_unknown`.
 */
export function createSlots(options: SlotsOptions): Slots {
  const { adapter, ledger, conversation, metrics, logger } = options;
  const known = new Map<string, string>();
  const shown = new Map<string, string>();
  const reposted = new Set<string>();
  for (const [slot, id] of ledger.live) if (id !== '') known.set(slot, id);

  const nonceOf = (slot: string): string => `${conversation}/${slot}${reposted.has(slot) ? '/anew' : ''}`;
  const isRemoved = (id: string | undefined): boolean => id?.startsWith(REMOVED) ?? false;

  async function put(slot: string, place: Place, body: MessageBody, opts: { notify?: boolean } = {}): Promise<void> {
    let rendered = adapter.render(body);
    let plain = false;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (shown.get(slot) === rendered.digest) return;
      await ledger.check();
      try {
        if ((await editKnown(slot, place, rendered)) || (await postNew(slot, place, rendered, opts))) {
          shown.set(slot, rendered.digest);
          return;
        }
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error;
        if (error.kind === 'invalid' && !plain) {
          // The platform rejects this rendering: the words matter more than their looks.
          logger.warn({ slot, err: error }, 'platform refused the rendering, sending plain text');
          plain = true;
          rendered = adapter.render({ ...body, markdown: asPlainText(body.markdown) });
        } else if (!(error.kind === 'temporary' && error.outcomeUnknown && tries < 2)) throw error;
      }
    }
    throw new PlatformError(`slot ${slot} could not be shown`, { kind: 'temporary' });
  }

  /** True when the slot's message now shows the payload; false when there is no such message (any more). */
  async function editKnown(slot: string, place: Place, rendered: Rendered): Promise<boolean> {
    const id = known.get(slot);
    if (id === undefined || isRemoved(id)) return false;
    const touch = ledger.touch(slot, id);
    try {
      await adapter.edit(place, id, rendered);
      return true;
    } catch (error) {
      if (!(error instanceof PlatformError) || error.kind !== 'gone') throw error;
      if (reposted.has(slot)) {
        throw new PlatformError('the message was deleted twice', { kind: 'refused', cause: error });
      }
      reposted.add(slot);
      known.delete(slot);
      shown.delete(slot);
      await ledger.record(slot, '');
      return false;
    } finally {
      touch.done();
    }
  }

  /** True when posted; false when an existing message was found, which the caller then edits. */
  async function postNew(slot: string, place: Place, rendered: Rendered, opts: { notify?: boolean }): Promise<boolean> {
    const intent = await ledger.intent(slot);
    if (intent.intent === 'known' && !isRemoved(intent.messageId)) {
      known.set(slot, intent.messageId);
      return false;
    }
    if (intent.intent === 'again' && (await adopt(slot, place))) return false;
    const touch = ledger.touch(slot);
    const id = await adapter
      .post(place, rendered, { nonce: nonceOf(slot), ...(opts.notify === undefined ? {} : { notify: opts.notify }) })
      .catch((error: unknown) => {
        touch.done();
        throw error;
      });
    touch.done(id);
    await ledger.record(slot, id);
    known.set(slot, id);
    return true;
  }

  /** Looks an unanswered post up; keeps the first, removes the others. */
  async function adopt(slot: string, place: Place): Promise<boolean> {
    if (!adapter.find) {
      metrics.count('posts_outcome_unknown', { platform: adapter.platform });
      return false;
    }
    const [first, ...others] = await adapter.find(place, nonceOf(slot));
    if (first === undefined) return false;
    await ledger.record(slot, first);
    known.set(slot, first);
    for (const id of others) await removeMessage(slot, place, id);
    return true;
  }

  async function removeMessage(slot: string, place: Place, id: string): Promise<void> {
    await ledger.check();
    const touch = ledger.touch(slot, id);
    await adapter.remove(place, id).finally(() => touch.done());
  }

  async function remove(slot: string, place: Place): Promise<void> {
    const id = known.get(slot) ?? ledger.live.get(slot);
    if (id === undefined || isRemoved(id)) return;
    const ids = id !== '' ? [id] : adapter.find ? await adapter.find(place, nonceOf(slot)) : [];
    for (const one of ids) await removeMessage(slot, place, one);
    const mark = `${REMOVED}${id}`;
    await ledger.record(slot, mark);
    known.set(slot, mark);
    shown.delete(slot);
  }

  async function removeUnrecorded(slot: string, place: Place): Promise<void> {
    if (!adapter.find) return;
    for (const id of await adapter.find(place, nonceOf(slot))) {
      if (id !== known.get(slot)) await removeMessage(slot, place, id);
    }
  }

  function occupied(prefix: string): readonly string[] {
    const slots = new Set([...known.keys(), ...ledger.live.keys()]);
    return [...slots].filter((s) => s.startsWith(prefix) && !isRemoved(known.get(s) ?? ledger.live.get(s)));
  }

  return { put, remove, removeUnrecorded, occupied };
}

/** Markdown that renders as the same words without any formatting. */
function asPlainText(markdown: string): string {
  return markdown.replace(/([\\`*_{}[\]()#+\-.!|>~<])/g, '\\$1');
}
