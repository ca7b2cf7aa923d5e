import { describe, expect, it } from 'vitest';
import { textTokens } from '../../../src/core/llm/tokens.js';
import { planSystemPrompt } from '../../../src/core/plan/prompt.js';

const options = { author: '', toolNames: ['web_fetch'], canAsk: true, maxToolCallsPerTurn: 5 };

describe('the system prompt of mode plan', () => {
  it('has its sections in tags that open and close', () => {
    const prompt = planSystemPrompt({ ...options, author: 'You are Ada.' });
    const tags = Array.from(prompt.matchAll(/^<(\w+)>$/gm), ([, tag]) => tag);
    expect(tags).toEqual([
      'role',
      'author_instructions',
      'work',
      'tools',
      'planning',
      'plan_updates',
      'asking',
      'finishing',
      'security',
      'output',
    ]);
    for (const tag of tags) expect(prompt.split(`\n</${tag}>`)).toHaveLength(2);
  });

  it('costs at most 1,100 tokens without the author', () => {
    expect(textTokens(planSystemPrompt(options))).toBeLessThanOrEqual(1_100);
  });

  it('holds the author prompt as it is, and nothing when there is none', () => {
    expect(planSystemPrompt({ ...options, author: '\nYou are Ada.\nBe brief.\n' })).toContain(
      '<author_instructions>\nYou are Ada.\nBe brief.\n</author_instructions>',
    );
    expect(planSystemPrompt({ ...options, author: ' \n' })).not.toContain('author_instructions');
  });

  it('says when there are no tools', () => {
    expect(planSystemPrompt({ ...options, toolNames: [] })).toMatch(/There are no tools .* Invent none/);
    expect(planSystemPrompt(options)).not.toMatch(/There are no tools/);
  });

  it('names ask_agent only where it is offered', () => {
    expect(planSystemPrompt(options)).toMatch(/ask_agent is allowed only when/);
    expect(planSystemPrompt({ ...options, canAsk: false })).not.toContain('ask_agent');
  });

  it('tells the number of tool calls, the language and the meaning of gate feedback', () => {
    const prompt = planSystemPrompt({ ...options, maxToolCallsPerTurn: 7 });
    expect(prompt).toContain('At most 7 tool calls');
    expect(prompt).toMatch(/language of the person's latest message/);
    expect(prompt).toContain('<stop_gate_feedback>');
  });

  it('shows a valid and an invalid call', () => {
    const prompt = planSystemPrompt(options);
    const right = /Right: (\{.*\})/.exec(prompt)?.[1] ?? '';
    expect(JSON.parse(right)).toMatchObject({ updates: [{ action: 'update_step' }] });
    expect(prompt).toContain('Wrong: ');
  });
});
