import { describe, expect, it } from 'vitest';
import { applyPlanUpdate, createPlanState, type Plan, plan, planState } from '../../../src/core/plan/state.js';
import { planLimits } from '../../../src/core/plan/update-plan.js';
import { deepFreeze, planOf, step } from './sample-plan.js';

const found = { kind: 'tool_result', ref: 'call_1', summary: 'three vendors' } as const;
const more = { kind: 'model_output', summary: 'prices compared' } as const;

function update(current: Plan | null, ...updates: readonly unknown[]) {
  return applyPlanUpdate(deepFreeze(current), JSON.stringify({ updates }), () => 'new-id');
}

/** The plan of an update that must succeed. */
function updated(current: Plan | null, ...updates: readonly unknown[]): Plan {
  const result = update(current, ...updates);
  if (!result.ok) throw new Error(result.message);
  return result.plan;
}

describe('a fresh plan state', () => {
  it('has no plan and knows whether the person asked for one', () => {
    const fresh = { plan: null, dirty: false, requirePlan: false, rejections: 0, steered: false };
    expect(createPlanState('hello')).toEqual(fresh);
    expect(createPlanState('先列个计划').requirePlan).toBe(true);
  });

  it('survives being stored', () => {
    const state = { ...createPlanState('use plan mode'), plan: planOf([step('s1', { evidence: [found] })]) };
    expect(planState.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
  });
});

describe('update_step', () => {
  it('finishes a step with evidence in new objects and counts the progress', () => {
    const before = planOf([step('s1'), step('s2')]);
    const result = update(before, { action: 'update_step', stepId: 's1', status: 'done', evidence: [found] });
    expect(result).toMatchObject({ ok: true, warnings: [] });
    expect(result.plan).not.toBe(before);
    expect(result.plan?.steps[0]).toEqual(step('s1', { status: 'done', evidence: [found] }));
    expect(before.steps[0]).toEqual(step('s1'));
    expect(result.message).toBe('1 update applied. Progress: 1 pending, 1 done.');
  });

  it('refuses without a plan and points to set_plan', () => {
    const result = update(null, { action: 'update_step', stepId: 's1', status: 'done' });
    expect(result).toMatchObject({ ok: false, plan: null, message: expect.stringContaining('set_plan') });
  });

  it('refuses an unknown step with its name and the names there are', () => {
    const before = planOf([step('s1'), step('s2')]);
    const result = update(before, { action: 'update_step', stepId: 's9', status: 'done' });
    expect(result).toMatchObject({ ok: false, message: expect.stringMatching(/"s9".*s1, s2/) });
    expect(result.plan).toBe(before);
  });

  it.each([{}, { blocker: '  ' }, { reason: '' }, { blocker: null }])(
    'refuses a block without a cause: %j',
    (fields) => {
      const before = planOf([step('s1')]);
      const result = update(before, { action: 'update_step', stepId: 's1', status: 'blocked', ...fields });
      expect(result).toMatchObject({ ok: false, message: expect.stringContaining('needs a blocker') });
      expect(result.plan).toBe(before);
    },
  );

  it('takes the blocker, and the reason when there is none', () => {
    const block = { action: 'update_step', stepId: 's1', status: 'blocked', reason: 'no login' };
    expect(updated(planOf([step('s1')]), block).steps[0]?.blocker).toBe('no login');
    expect(updated(planOf([step('s1')]), { ...block, blocker: 'no access' }).steps[0]?.blocker).toBe('no access');
  });

  it('keeps a reason only as a blocker', () => {
    const plan = updated(planOf([step('s1')]), {
      action: 'update_step',
      stepId: 's1',
      status: 'skipped',
      blocker: 'stale',
      reason: 'not needed',
    });
    expect(plan.steps[0]).toEqual(step('s1', { status: 'skipped' }));
  });

  it('appends evidence in order', () => {
    const once = updated(planOf([step('s1')]), {
      action: 'update_step',
      stepId: 's1',
      status: 'in_progress',
      evidence: [found],
    });
    const twice = updated(once, { action: 'update_step', stepId: 's1', status: 'done', evidence: [more] });
    expect(twice.steps[0]?.evidence).toEqual([found, more]);
  });

  it('keeps only the newest evidence beyond the limit and says so', () => {
    const pieces = Array.from({ length: planLimits.evidence }, (_, index) => ({ ...more, summary: `piece ${index}` }));
    const result = update(planOf([step('s1', { evidence: pieces })]), {
      action: 'update_step',
      stepId: 's1',
      status: 'in_progress',
      evidence: [found],
    });
    expect(result).toMatchObject({ ok: true, warnings: [expect.stringContaining('newest 20')] });
    expect(result.plan?.steps[0]?.evidence).toEqual([...pieces.slice(1), found]);
  });

  it.each([
    ['nothing at all', {}, {}, true],
    ['blank summary', {}, { outputSummary: ' ' }, true],
    ['only old evidence', { evidence: [found] }, {}, true],
    ['new evidence', {}, { evidence: [found] }, false],
    ['a new summary', {}, { outputSummary: 'three vendors' }, false],
    ['a stored summary', { outputSummary: 'three vendors' }, {}, false],
  ])('finishes a step with %s, and warns when nothing shows it', (_name, stored, sent, warned) => {
    const result = update(planOf([step('s1', stored)]), {
      action: 'update_step',
      stepId: 's1',
      status: 'done',
      ...sent,
    });
    expect(result.ok && result.warnings).toHaveLength(warned ? 1 : 0);
    expect(result.message.includes('Warning: step "s1" is done without evidence or outputSummary')).toBe(warned);
  });

  it('replaces the summary only when one is given', () => {
    const before = planOf([step('s1', { outputSummary: 'old' })]);
    const done = { action: 'update_step', stepId: 's1', status: 'done' };
    expect(updated(before, done).steps[0]?.outputSummary).toBe('old');
    expect(updated(before, { ...done, outputSummary: '' }).steps[0]?.outputSummary).toBe('old');
    expect(updated(before, { ...done, outputSummary: 'new' }).steps[0]?.outputSummary).toBe('new');
  });

  it('drops the old blocker and the old wish to replan', () => {
    const before = planOf([step('s1', { status: 'blocked', blocker: 'no login', needsReplan: true })]);
    const plan = updated(before, { action: 'update_step', stepId: 's1', status: 'in_progress', needsReplan: false });
    expect(plan.steps[0]).toEqual(step('s1', { status: 'in_progress' }));
  });

  it('keeps a new wish to replan', () => {
    const plan = updated(planOf([step('s1')]), {
      action: 'update_step',
      stepId: 's1',
      status: 'pending',
      needsReplan: true,
    });
    expect(plan.steps[0]?.needsReplan).toBe(true);
  });

  it('carries no plan', () => {
    const before = planOf([step('s1')]);
    const result = update(before, { action: 'update_step', stepId: 's1', status: 'done', plan: before });
    expect(result).toMatchObject({ ok: false, message: expect.stringContaining('Unrecognized key: "plan"') });
  });
});

describe('set_plan', () => {
  it('stores the plan as given, with its id and statuses', () => {
    const given = planOf([step('s1', { status: 'done', evidence: [found] }), step('s2', { status: 'blocked' })]);
    expect(updated(null, { action: 'set_plan', plan: given })).toEqual(given);
  });

  it('overwrites the plan there is', () => {
    const given = planOf([step('x')], { planId: 'p2', background: 'why' });
    expect(updated(planOf([step('s1', { status: 'done' })]), { action: 'set_plan', plan: given })).toEqual(given);
  });

  it.each([undefined, null])('makes an id when the model gives none (%s)', (planId) => {
    const given = { ...planOf([step('s1')]), planId };
    expect(updated(null, { action: 'set_plan', plan: given }).planId).toBe('new-id');
  });

  it('makes a different id for each plan when the caller names none', () => {
    const call = JSON.stringify({
      updates: [{ action: 'set_plan', plan: { ...planOf([step('s1')]), planId: undefined } }],
    });
    const ids = [1, 2].map(() => applyPlanUpdate(null, call).plan?.planId);
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('takes null for fields left out', () => {
    const bare = { ...step('s1'), evidence: null, outputSummary: null, blocker: null, needsReplan: null };
    const given = { planId: 'p1', task: 'Compare vendors', description: '', background: null, steps: [bare] };
    const plan = updated(null, { action: 'set_plan', plan: given, reason: null });
    expect(plan).toEqual(planOf([step('s1')]));
    expect(Object.keys(plan)).not.toContain('background');
  });

  it('refuses a null where a field is required', () => {
    const result = update(null, { action: 'set_plan', plan: { ...planOf([step('s1')]), task: null } });
    expect(result).toMatchObject({ ok: false, message: expect.stringContaining('plan.task') });
  });

  it('refuses two steps with one id', () => {
    const result = update(null, { action: 'set_plan', plan: planOf([step('s1'), step('s2'), step('s1')]) });
    expect(result).toMatchObject({ ok: false, plan: null, message: expect.stringContaining('repeated: s1') });
  });
});

describe('replace_plan', () => {
  it('is set_plan when there is no plan', () => {
    const given = planOf([step('s1', { status: 'done' })], { planId: 'p7' });
    expect(updated(null, { action: 'replace_plan', plan: given })).toEqual(given);
  });

  it('keeps finished steps that were dropped, resets new ones, lets go of dropped open ones', () => {
    const done = step('s1', { status: 'done', evidence: [found], outputSummary: 'three vendors' });
    const before = planOf([done, step('s2', { status: 'blocked', blocker: 'no login' })]);
    const next = step('s3', {
      status: 'done',
      evidence: [more],
      outputSummary: 'invented',
      blocker: 'x',
      needsReplan: true,
    });
    const result = update(before, { action: 'replace_plan', plan: planOf([next], { planId: 'other', task: 'New' }) });
    expect(result.plan).toEqual(planOf([step('s3'), done], { task: 'New' }));
    expect(result.ok && result.warnings).toEqual([
      'finished steps were left out and stay at the end: s1',
      'new steps start as pending: s3',
    ]);
  });

  it('keeps a finished step done with its results and takes the new wording', () => {
    const before = planOf([step('s1', { status: 'done', evidence: [found], outputSummary: 'three vendors' })]);
    const next = step('s1', { title: 'Vendors', evidence: [found, more], blocker: 'x', needsReplan: true });
    const result = update(before, { action: 'replace_plan', plan: planOf([next]) });
    expect(result.plan?.steps).toEqual([
      step('s1', { title: 'Vendors', status: 'done', evidence: [found, more], outputSummary: 'three vendors' }),
    ]);
    expect(result.ok && result.warnings).toEqual(['finished steps stay done: s1']);
  });

  it('takes the new summary of a finished step when there is one', () => {
    const before = planOf([step('s1', { status: 'done', outputSummary: 'old' })]);
    const next = planOf([step('s1', { status: 'done', outputSummary: 'new' })]);
    expect(updated(before, { action: 'replace_plan', plan: next }).steps[0]?.outputSummary).toBe('new');
  });

  it('takes the new version of an open step and merges the evidence', () => {
    const before = planOf([step('s1', { status: 'in_progress', evidence: [found], outputSummary: 'half' })]);
    const next = step('s1', { status: 'blocked', blocker: 'no login', evidence: [more, found] });
    expect(updated(before, { action: 'replace_plan', plan: planOf([next]) }).steps).toEqual([
      { ...next, evidence: [found, more] },
    ]);
  });

  it('refuses a plan that is too long with the finished steps that stay', () => {
    const before = planOf([step('old', { status: 'done' })]);
    const full = planOf(Array.from({ length: planLimits.steps }, (_, index) => step(`n${index}`)));
    const result = update(before, { action: 'replace_plan', plan: full });
    expect(result).toMatchObject({ ok: false, message: expect.stringContaining('51 steps; at most 50') });
    expect(result.plan).toBe(before);
  });
});

describe('a batch', () => {
  it('applies its updates in order and counts them', () => {
    const result = update(
      null,
      { action: 'set_plan', plan: planOf([step('s1'), step('s2')]) },
      { action: 'update_step', stepId: 's1', status: 'done', outputSummary: 'x' },
    );
    expect(result.plan?.steps.map(({ status }) => status)).toEqual(['done', 'pending']);
    expect(result.message).toContain('2 updates applied');
  });

  it('applies nothing when its second update fails', () => {
    const before = planOf([step('s1')]);
    const result = update(
      before,
      { action: 'update_step', stepId: 's1', status: 'done', evidence: [found] },
      { action: 'update_step', stepId: 's9', status: 'done' },
    );
    expect(result).toMatchObject({ ok: false, message: expect.stringContaining('2 of 2 failed, nothing was applied') });
    expect(result.plan).toBe(before);
  });

  it('leaves no plan behind when a new plan is followed by a failure', () => {
    const result = update(
      null,
      { action: 'set_plan', plan: planOf([step('s1')]) },
      { action: 'update_step', stepId: 's9', status: 'done' },
    );
    expect(result).toMatchObject({ ok: false, plan: null });
  });

  it.each([
    ['an unknown action', '{"updates":[{"action":"add_steps","steps":[]}]}', /1 of 1 .*invalid arguments/],
    ['no updates', '{}', /updates/],
    ['an empty list', '{"updates":[]}', /updates/],
    ['no arguments', '', /updates/],
    ['null', 'null', /Invalid arguments/],
    ['half of a JSON text', '{"updates":[{', /not valid JSON/],
    ['an update without an envelope', '{"action":"update_step"}', /updates/],
    ['a missing status', '{"updates":[{"action":"update_step","stepId":"s1"}]}', /status/],
    ['an unknown status', '{"updates":[{"action":"update_step","stepId":"s1","status":"ok"}]}', /status/],
    ['a misspelt field', '{"updates":[{"action":"update_step","step_id":"s1","status":"done"}]}', /step_id/],
    ['no steps', '{"updates":[{"action":"set_plan","plan":{"task":"t","description":"","steps":[]}}]}', /plan\.steps/],
    ['no plan', '{"updates":[{"action":"set_plan"}]}', /plan/],
  ])('refuses %s and keeps the same plan', (_name, text, problem) => {
    const before = planOf([step('s1')]);
    const result = applyPlanUpdate(before, text);
    expect(result).toMatchObject({ ok: false, message: expect.stringMatching(problem) });
    expect(result.plan).toBe(before);
  });
});

describe('the limits of a plan', () => {
  it.each([
    ['steps', { steps: Array.from({ length: 51 }, (_, index) => step(`s${index}`)) }, /<=50 items.*steps/s],
    ['a title', { steps: [step('s1', { title: 'x'.repeat(201) })] }, /<=200 characters.*title/s],
    ['a text', { description: 'x'.repeat(2_001) }, /<=2000 characters.*description/s],
    ['an id', { steps: [step('x'.repeat(65))] }, /<=64 characters.*id/s],
  ])('refuse %s beyond the limit and tell the model', (_name, fields, problem) => {
    const result = update(null, { action: 'set_plan', plan: { ...planOf([step('s1')]), ...fields } });
    expect(result).toMatchObject({ ok: false, message: expect.stringMatching(problem) });
  });

  it('accept what is just within', () => {
    const steps = Array.from({ length: 50 }, (_, index) => step(`s${index}`, { title: 'x'.repeat(200) }));
    expect(update(null, { action: 'set_plan', plan: planOf(steps, { task: 'x'.repeat(2_000) }) }).ok).toBe(true);
  });

  it('refuse a plan that grows too large by many small updates', () => {
    let current = planOf(Array.from({ length: 50 }, (_, index) => step(`s${index}`)));
    let applied = 0;
    for (const { id } of current.steps) {
      const summary = 'x'.repeat(2_000);
      const evidence = [
        { kind: 'manual', summary },
        { kind: 'manual', summary: `${summary.slice(1)}y` },
      ];
      const result = update(current, { action: 'update_step', stepId: id, status: 'done', evidence });
      if (!result.ok) {
        expect(result).toEqual({ ok: false, plan: current, message: expect.stringContaining('100000 characters') });
        break;
      }
      current = result.plan;
      applied += 1;
    }
    expect(applied).toBeLessThan(50);
    expect(JSON.stringify(current).length).toBeLessThanOrEqual(planLimits.total);
  });

  it('refuse too many updates and too long arguments', () => {
    const one = { action: 'update_step', stepId: 's1', status: 'done' };
    expect(update(planOf([step('s1')]), ...Array.from({ length: 51 }, () => one)).ok).toBe(false);
    const long = applyPlanUpdate(null, JSON.stringify({ updates: [], reason: 'x'.repeat(200_001) }));
    expect(long.message).toContain('more than 200000 characters');
  });

  it('keep the answer to a hopeless call short', () => {
    const broken = Array.from({ length: 50 }, () => ({ title: 5 }));
    const result = update(null, { action: 'set_plan', plan: { ...planOf([]), steps: broken } });
    expect(result.ok).toBe(false);
    expect(result.message.length).toBeLessThan(1_700);
  });

  it('survive arguments nested beyond any sense', () => {
    const deep = '['.repeat(90_000) + ']'.repeat(90_000);
    expect(applyPlanUpdate(null, `{"updates":${deep}}`).ok).toBe(false);
  });

  it('hold for every plan that is kept', () => {
    const kept = updated(null, { action: 'set_plan', plan: planOf([step(' s1 ', { title: ' Look ' })]) });
    expect(kept.steps[0]).toMatchObject({ id: 's1', title: 'Look' });
    expect(plan.parse(kept)).toEqual(kept);
  });
});
