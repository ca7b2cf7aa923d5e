import type { PlanState, PlanStep } from './state.js';

export type StopGateReason = 'plan_missing' | 'plan_incomplete' | 'result_unrecorded';

/** May the run end now? `feedback` is a user message for the model. */
export type StopGateResult =
  | { readonly allow: true }
  | { readonly allow: false; readonly reason: StopGateReason; readonly feedback: string };

/** Steps named in one feedback; more would only repeat the point. */
const MAX_LINES = 20;

/**
 * The stop gate (seed 000, 3.3.3): no end while a plan the person asked for is missing, while a step is open, blocked
 * without a blocker or waiting for a new plan, or while a tool's result is not recorded.
 */
export function runStopGate({ plan, dirty, requirePlan }: PlanState): StopGateResult {
  if (!plan) return requirePlan ? refusal('plan_missing', MISSING) : { allow: true };
  const open = plan.steps.map((step) => ({ step, faults: faultsOf(step) })).filter(({ faults }) => faults.length > 0);
  if (open.length === 0 && !dirty) return { allow: true };
  if (open.length === 0) return refusal('result_unrecorded', [UNRECORDED, RECORD, CLOSING]);
  const lines = open.slice(0, MAX_LINES).map(({ step, faults }) => {
    return `- ${plain(step.id)} "${plain(step.title)}" (${step.status}): ${faults.join('; ')}`;
  });
  const more = open.length > MAX_LINES ? [`- and ${open.length - MAX_LINES} more`] : [];
  return refusal('plan_incomplete', [INCOMPLETE, ...lines, ...more, ...(dirty ? [RECORD] : []), CLOSING]);
}

const MISSING = [
  'You may not finish yet: the person explicitly asked for a plan and there is none.',
  'Call update_plan with set_plan first (a short plan is enough), then carry it out.',
];
const INCOMPLETE = 'You may not finish yet. These steps of the plan are not resolved:';
const UNRECORDED =
  'You may not finish yet: all steps are resolved, but the results of your latest tool calls are not recorded.';
const RECORD = 'Record the results of your latest tool calls with update_plan before anything else.';
const CLOSING =
  'Go on with the work and use tools where needed, or call update_plan to finish, block, skip or revise steps.';

function faultsOf({ status, blocker, needsReplan }: PlanStep): string[] {
  const faults: string[] = [];
  if (needsReplan) faults.push('needs replanning');
  if (status === 'pending' || status === 'in_progress') faults.push('not resolved');
  if (status === 'blocked' && !blocker?.trim()) faults.push('blocked without a blocker');
  return faults;
}

function refusal(reason: StopGateReason, lines: readonly string[]): StopGateResult {
  return { allow: false, reason, feedback: `<stop_gate_feedback>\n${lines.join('\n')}\n</stop_gate_feedback>` };
}

/** The plan's text is the model's: it must neither close the tag nor begin a line of its own. */
function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
