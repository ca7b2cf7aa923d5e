import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { requiresPlan } from './require-plan.js';
import { type Revision, replacePlan, setPlan, updateStep } from './revision.js';
import { checkValue, parseArguments } from './tool-arguments.js';
import { planBody, planLimits, planUpdate, stepStatus, uncheckedBatch } from './update-plan.js';

/** A plan as it is kept: what the model sends, with an id. */
export const plan = planBody.extend({ planId: z.string() });

/** What mode `plan` keeps beside the kernel's state, stored with it. */
export const planState = z.object({
  plan: plan.nullable(),
  /** A business tool ran since the last plan update: its result may not be recorded yet. */
  dirty: z.boolean(),
  /** The person asked for a plan: no end without one. */
  requirePlan: z.boolean(),
  /** Answers the stop gate refused in this run. */
  rejections: z.number().int(),
  /** People steered the run since the last plan update: even a finished plan does not force the answer now. */
  steered: z.boolean(),
});

export type Plan = z.infer<typeof plan>;
export type PlanStep = Plan['steps'][number];
export type StepStatus = PlanStep['status'];
export type PlanState = z.infer<typeof planState>;

/** What a call of update_plan did. After a failure `plan` is the caller's own, untouched; `message` is the tool result. */
export type PlanUpdateResult =
  | { readonly ok: true; readonly plan: Plan; readonly message: string; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly plan: Plan | null; readonly message: string };

const MAX_WARNINGS = 20;

/** The state at a turn's start; `text` is what the person wrote. */
export function createPlanState(text: string): PlanState {
  return { plan: null, dirty: false, requirePlan: requiresPlan(text), rejections: 0, steered: false };
}

/**
 * Applies a call of update_plan (seed 000, 3.3.3): its updates in order to a working copy, all of them or none. Never
 * throws and changes neither argument; `newId` names a plan that came without an id.
 */
export function applyPlanUpdate(
  current: Plan | null,
  argumentsJson: string,
  newId: () => string = randomUUID,
): PlanUpdateResult {
  const parsed = parseArguments(uncheckedBatch, argumentsJson);
  if (!parsed.ok) return refused(current, `Invalid arguments, nothing was applied: ${parsed.problem}`);
  const { updates } = parsed.value;
  const warnings: string[] = [];
  let working = current;
  for (const [index, update] of updates.entries()) {
    const revision = revise(working, update, newId);
    if (!revision.ok) {
      const position = `Update ${index + 1} of ${updates.length} failed, nothing was applied`;
      return refused(current, `${position}: ${revision.problem}`);
    }
    working = revision.plan;
    warnings.push(...revision.warnings);
  }
  if (!working || JSON.stringify(working).length > planLimits.total) {
    return refused(
      current,
      `Nothing was applied: the plan would exceed ${planLimits.total} characters; shorten texts.`,
    );
  }
  const kept = warnings.slice(0, MAX_WARNINGS);
  const counted = updates.length === 1 ? '1 update applied.' : `${updates.length} updates applied.`;
  const lines = [`${counted} ${progress(working)}`, ...kept.map((warning) => `Warning: ${warning}`)];
  return { ok: true, plan: working, message: lines.join('\n'), warnings: kept };
}

function revise(working: Plan | null, update: unknown, newId: () => string): Revision {
  const checked = checkValue(planUpdate, update);
  if (!checked.ok) return { ok: false, problem: `invalid arguments: ${checked.problem}` };
  switch (checked.value.action) {
    case 'set_plan':
      return setPlan(checked.value.plan, newId);
    case 'replace_plan':
      return replacePlan(working, checked.value.plan, newId);
    case 'update_step':
      return updateStep(working, checked.value);
  }
}

function refused(current: Plan | null, message: string): PlanUpdateResult {
  return { ok: false, plan: current, message };
}

/** Counts per status, those that occur. */
function progress({ steps }: Plan): string {
  const counts = stepStatus.options
    .map((status) => ({ status, count: steps.filter((step) => step.status === status).length }))
    .filter(({ count }) => count > 0)
    .map(({ status, count }) => `${count} ${status}`);
  return `Progress: ${counts.join(', ')}.`;
}
