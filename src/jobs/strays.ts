import { bodiesOf } from '../core/chat/delivery.js';
import type { NumberedItem } from '../core/chat/message.js';
import { PlatformError } from '../core/errors.js';
import type { Logger } from '../core/ports/logger.js';
import type { Reading } from '../core/ports/store.js';
import type { Desk } from './desk.js';

type Stray = Extract<NumberedItem, { kind: 'stray' }>;

/**
 * Repairs what a superseded worker may have touched late (reference/protocol M6): the slot's current text is rendered
 * again, an unrecorded message is adopted, a message that is not the slot's own is removed. Only the holder does this;
 * the other worker never cleans up itself, since its successor may have adopted the same message.
 */
export async function repairStrays(desk: Desk, reading: Reading, logger: Logger): Promise<void> {
  const strays = reading.items.filter((item): item is Stray => item.kind === 'stray');
  const again = new Set<string>();
  const logged = (error: unknown): void => {
    if (!(error instanceof PlatformError)) throw error;
    logger.warn({ conversation: desk.session.key, err: error }, 'a stray message could not be removed');
  };
  for (const stray of strays) {
    const own = reading.live[stray.slot];
    const removed = own?.startsWith('x') ?? false;
    if (own === '' && stray.messageId !== undefined) await desk.session.record(stray.slot, stray.messageId);
    else if (stray.messageId !== undefined && own !== undefined && (removed || own !== stray.messageId)) {
      await desk.session.check();
      const place = placeOf(desk, stray.slot);
      // A message that stays is better than a conversation that stands still.
      if (place) await desk.adapter.remove(place, stray.messageId).catch(logged);
      continue;
    }
    again.add(stray.slot);
  }
  // What is shown for good goes through the outbox once more; a running answer is re-rendered by its run.
  const outbox = desk.state.shown.filter((entry) => bodiesOf(entry, desk.adapter).some(({ slot }) => again.has(slot)));
  await desk.commit((state) => state, { ack: strays.map((stray) => stray.seq), outbox });
}

function placeOf(desk: Desk, slot: string) {
  const answer = slot.split('.')[0];
  return (
    desk.state.shown.find((entry) => entry.slot === answer || entry.slot === slot)?.place ?? desk.state.turn?.place
  );
}
