import type { Steering } from '../core/agent/hooks.js';
import { mergeSteering } from '../core/agent/steering.js';
import type { Reading } from '../core/ports/store.js';
import { type TakenText, type Turn, takenText } from './conversation-state.js';
import { type InboxView, viewInbox } from './session.js';

/** Texts taken since the last commit; it acks them together with the chain that holds them. */
export interface Intake {
  readonly acks: readonly number[];
  readonly taken: readonly TakenText[];
}

export interface Taken {
  readonly steering: Steering;
  readonly seqs: readonly number[];
  readonly items: readonly (TakenText & { readonly place: Turn['place'] })[];
}

/**
 * What of the inbox steers the run now (design 3, row text; edits of taken texts are corrections): everything that
 * waits, merged, up to the cap. A waiting `/new` is a border: what comes after it belongs to the next conversation.
 */
export function takeSteering(reading: Reading, turn: Turn, intake: Intake): Taken | undefined {
  const fresh = reading.items.filter((item) => !intake.acks.includes(item.seq));
  const border = fresh.find((item) => item.kind === 'control' && item.control === 'new')?.seq ?? Infinity;
  const waiting = steeringTexts(viewInbox(fresh.filter((item) => item.seq < border)), turn, intake);
  const authors = [...intake.taken.map((t) => t.person), ...waiting.map((w) => w.person.id)];
  const people = new Set([turn.starter.id, ...turn.people, ...authors]);
  const steering = mergeSteering(
    waiting.map((w) => ({ author: w.person.name, text: w.text })),
    people.size > 1,
  );
  if (!steering) return undefined;
  const taken = waiting.slice(0, steering.count);
  return {
    steering,
    seqs: taken.flatMap(({ seqs }) => seqs),
    items: taken.map((text) => ({ ...takenText(text), place: text.place })),
  };
}

function steeringTexts(view: InboxView, turn: Turn, intake: Intake) {
  const known = new Set([turn.messageId, ...turn.taken, ...intake.taken.map((t) => t.messageId)]);
  return [
    ...view.texts.filter((text) => !text.queue),
    ...view.corrections.filter((edit) => known.has(edit.messageId)).map((edit) => ({ ...edit, seqs: [edit.seq] })),
  ].sort((a, b) => a.seq - b.seq);
}
