import { expect, it } from 'vitest';
import { textTokens } from '../../../src/core/llm/tokens.js';
import { updatePlanSchema } from '../../../src/core/plan/update-plan.js';

it('the tool is called update_plan and requires updates', () => {
  expect(updatePlanSchema.name).toBe('update_plan');
  expect(updatePlanSchema.parameters).toMatchObject({
    type: 'object',
    required: ['updates'],
    additionalProperties: false,
    properties: { updates: { type: 'array', minItems: 1, maxItems: 50 } },
  });
});

it('the schema names the three actions and all statuses', () => {
  const text = JSON.stringify(updatePlanSchema.parameters);
  for (const word of ['set_plan', 'replace_plan', 'update_step', 'in_progress', 'skipped', 'acceptanceCriteria']) {
    expect(text).toContain(`"${word}"`);
  }
});

it('the schema uses only words every vendor understands, and stays small', () => {
  const text = JSON.stringify(updatePlanSchema.parameters);
  expect(text).not.toMatch(/oneOf|\$ref|\$schema|"const"|"default"|maxLength/);
  expect(textTokens(text)).toBeLessThan(900);
});
