import { z } from 'zod';

/**
 * What compression knows of one turn. Messages of earlier turns are numbered for as long as a conversation lives, so
 * that the same span is never summarised twice, also when the oldest are trimmed.
 */
export const compressionState = z.object({
  /** Index in `loop.messages` of the message that started the turn; only what stands before it may be compressed. */
  turnAt: z.number().int(),
  /** Number of the earlier message that stands first in the chain (behind system prompt and summary). */
  historyFrom: z.number().int(),
  /** Stands for all earlier messages numbered below `through`. */
  summary: z.object({ text: z.string(), through: z.number().int() }).nullable(),
  /** Estimated tokens when a summary was last tried; the next try waits until the chain has grown (cool-down). */
  triedAt: z.number(),
  /** Failed tries in a row. */
  failures: z.number().int(),
  /** Corrects the estimate: reported over estimated input tokens, learned from the run's own requests. */
  factor: z.number(),
});

export type CompressionState = z.infer<typeof compressionState>;
