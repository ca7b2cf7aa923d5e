import { z } from 'zod';
import { planState } from '../plan/state.js';
import { compressionState } from './compression-state.js';
import { loopState } from './run-state.js';

/** What a person decided about a call that waited for approval. */
const decision = z.object({ decision: z.enum(['run', 'deny']), reason: z.string() });

/** A call that waits for what a person gives it. */
const interactiveCall = z.object({
  text: z.string(),
  options: z.array(z.object({ id: z.string(), label: z.string() })),
  /** The tool's own, handed back when the call goes on. */
  resumeData: z.unknown().optional(),
});

/**
 * One turn of an agent as data: what the kernel needs, and beside it what the levels of autonomy and the hooks keep.
 * Committed at every boundary; any process can go on from it (design 4). Tool schemas are never part of it.
 */
export const turnState = z.object({
  v: z.literal(1),
  loop: loopState,
  /** Mode `plan` only. */
  plan: planState.optional(),
  compression: compressionState,
  /** Names that `load_tools` brought in. */
  loadedTools: z.array(z.string()),
  /** Calls that a rule wants a person's yes for each time: "always here" is not offered. */
  ruled: z.array(z.string()),
  /** By call id; read when the call comes up again after its approval. */
  decisions: z.record(z.string(), decision),
  /** By call id: suspended as `interactive`, or being resumed. */
  interactive: z.record(z.string(), interactiveCall),
  /** Answers for calls that suspended as `interactive`, until their results are written. */
  answers: z.array(z.object({ callId: z.string(), answer: z.string() })),
});

export type TurnState = z.infer<typeof turnState>;
