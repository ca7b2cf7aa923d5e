import { describe, expect, it } from 'vitest';
import { askAgentSchema, parseAsk } from '../../../src/core/plan/ask-agent.js';

const ask = {
  reason: 'The invoice belongs to one of your accounts',
  blockerType: 'missing_required_input',
  question: 'Which account?',
  options: ['The company account', 'My private account', 'Neither, skip the invoice'],
};
const parse = (fields: Record<string, unknown>) => parseAsk(JSON.stringify({ ...ask, ...fields }));

describe('a call of ask_agent', () => {
  it('is taken as given when it is valid', () => {
    expect(parseAsk(JSON.stringify(ask))).toEqual({ ok: true, ask });
  });

  it.each(['missing_required_input', 'tool_unavailable', 'ambiguous_goal'])('may be blocked by %s', (blockerType) => {
    expect(parse({ blockerType })).toMatchObject({ ok: true, ask: { blockerType } });
  });

  it('has its texts trimmed', () => {
    const result = parse({ question: ' Which? ', options: [' a', 'b ', '\tc\n'] });
    expect(result).toMatchObject({ ok: true, ask: { question: 'Which?', options: ['a', 'b', 'c'] } });
  });

  it.each([
    ['no options', { options: undefined }, /options/],
    ['options that are no list', { options: 'a, b, c' }, /options/],
    ['two options', { options: ['a', 'b'] }, />=3 items.*options/s],
    ['six options', { options: ['a', 'b', 'c', 'd', 'e', 'f'] }, /<=5 items.*options/s],
    ['a blank option', { options: ['a', 'b', '  '] }, /options\[2\]/],
    ['an option that is null', { options: ['a', 'b', null] }, /options\[2\]/],
    ['an option twice', { options: ['Yes', 'No', 'yes '] }, /must differ/],
    ['an endless option', { options: ['a', 'b', 'x'.repeat(201)] }, /<=200 characters.*options\[2\]/s],
    ['an endless question', { question: 'x'.repeat(501) }, /<=500 characters.*question/s],
    ['an endless reason', { reason: 'x'.repeat(1_001) }, /<=1000 characters.*reason/s],
    ['no reason', { reason: null }, /reason/],
    ['a blank question', { question: ' ' }, /question/],
    ['a made-up blocker', { blockerType: 'preference' }, /blockerType/],
    ['a field nobody knows', { urgent: true }, /urgent/],
  ])('is refused with the fault for %s', (_name, fields, problem) => {
    expect(parse(fields)).toEqual({ ok: false, message: expect.stringMatching(problem) });
  });

  it.each(['', '{', 'null', '[]', '"text"'])('is refused without throwing when the arguments are %j', (text) => {
    expect(parseAsk(text)).toEqual({ ok: false, message: expect.stringContaining('nobody was asked') });
  });

  it('is told that its text is no JSON', () => {
    expect(parseAsk('{question: "?"')).toMatchObject({ message: expect.stringContaining('not valid JSON') });
  });
});

describe('the tool', () => {
  it('is called ask_agent and requires all its fields', () => {
    expect(askAgentSchema.name).toBe('ask_agent');
    expect(askAgentSchema.parameters).toMatchObject({
      required: ['reason', 'blockerType', 'question', 'options'],
      properties: { options: { minItems: 3, maxItems: 5 } },
    });
  });

  it('says that it is only for hard blockers', () => {
    expect(askAgentSchema.description).toMatch(/Only for a hard blocker/);
    expect(askAgentSchema.description).toMatch(/Never for preferences/);
  });
});
