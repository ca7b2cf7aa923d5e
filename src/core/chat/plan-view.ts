import { z } from 'zod';

export const STEP_STATUSES = ['pending', 'in_progress', 'done', 'blocked', 'skipped'] as const;

/** A plan as people see it: a short checklist. `hidden` counts further steps that are not listed. */
export const planView = z.object({
  title: z.string(),
  steps: z.array(z.object({ title: z.string(), status: z.enum(STEP_STATUSES) })).readonly(),
  hidden: z.number().int(),
});

export type PlanView = z.infer<typeof planView>;

const MARKS = { pending: '☐', in_progress: '▶', done: '☑', blocked: '⚠', skipped: '⊘' } as const;

/** The checklist as plain lines, for platforms without a block of their own for plans. */
export function planLines(plan: PlanView): string[] {
  const lines = plan.steps.map(({ title, status }) => `${MARKS[status]} ${title}`);
  return [plan.title, ...lines, ...(plan.hidden > 0 ? [`… +${plan.hidden}`] : [])].filter((line) => line !== '');
}
