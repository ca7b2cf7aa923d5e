import { z } from 'zod';
import type { ToolSchema } from '../llm/model.js';
import { parametersOf } from './tool-arguments.js';

/** What a plan may grow to; characters for texts. The model is told when it goes beyond. */
export const planLimits = {
  steps: 50,
  updates: 50,
  id: 64,
  title: 200,
  text: 2_000,
  criteria: 20,
  /** Entries per step. */
  evidence: 20,
  /** The whole plan as JSON: it is stored with every boundary of the run. */
  total: 100_000,
} as const;

const id = z.string().trim().min(1).max(planLimits.id);
const text = z.string().max(planLimits.text);

export const stepStatus = z.enum(['pending', 'in_progress', 'done', 'blocked', 'skipped']);

const evidence = z.object({
  kind: z.enum(['tool_result', 'model_output', 'user_input', 'manual']),
  ref: text.optional().describe('where it is found: a URL, a file, a call'),
  summary: text,
});

const planStep = z.object({
  id,
  title: z.string().trim().min(1).max(planLimits.title),
  description: text,
  acceptanceCriteria: z.array(text).max(planLimits.criteria).describe('how to tell that it is done'),
  status: stepStatus,
  evidence: z.array(evidence).max(planLimits.evidence).default([]),
  outputSummary: text.optional(),
  blocker: text.optional(),
  needsReplan: z.boolean().optional(),
});

export const planBody = z.object({
  planId: id.optional(),
  task: text.min(1),
  description: text,
  background: text.optional(),
  steps: z.array(planStep).min(1).max(planLimits.steps),
});

/** One update. set_plan and replace_plan share a variant, so that the model reads the plan's schema only once. */
export const planUpdate = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.enum(['set_plan', 'replace_plan']),
    plan: planBody,
    reason: text.optional(),
  }),
  z.strictObject({
    action: z.enum(['update_step']),
    stepId: id,
    status: stepStatus,
    evidence: z.array(evidence).max(planLimits.evidence).optional().describe('added to what the step has'),
    outputSummary: text.optional().describe('what a done step found or made'),
    blocker: text.optional().describe('required when blocked'),
    needsReplan: z.boolean().optional(),
    reason: text.optional(),
  }),
]);

export type PlanBody = z.infer<typeof planBody>;
export type PlanUpdate = z.infer<typeof planUpdate>;

const batch = z.strictObject({
  updates: z.array(planUpdate).min(1).max(planLimits.updates),
  reason: text.optional(),
});

/** The batch with its updates not looked at: each is checked in its turn, so that a failure names its position. */
export const uncheckedBatch = batch.extend({ updates: z.array(z.unknown()).min(1).max(planLimits.updates) });

/** The tool that keeps the plan, as the model sees it (seed 000, 3.3.3). */
export const updatePlanSchema: ToolSchema = {
  name: 'update_plan',
  description: [
    'Keeps the plan of the current task. Put all changes of one turn into one call; they apply in order, all or none.',
    'set_plan: a whole new plan. update_step: status, evidence and result of one step.',
    'replace_plan: a revised whole plan; keep the ids of steps that stay, finished steps are never lost.',
  ].join(' '),
  parameters: parametersOf(batch),
};
