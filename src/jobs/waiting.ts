import { z } from 'zod';

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

/** When the next open card expires; null when none is open. */
export function nextExpiry(wait: Waiting | null | undefined): number | null {
  const times = wait ? openCards(wait).map(({ expiresAt }) => expiresAt) : [];
  return times.length > 0 ? Math.min(...times) : null;
}
