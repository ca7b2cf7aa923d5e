import type { NumberedItem } from '../core/chat/message.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import type { Reading } from '../core/ports/store.js';
import type { Texts } from '../core/ports/texts.js';
import type { Desk } from './desk.js';

export type ControlMessage = Extract<NumberedItem, { kind: 'control' }>;

/** Control words that are answered at once, also while a run is active. */
export function isAside(item: NumberedItem): item is ControlMessage {
  return item.kind === 'control' && (item.control === 'status' || item.control === 'help');
}

/** Answers one control word with a short note. `/new` forgets the history; it waits for the end of an active run. */
export async function answerControl(desk: Desk, item: ControlMessage, texts: Texts, reading: Reading): Promise<void> {
  const table = texts.for(item.locale);
  const turn = desk.state.turn;
  const line = {
    // A stop that still lies here came while nothing ran and was overtaken by the flag's own handling.
    stop: table.nothingRuns,
    new: table.newConversation,
    help: table.help,
    status: turn
      ? table.statusRunning(Math.round((reading.now - turn.startedAt) / 1000), turn.loop?.round ?? 1)
      : table.statusIdle,
  }[item.control];
  await desk.commit((state) => (item.control === 'new' ? { ...state, history: [] } : state), {
    ack: [item.seq],
    outbox: [noteFor(item, line)],
  });
}

/** A short text of the gateway itself, as an answer to this item. */
export function noteFor(item: ControlMessage, markdown: string): OutboxEntryBody {
  return {
    v: 1,
    kind: 'note',
    slot: `n${item.seq}`,
    place: { ...item.place, replyTo: item.place.replyTo ?? item.messageId },
    state: 'final',
    markdown,
  };
}
