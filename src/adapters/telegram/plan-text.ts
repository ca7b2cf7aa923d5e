import { type PlanView, planLines } from '../../core/chat/plan-view.js';
import { oneLine } from './text-cut.js';

const CAPS = { line: 100, steps: 20 } as const;

/** The checklist, one step a line, '' without a plan. Titles are a model's words, so they are bounded here too. */
export function planText(plan: PlanView | undefined): string {
  return plan ? planLines(bounded(plan)).join('\n') : '';
}

/** How far it is, and what is being done, in one line: `▶ 3/7 Title`. */
export function planSummary(plan: PlanView | undefined): string {
  if (!plan) return '';
  const { steps, hidden } = plan;
  const done = steps.filter(({ status }) => status === 'done' || status === 'skipped').length;
  const current = steps.find(({ status }) => status === 'in_progress');
  const mark = current ? '▶' : done === steps.length ? '☑' : '☐';
  const count = `${done}/${steps.length}${hidden > 0 ? ` +${hidden}` : ''}`;
  return `${mark} ${count} ${oneLine(current?.title ?? plan.title, CAPS.line)}`;
}

function bounded({ title, steps, hidden }: PlanView): PlanView {
  const shown = steps.slice(0, CAPS.steps);
  return {
    title: oneLine(title, CAPS.line),
    steps: shown.map((step) => ({ title: oneLine(step.title, CAPS.line), status: step.status })),
    hidden: hidden + steps.length - shown.length,
  };
}
