import type { InboxItem } from '../../core/chat/message.js';
import { storedDedupe, storedId } from './identifiers.js';

/** What `accept` judges an item by; the item itself is opaque text to the stores. */
export interface ItemFacts {
  readonly dedupe: string;
  /** Empty for items of the gateway itself. */
  readonly person: string;
  readonly kind: 'choice' | 'stop' | 'other';
  /** The choice pressed, or the run a stop button belongs to; empty = none. */
  readonly ref: string;
}

/** The columns of an inbox item, as stored. */
export function itemFacts(item: InboxItem): ItemFacts {
  const dedupe = storedDedupe(item.dedupe);
  if (item.kind === 'stray') return { dedupe, person: '', kind: 'other', ref: '' };
  const person = storedId(item.person.id);
  if (item.kind === 'choice') return { dedupe, person, kind: 'choice', ref: storedId(item.choice) };
  if (item.kind === 'control' && item.control === 'stop') {
    return { dedupe, person, kind: 'stop', ref: storedId(item.runId ?? '') };
  }
  return { dedupe, person, kind: 'other', ref: '' };
}
