import { describe, expect, it } from 'vitest';
import { planView } from '../../../src/core/plan/checklist.js';
import { planOf, step } from './sample-plan.js';

const steps = (count: number, finished = 0) =>
  Array.from({ length: count }, (_, index) => step(`s${index}`, { status: index < finished ? 'done' : 'pending' }));

describe('a plan as a checklist', () => {
  it('shows the task and each step with its status', () => {
    const plan = planOf([step('s1', { status: 'done' }), step('s2', { status: 'in_progress' })]);
    expect(planView(plan)).toEqual({
      title: 'Compare vendors',
      steps: [
        { title: 'Step s1', status: 'done' },
        { title: 'Step s2', status: 'in_progress' },
      ],
      hidden: 0,
    });
  });

  it('keeps every title on one line', () => {
    const view = planView(planOf([step('s1', { title: 'a\r\n- [x] b\u0000\tc' })], { task: ' one\n\ntwo ' }));
    expect(view.title).toBe('one two');
    expect(view.steps[0]?.title).toBe('a - [x] b c');
  });

  it('cuts titles at 80 characters', () => {
    const view = planView(planOf([step('s1', { title: 'x'.repeat(80) }), step('s2', { title: 'x'.repeat(81) })]));
    expect(view.steps.map(({ title }) => title)).toEqual(['x'.repeat(80), `${'x'.repeat(79)}…`]);
  });

  it.each([76, 77, 78, 79, 80])('never cuts a character in two (%i letters before it)', (letters) => {
    for (const character of ['😀', '👩‍👩‍👧', '𠮷', 'é']) {
      const title = planView(planOf([step('s1')], { task: 'x'.repeat(letters) + character.repeat(4) })).title;
      expect(title.length).toBeLessThanOrEqual(80);
      expect(encodeURI(title)).toContain('x');
      expect(title.replace(/^x+/, '').replace(/…$/, '').replaceAll(character, '')).toBe('');
    }
  });

  it('shows 15 steps and counts the rest', () => {
    expect(planView(planOf(steps(15)))).toMatchObject({ hidden: 0 });
    const view = planView(planOf(steps(50)));
    expect(view.steps).toHaveLength(15);
    expect(view.hidden).toBe(35);
  });

  it.each([
    [0, 'Step s0'],
    [2, 'Step s0'],
    [20, 'Step s18'],
    [49, 'Step s35'],
    [50, 'Step s0'],
  ])('keeps the first open step in sight when %i of 50 are finished', (finished, first) => {
    const view = planView(planOf(steps(50, finished)));
    expect(view.steps[0]?.title).toBe(first);
    expect(view.steps).toHaveLength(15);
    expect(view.steps.some(({ status }) => status === 'pending')).toBe(finished < 50);
  });
});
