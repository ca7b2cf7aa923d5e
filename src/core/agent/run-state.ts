import { z } from 'zod';

const toolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });

/** The chain's messages as stored; mirrors `ChatMessage`. */
export const chatMessage = z.discriminatedUnion('role', [
  z.object({ role: z.literal('system'), content: z.string() }),
  z.object({ role: z.literal('user'), content: z.string() }),
  z.object({ role: z.literal('assistant'), content: z.string(), toolCalls: z.array(toolCall).optional() }),
  z.object({ role: z.literal('tool'), toolCallId: z.string(), content: z.string() }),
]);

/**
 * What the kernel needs to go on after any boundary, also in another process. `messages` is the whole chain as the
 * model sees it; `produced` is what later turns and people may see of it (drafts refused by the gate are missing).
 */
export const loopState = z.object({
  v: z.literal(1),
  messages: z.array(chatMessage),
  produced: z.array(chatMessage),
  /** Rounds begun so far. */
  round: z.number().int(),
  /** Consecutive rounds with tool calls and no text; more than 5 puts the brake on. */
  toolOnlyRounds: z.number().int(),
  /** Already asked once more after an empty reply under the brake. */
  emptyRetried: z.boolean(),
  /** Ids of calls that were started before the last commit; a take-over does not repeat them unless idempotent. */
  startedCalls: z.array(z.string()),
  usage: z.object({ inputTokens: z.number(), outputTokens: z.number(), cost: z.number(), requests: z.number() }),
});

export type LoopState = z.infer<typeof loopState>;
