import { z } from 'zod';
import type { NumberedItem } from '../core/chat/message.js';
import type { Reading } from '../core/ports/store.js';
import { type InboxView, viewInbox } from './session.js';

/** One button. `id` is short and plain, as platforms want it; `value` is what the choice means. */
const option = z.object({
  id: z.string(),
  label: z.string(),
  value: z.string(),
  style: z.enum(['primary', 'danger']).optional(),
});

/** What a person decided: an option's value or a text of their own, or nothing came in time. */
const answer = z.object({
  /** For an ask or a tool's question the answer itself; for an approval `once`, `always` or `deny`. */
  value: z.string(),
  /** Why it was denied, in the person's words or the gateway's. */
  reason: z.string().optional(),
  /** Shown on the card. */
  line: z.string(),
  /** Person id; '' = the clock, or a stop. */
  by: z.string(),
});

/** One thing a person has to decide before the run goes on. */
const card = z.object({
  kind: z.enum(['ask', 'approval', 'interactive']),
  callId: z.string(),
  tool: z.string(),
  /** Id of the single-use choice in the store; buttons are `choice.option`. */
  choice: z.string(),
  /** What is asked, as markdown. */
  markdown: z.string(),
  options: z.array(option),
  /** Person ids who may decide. */
  allowed: z.array(z.string()),
  /** The store's clock, ms. */
  expiresAt: z.number(),
  answer: answer.nullable(),
});

/**
 * What an open turn waits for: one or several cards, shown together as one message. The run goes on when the last
 * one is decided, in whatever worker that happens (design 4: suspend is data, never a held promise).
 */
export const waiting = z.object({
  /** The slot of the message that shows the cards. */
  slot: z.string(),
  since: z.number(),
  /** Number of the last item there was when it was asked: nothing up to it was written in answer to it. */
  after: z.number().int().default(0),
  /** The answer that stands above, as people see it. */
  above: z.string(),
  cards: z.array(card).min(1),
});

export type Waiting = z.infer<typeof waiting>;
export type Card = z.infer<typeof card>;
export type CardAnswer = z.infer<typeof answer>;

/** Cards nobody has decided yet, in the order of their calls. */
export function openCards({ cards }: Waiting): readonly Card[] {
  return cards.filter((one) => one.answer === null);
}

/** The same cards with these answers, by choice id; what was decided before stays. */
export function withAnswers(wait: Waiting, answers: ReadonlyMap<string, CardAnswer>): Waiting {
  const cards = wait.cards.map((one) => ({ ...one, answer: one.answer ?? answers.get(one.choice) ?? null }));
  return { ...wait, cards };
}

/**
 * Waiting texts that may answer, oldest first: those that came after the question. Earlier ones, those that asked to
 * queue, and what stands behind a `/new` of one of `stoppers` mean something else.
 */
export function answeringTexts(
  { items }: Reading,
  { after }: Waiting,
  stoppers: readonly string[],
): InboxView['texts'] {
  const border = items.find((item) => isNew(item, stoppers))?.seq ?? Infinity;
  return viewInbox(items).texts.filter(({ seq, queue }) => !queue && seq > after && seq < border);
}

/** A `/new` that may end the run: whoever may not stop it cannot end it this way either, and waits for its end. */
export function isNew(item: NumberedItem, stoppers: readonly string[]): boolean {
  return item.kind === 'control' && item.control === 'new' && stoppers.includes(item.person.id);
}

/** When the next open card expires; null when none is open. */
export function nextExpiry(wait: Waiting | null | undefined): number | null {
  const times = wait ? openCards(wait).map(({ expiresAt }) => expiresAt) : [];
  return times.length > 0 ? Math.min(...times) : null;
}
