import type { Budgets } from '../ports/budget.js';
import type { Adapter, MessageBody } from './adapter.js';
import { fitsOn } from './live-message.js';
import type { OutboxEntryBody } from './outbox-entry.js';
import type { Slots } from './slots.js';
import { paginate } from './split.js';

export interface DeliveryOptions {
  readonly adapter: Adapter;
  readonly slots: Slots;
  readonly budgets: Budgets;
  readonly signal: AbortSignal;
}

/**
 * Shows a final text completely: every page, nothing else. Repeating it after a crash at any point gives the same
 * messages: known slots are edited, surplus pages and posts that were answered too late are removed. Throws
 * PlatformError as the platform said it; the caller keeps or drops the entry.
 */
export async function deliver(entry: OutboxEntryBody, options: DeliveryOptions): Promise<void> {
  const { adapter, slots, budgets } = options;
  const place = entry.place;
  const names: string[] = [];
  for (const { slot, body } of bodiesOf(entry, adapter)) {
    options.signal.throwIfAborted();
    await budgets.take(adapter.budgets(place), 'final');
    await slots.put(slot, place, body, { notify: names.length === 0 });
    names.push(slot);
  }
  const surplus = entry.kind === 'answer' ? slots.occupied(`${entry.slot}.`).filter((s) => !names.includes(s)) : [];
  for (const slot of surplus) await slots.remove(slot, place);
  for (const slot of names) await slots.removeUnrecorded(slot, place);
}

/** The bodies of an entry by slot; also used to repair a message that a paused worker overwrote. */
export function bodiesOf(entry: OutboxEntryBody, adapter: Adapter): { slot: string; body: MessageBody }[] {
  if (entry.kind === 'answer' && entry.markdown === '' && !entry.plan && !entry.footer) return [];
  const pages = paginate(entry.markdown, fitsOn(adapter));
  const last = pages.length - 1;
  return pages.map((markdown, index) => {
    const shared = { state: entry.state, markdown };
    const slot =
      entry.kind === 'note' ? (index === 0 ? entry.slot : `${entry.slot}.${index}`) : `${entry.slot}.${index}`;
    const body: MessageBody = {
      ...shared,
      ...(index === 0 && entry.status ? { status: entry.status } : {}),
      ...(index === 0 && entry.plan ? { plan: entry.plan } : {}),
      ...(index === 0 && entry.reasoning ? { reasoning: entry.reasoning } : {}),
      ...(index === last && entry.buttons ? { buttons: entry.buttons } : {}),
      ...(index === last && entry.footer ? { footer: entry.footer } : {}),
    };
    return { slot, body };
  });
}
