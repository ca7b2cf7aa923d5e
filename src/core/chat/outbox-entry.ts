import { z } from 'zod';
import { planView } from './plan-view.js';

const place = z.object({
  platform: z.string(),
  account: z.string(),
  space: z.string(),
  thread: z.string().optional(),
  replyTo: z.string().optional(),
  direct: z.boolean().optional(),
});

const button = z.object({ id: z.string(), label: z.string(), style: z.enum(['primary', 'danger']).optional() });

/**
 * What waits to be shown for good (design 5). `answer` is a whole text, paged into slots `${slot}.0`, `${slot}.1`, …
 * with surplus pages removed (an answer without text, plan and footer leaves no message at all); `note` is one short text of
 * the gateway itself in slot `${slot}`.
 */
export const outboxEntry = z.object({
  v: z.literal(1),
  kind: z.enum(['answer', 'note']),
  slot: z.string(),
  place,
  state: z.enum(['final', 'stopped', 'error']),
  markdown: z.string(),
  status: z.array(z.string()).optional(),
  plan: planView.optional(),
  reasoning: z.string().optional(),
  buttons: z.array(button).optional(),
  footer: z.string().optional(),
});

export type OutboxEntryBody = z.infer<typeof outboxEntry>;
