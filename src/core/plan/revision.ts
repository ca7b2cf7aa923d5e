import type { Plan, PlanStep } from './state.js';
import { type PlanBody, type PlanUpdate, planLimits } from './update-plan.js';

type StepUpdate = Extract<PlanUpdate, { action: 'update_step' }>;
type Evidence = PlanStep['evidence'];

/** What one update makes of a plan: a new plan, never the old one changed. `problem` is a text for the model. */
export type Revision =
  | { readonly ok: true; readonly plan: Plan; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problem: string };

/** Takes the plan as given, statuses included, whatever there was before. */
export function setPlan(body: PlanBody, newId: () => string): Revision {
  const problem = repeatedIds(body);
  if (problem) return { ok: false, problem };
  return { ok: true, plan: { ...body, planId: body.planId ?? newId() }, warnings: [] };
}

/** Sets one step's status; evidence is added, an old blocker and an old request to replan end with the update. */
export function updateStep(plan: Plan | null, update: StepUpdate): Revision {
  if (!plan) return { ok: false, problem: 'there is no plan yet; create one with set_plan' };
  const step = plan.steps.find(({ id }) => id === update.stepId);
  if (!step) {
    const known = plan.steps.map(({ id }) => id).join(', ');
    return { ok: false, problem: `there is no step ${JSON.stringify(update.stepId)}; the steps are: ${known}` };
  }
  const blocker = filled(update.blocker) ?? filled(update.reason);
  if (update.status === 'blocked' && !blocker) {
    return { ok: false, problem: `step "${step.id}" is blocked, so it needs a blocker (or a reason)` };
  }
  const { blocker: _past, needsReplan: _asked, ...kept } = step;
  const outputSummary = filled(update.outputSummary) ?? step.outputSummary;
  const evidence = [...step.evidence, ...(update.evidence ?? [])];
  const revised: PlanStep = {
    ...kept,
    status: update.status,
    evidence: newest(evidence),
    ...(outputSummary !== undefined && { outputSummary }),
    ...(update.status === 'blocked' && { blocker }),
    ...(update.needsReplan && { needsReplan: true }),
  };
  const warnings: string[] = [];
  if (update.status === 'done' && !update.evidence?.length && !filled(outputSummary)) {
    warnings.push(`step "${step.id}" is done without evidence or outputSummary`);
  }
  if (evidence.length > planLimits.evidence) {
    warnings.push(`step "${step.id}" keeps only the newest ${planLimits.evidence} pieces of evidence`);
  }
  return { ok: true, plan: { ...plan, steps: plan.steps.map((old) => (old === step ? revised : old)) }, warnings };
}

/**
 * Takes a revised plan and keeps what was finished: done steps stay done with their results, also when the new plan
 * leaves them out; steps that are new start as pending, whatever the model claims.
 */
export function replacePlan(current: Plan | null, body: PlanBody, newId: () => string): Revision {
  if (!current) return setPlan(body, newId);
  const problem = repeatedIds(body);
  if (problem) return { ok: false, problem };
  const before = new Map(current.steps.map((step) => [step.id, step]));
  const named = new Set(body.steps.map(({ id }) => id));
  const left = current.steps.filter(({ id, status }) => status === 'done' && !named.has(id));
  const steps = [...body.steps.map((step) => mergeStep(step, before.get(step.id))), ...left];
  if (steps.length > planLimits.steps) {
    const problem = `with the finished steps that stay it has ${steps.length} steps; at most ${planLimits.steps} fit`;
    return { ok: false, problem };
  }
  const reset = body.steps.filter(({ id, status }) => !before.has(id) && status !== 'pending');
  const reopened = body.steps.filter(({ id, status }) => before.get(id)?.status === 'done' && status !== 'done');
  const warnings = [
    ...warning(left, 'finished steps were left out and stay at the end'),
    ...warning(reset, 'new steps start as pending'),
    ...warning(reopened, 'finished steps stay done'),
  ];
  return { ok: true, plan: { ...body, planId: current.planId, steps }, warnings };
}

function mergeStep(step: PlanStep, old: PlanStep | undefined): PlanStep {
  const { blocker: _blocker, needsReplan: _asked, outputSummary, ...rest } = step;
  if (!old) return { ...rest, status: 'pending', evidence: [] };
  const evidence = newest(distinct([...old.evidence, ...step.evidence]));
  if (old.status !== 'done') return { ...step, evidence };
  const summary = filled(outputSummary) ?? old.outputSummary;
  return { ...rest, status: 'done', evidence, ...(summary !== undefined && { outputSummary: summary }) };
}

/** Two steps with one id could not be told apart by later updates. */
function repeatedIds({ steps }: PlanBody): string | undefined {
  const ids = steps.map(({ id }) => id);
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index);
  return repeated.length > 0 ? `step ids must differ; repeated: ${[...new Set(repeated)].join(', ')}` : undefined;
}

function warning(steps: readonly PlanStep[], what: string): string[] {
  return steps.length > 0 ? [`${what}: ${steps.map(({ id }) => id).join(', ')}`] : [];
}

function distinct(evidence: Evidence): Evidence {
  const byValue = new Map(evidence.map((piece) => [JSON.stringify([piece.kind, piece.ref, piece.summary]), piece]));
  return [...byValue.values()];
}

function newest(evidence: Evidence): Evidence {
  return evidence.slice(-planLimits.evidence);
}

/** Models fill optional texts with blanks; that is not an answer. */
function filled(text: string | undefined): string | undefined {
  return text?.trim() ? text : undefined;
}
