import { expect, it } from 'vitest';
import { applyPlanUpdate, type Plan, plan } from '../../../src/core/plan/state.js';
import { createRandom, type Random } from '../../fakes/random.js';
import { deepFreeze, planOf, step } from './sample-plan.js';

const STATUSES = ['pending', 'in_progress', 'done', 'blocked', 'skipped'] as const;

function randomSteps(random: Random) {
  const count = 1 + random.below(5);
  // Few names, so that plans share steps and now and then repeat one.
  return Array.from({ length: count }, (_, index) =>
    step(`s${random.below(12) === 0 ? index : index + random.below(2) * 5}`, {
      status: random.pick(STATUSES),
      evidence: random.below(2) ? [{ kind: 'manual', summary: `e${random.below(3)}` }] : [],
      ...(random.below(3) === 0 && { outputSummary: 'summary' }),
      ...(random.below(3) === 0 && { blocker: 'blocker' }),
    }),
  );
}

function randomUpdate(random: Random): unknown {
  switch (random.below(8)) {
    case 0:
      return { action: 'set_plan', plan: planOf(randomSteps(random), { planId: `p${random.below(3)}` }) };
    case 1:
    case 2:
      return { action: 'replace_plan', plan: planOf(randomSteps(random)) };
    case 3:
      return random.pick([{ action: 'update_step' }, { action: 'x' }, null, 5, []]);
    default:
      return {
        action: 'update_step',
        stepId: `s${random.below(7)}`,
        status: random.pick(STATUSES),
        ...(random.below(2) && { reason: 'because' }),
        ...(random.below(2) && { evidence: [{ kind: 'tool_result', summary: `e${random.below(3)}` }] }),
      };
  }
}

const finished = (steps: Plan['steps']) => steps.filter(({ status }) => status === 'done').map(({ id }) => id);

it('never changes its input, changes nothing on failure, and keeps every plan valid', () => {
  const random = createRandom(20_260);
  const outcomes = { applied: 0, refused: 0 };
  let current: Plan | null = null;
  for (let call = 0; call < 1_500; call += 1) {
    if (random.below(40) === 0) current = null;
    const before: Plan | null = current && deepFreeze(current);
    const copy = JSON.stringify(before);
    const updates = Array.from({ length: 1 + random.below(3) }, () => randomUpdate(random));
    const result = applyPlanUpdate(before, JSON.stringify({ updates }), () => 'new-id');
    expect(JSON.stringify(before)).toBe(copy);
    if (result.ok) {
      outcomes.applied += 1;
      expect(plan.parse(result.plan)).toEqual(result.plan);
      expect(new Set(result.plan.steps.map(({ id }) => id)).size).toBe(result.plan.steps.length);
      current = result.plan;
    } else {
      outcomes.refused += 1;
      expect(result.plan).toBe(before);
    }
  }
  expect(outcomes.applied).toBeGreaterThan(200);
  expect(outcomes.refused).toBeGreaterThan(200);
});

it('gives after a batch what the same updates give one by one', () => {
  const random = createRandom(7);
  let compared = 0;
  for (let round = 0; round < 500; round += 1) {
    const start = planOf([step('s0'), step('s1'), step('s2', { status: 'done' }), step('s3')]);
    const updates = Array.from({ length: 1 + random.below(4) }, () => randomUpdate(random));
    const batch = applyPlanUpdate(start, JSON.stringify({ updates }), () => 'new-id');
    let single: Plan | null = start;
    let failed = false;
    for (const update of updates) {
      const result = applyPlanUpdate(single, JSON.stringify({ updates: [update] }), () => 'new-id');
      failed ||= !result.ok;
      single = result.plan;
      if (failed) break;
    }
    expect(batch.ok).toBe(!failed);
    expect(batch.plan).toEqual(failed ? start : single);
    compared += failed ? 0 : 1;
  }
  expect(compared).toBeGreaterThan(60);
});

it('never loses a finished step to replace_plan and takes no new one for finished', () => {
  const random = createRandom(99);
  let replaced = 0;
  for (let round = 0; round < 400; round += 1) {
    const ids = new Set<string>();
    const steps = randomSteps(random).filter(({ id }) => !ids.has(id) && ids.add(id));
    const before = planOf(steps);
    const update = { action: 'replace_plan', plan: planOf(randomSteps(random)) };
    const result = applyPlanUpdate(before, JSON.stringify({ updates: [update] }));
    if (!result.ok) continue;
    replaced += 1;
    expect(finished(result.plan.steps)).toEqual(expect.arrayContaining(finished(steps)));
    const invented = finished(result.plan.steps).filter((id) => !before.steps.some((old) => old.id === id));
    expect(invented).toEqual([]);
    expect(result.plan.planId).toBe('p1');
  }
  expect(replaced).toBeGreaterThan(100);
});
