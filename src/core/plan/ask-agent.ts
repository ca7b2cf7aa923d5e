import { z } from 'zod';
import type { ToolSchema } from '../llm/model.js';
import { parametersOf, parseArguments } from './tool-arguments.js';

const OPTIONS = { min: 3, max: 5, length: 200 } as const;

const ask = z.strictObject({
  reason: z.string().trim().min(1).max(1_000).describe('why the work cannot go on without the answer'),
  blockerType: z.enum(['missing_required_input', 'tool_unavailable', 'ambiguous_goal']),
  question: z.string().trim().min(1).max(500).describe('short; the title of the card'),
  options: z
    .array(z.string().trim().min(1).max(OPTIONS.length))
    .min(OPTIONS.min)
    .max(OPTIONS.max)
    .describe('shown as buttons; each a complete answer on its own, all different'),
});

/** A question to the person: 3 to 5 options, trimmed and distinct, each a complete answer. */
export type Ask = z.infer<typeof ask>;

/** The tool that asks the person, as the model sees it (seed 000, 3.3.4). */
export const askAgentSchema: ToolSchema = {
  name: 'ask_agent',
  description: [
    'Asks the person and pauses until they answer. Only for a hard blocker: private input, account or data that only',
    'the person has; a needed tool that is missing without substitute; a goal so unclear that the kind of result is',
    'unknown. Never for preferences, for permission to go on, or for what a tool or a sensible assumption can settle.',
  ].join(' '),
  parameters: parametersOf(ask),
};

/** Reads a call of ask_agent. Never throws; `message` is the tool result, so that the model can correct its call. */
export function parseAsk(
  argumentsJson: string,
): { readonly ok: true; readonly ask: Ask } | { readonly ok: false; readonly message: string } {
  const parsed = parseArguments(ask, argumentsJson);
  if (!parsed.ok) return { ok: false, message: `Invalid arguments, nobody was asked: ${parsed.problem}` };
  const different = new Set(parsed.value.options.map((option) => option.toLowerCase()));
  if (different.size < parsed.value.options.length) {
    return { ok: false, message: 'Invalid arguments, nobody was asked: the options must differ from each other' };
  }
  return { ok: true, ask: parsed.value };
}
