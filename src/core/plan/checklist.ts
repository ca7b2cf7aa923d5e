import { graphemeFloor } from '../chat/cut-positions.js';
import type { Plan, StepStatus } from './state.js';

const MAX_TITLE = 80;
const MAX_STEPS = 15;
/** Finished steps shown above the first open one when not all steps fit. */
const FINISHED_ABOVE = 2;

/** A plan as the chat shows it: bounded, one line per step. `hidden` counts the steps that are left out. */
export interface PlanView {
  readonly title: string;
  readonly steps: readonly { readonly title: string; readonly status: StepStatus }[];
  readonly hidden: number;
}

/** A longer plan is shown around its first open step, so that what goes on stays visible. */
export function planView({ task, steps }: Plan): PlanView {
  const open = steps.findIndex(({ status }) => status === 'pending' || status === 'in_progress');
  const start = Math.max(0, Math.min(open - FINISHED_ABOVE, steps.length - MAX_STEPS));
  const shown = steps.slice(start, start + MAX_STEPS);
  return {
    title: line(task),
    steps: shown.map(({ title, status }) => ({ title: line(title), status })),
    hidden: steps.length - shown.length,
  };
}

/** One line of at most 80 characters, never cut inside a character as a person sees it. */
function line(text: string): string {
  const whole = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return whole.length > MAX_TITLE ? `${whole.slice(0, graphemeFloor(whole, MAX_TITLE - 1, 0)).trimEnd()}…` : whole;
}
