import { describe, expect, it } from 'vitest';
import { DEFAULT_QUOTE_TEMPLATES, joinSystemPrompt, placeQuotes } from '../../../src/core/agent/quotes.js';

describe('quotes', () => {
  const quotes = '[1] a.md\ntext';
  const question = 'why?';

  it.each([
    ['the system prompt by default', 'system', 'Q: {{quote}}', { system: `Q: ${quotes}`, user: 'why?' }],
    ['the user message by role', 'user', '{{quote}} / {{question}}', { user: `${quotes} / why?` }],
    ['the user message by template', 'system', '{{quote}} / {{question}}', { user: `${quotes} / why?` }],
    ['the user message with blanks in the template', 'system', '{{ question }}{{ quote }}', { user: `why?${quotes}` }],
    ['the user message, the question never lost', 'user', 'Q: {{quote}}', { user: `Q: ${quotes}\n\nwhy?` }],
  ] as const)('go to %s', (_, role, template, expected) => {
    expect(placeQuotes({ quotes, role, template, question })).toEqual(expected);
  });

  it('of a search without results leave the template with an empty place', () => {
    expect(placeQuotes({ quotes: '', role: 'system', template: '<{{quote}}>', question })).toEqual({
      system: '<>',
      user: 'why?',
    });
    expect(placeQuotes({ quotes: '', role: 'user', question }).user).toContain('<quotes>\n\n</quotes>');
  });

  it('and questions are filled in literally, whatever they contain', () => {
    const nasty = "{{quote}} {{question}} $& $1 $' $` $$";
    const filled = placeQuotes({
      quotes: nasty,
      role: 'user',
      template: 'a {{quote}} b {{question}} c',
      question: nasty,
    });
    expect(filled).toEqual({ user: `a ${nasty} b ${nasty} c` });
    expect(placeQuotes({ quotes: nasty, role: 'system', template: '{{quote}}', question: nasty })).toEqual({
      system: nasty,
      user: nasty,
    });
  });

  it('have a default for each role that holds what the role needs', () => {
    expect(DEFAULT_QUOTE_TEMPLATES.system).toContain('{{quote}}');
    expect(DEFAULT_QUOTE_TEMPLATES.system).not.toContain('{{question}}');
    expect(DEFAULT_QUOTE_TEMPLATES.user).toContain('{{quote}}');
    expect(placeQuotes({ quotes, role: 'user', question }).user).toMatch(/why\?$/);
    expect(placeQuotes({ quotes, role: 'system', question }).user).toBe('why?');
  });
});

it('the parts of a system prompt are joined by the separator, empty ones left out', () => {
  expect(joinSystemPrompt(['model', '', ' agent\n', undefined, '  ', 'quotes'])).toBe(
    'model\n\n===---===---===\n\nagent\n\n===---===---===\n\nquotes',
  );
  expect(joinSystemPrompt([undefined, ' '])).toBe('');
});
