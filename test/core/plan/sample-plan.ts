import type { Plan, PlanStep } from '../../../src/core/plan/state.js';

/** A pending step; `fields` replace what a test is about. */
export function step(id: string, fields: Partial<PlanStep> = {}): PlanStep {
  return {
    id,
    title: `Step ${id}`,
    description: '',
    acceptanceCriteria: [],
    status: 'pending',
    evidence: [],
    ...fields,
  };
}

export function planOf(steps: readonly PlanStep[], fields: Partial<Plan> = {}): Plan {
  return { planId: 'p1', task: 'Compare vendors', description: '', steps: [...steps], ...fields };
}

export function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const field of Object.values(value)) deepFreeze(field);
  }
  return value;
}
