import { describe, expect, it } from 'vitest';
import { english } from '../../../../src/core/chat/texts/en.js';
import { answered, type Interview, nextQuestion, startInterview } from '../../../../src/core/tools/mcp/interview.js';

function form(properties: object, required?: readonly string[]): Interview {
  const schema = { type: 'object', properties, required: required ?? Object.keys(properties) };
  const state = startInterview({ q: { message: 'Please tell', requestedSchema: schema } });
  if (!state) throw new Error('cannot be asked');
  return state;
}

/** Answers in order; the state after the last. */
function give(state: Interview, ...answers: readonly (string | undefined)[]): Interview {
  return answers.reduce((now, answer) => answered(now, answer, english), state);
}

const question = (state: Interview) => nextQuestion(state, 'files', english);
const ids = (state: Interview) => question(state)?.options?.map(({ id }) => id);
/** The value one field gets for an answer; undefined when the answer does not fit. */
const valueFor = (property: object, answer: string) => {
  const { responses } = give(form({ f: property }), answer);
  return responses.q?.action === 'accept' ? responses.q.content?.f : undefined;
};

describe('an answer to a field', () => {
  const cases: readonly (readonly [object, string, unknown])[] = [
    [{ type: 'string' }, '  some text ', 'some text'],
    [{ type: 'string', minLength: 3 }, 'ab', undefined],
    [{ type: 'string', maxLength: 2 }, '你好', '你好'],
    [{ type: 'string', maxLength: 2 }, '你好吗', undefined],
    [{ type: 'string' }, 'x'.repeat(4_001), undefined],
    [{ type: 'string', format: 'email' }, 'ada@example.com', 'ada@example.com'],
    [{ type: 'string', format: 'email' }, 'ada@', undefined],
    [{ type: 'string', format: 'uri' }, 'https://example.com/x', 'https://example.com/x'],
    [{ type: 'string', format: 'uri' }, 'example', undefined],
    [{ type: 'string', format: 'date' }, '2024-02-29', '2024-02-29'],
    [{ type: 'string', format: 'date' }, '2023-02-29', undefined],
    [{ type: 'string', format: 'date-time' }, '2026-05-31T18:00:00+08:00', '2026-05-31T18:00:00+08:00'],
    [{ type: 'string', format: 'date-time' }, 'tomorrow', undefined],
    [{ type: 'number' }, '-1.5e3', -1_500],
    [{ type: 'number' }, '0x10', undefined],
    [{ type: 'number' }, '1e999', undefined],
    [{ type: 'number', minimum: 1, maximum: 5 }, '5', 5],
    [{ type: 'number', minimum: 1, maximum: 5 }, '5.1', undefined],
    [{ type: 'integer' }, '7', 7],
    [{ type: 'integer' }, '7.5', undefined],
    [{ type: 'boolean' }, 'yes', true],
    [{ type: 'boolean' }, 'No', false],
    [{ type: 'boolean' }, '是', true],
    [{ type: 'boolean' }, 'perhaps', undefined],
    [{ type: 'string', enum: ['a', 'b'], enumNames: ['Alpha', 'Beta'] }, 'beta', 'b'],
    [{ type: 'string', enum: ['a', 'b'] }, 'choice-2', 'b'],
    [
      {
        type: 'string',
        oneOf: [
          { const: '2', title: 'Two' },
          { const: '1', title: 'One' },
        ],
      },
      'choice-1',
      '2',
    ],
    [
      {
        type: 'string',
        oneOf: [
          { const: '2', title: 'Two' },
          { const: '1', title: 'One' },
        ],
      },
      '2',
      '2',
    ],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', undefined],
    [{ type: 'array', items: { enum: ['a', 'b', 'c'] } }, 'a, 3', ['a', 'c']],
    [{ type: 'array', items: { anyOf: [{ const: 'a', title: 'Alpha' }] } }, 'alpha', ['a']],
    [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 }, 'a', undefined],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, 'a, z', undefined],
  ];
  it.each(cases)('%j with %j is %j', (property, answer, expected) => {
    expect(valueFor(property, answer)).toEqual(expected);
  });
});

describe('a question', () => {
  it('has buttons for up to four choices, besides the one that declines', () => {
    const values = ['a', 'b', 'c', 'd'];
    expect(ids(form({ f: { type: 'string', enum: values } }))).toHaveLength(5);
    const five = form({ f: { type: 'string', enum: [...values, 'e'] } });
    expect(ids(five)).toEqual(['decline']);
    expect(question(five)?.text).toContain('1. a\n2. b\n3. c\n4. d\n5. e');
    const optional = form({ f: { type: 'string', enum: values } }, []);
    expect(ids(optional)).toEqual(['skip', 'decline']);
  });

  it('can be left out when the field is optional or has a default, which then counts', () => {
    const state = form({ a: { type: 'string' }, b: { type: 'integer', default: 3 }, c: { type: 'string' } }, [
      'b',
      'c',
    ]);
    expect(ids(state)).toEqual(['skip', 'decline']);
    const last = give(state, 'skip', 'leave out');
    expect(ids(last)).toEqual(['decline']);
    expect(give(last, 'skip').responses.q).toEqual({ action: 'accept', content: { b: 3, c: 'skip' } });
  });

  it('for a form without fields asks to go on', () => {
    const state = form({});
    expect(ids(state)).toEqual(['accept', 'decline']);
    expect(give(state, 'well').responses).toEqual({});
    expect(question(give(state, 'well'))?.text).toContain('Expected: Go on / Decline');
    expect(give(state, 'go on').responses.q).toEqual({ action: 'accept' });
  });

  it('declines by button or word, except where a choice is called so', () => {
    const state = form({ f: { type: 'string', enum: ['Decline', 'Accept'] } });
    expect(give(state, 'decline').responses.q).toEqual({ action: 'decline' });
    expect(give(state, 'choice-1').responses.q).toEqual({ action: 'accept', content: { f: 'Decline' } });
  });

  it('that gets no answer is cancelled', () => {
    const state = form({ f: { type: 'string' } });
    expect(give(state, undefined).responses.q).toEqual({ action: 'cancel' });
    expect(give(state, ' ').responses.q).toEqual({ action: 'cancel' });
  });

  it('shows the words of the server without what would disguise them', () => {
    const state = startInterview({ q: { message: 'Send \u202eyenom\u0000 now', requestedSchema: { properties: {} } } });
    expect(state && question(state)?.text).toBe('The tool server files asks:\nSend yenom now');
  });

  it('shows addresses in the letters they really have', () => {
    const state = startInterview({ q: { mode: 'url', message: 'Sign in', url: 'https://аpple.com/login' } });
    expect(state && question(state)?.text).toContain('https://xn--pple-43d.com/login');
  });
});

describe('several requests of one call', () => {
  const field = (name: string) => ({ message: name, requestedSchema: { properties: { [name]: { type: 'string' } } } });

  it('are asked one after the other', () => {
    const state = startInterview({ a: field('first'), b: field('second') });
    if (!state) throw new Error('cannot be asked');
    expect(question(state)?.text).toContain('first');
    const next = give(state, '1');
    expect(question(next)?.text).toContain('second');
    expect(give(next, '2').responses).toEqual({
      a: { action: 'accept', content: { first: '1' } },
      b: { action: 'accept', content: { second: '2' } },
    });
  });

  it('are all declined at once', () => {
    const state = startInterview({ a: field('first'), b: field('second') });
    const declined = { action: 'decline' };
    expect(state && give(state, 'Decline').responses).toEqual({ a: declined, b: declined });
  });
});

describe('what a server asks for', () => {
  it.each([
    ['something else', null],
    ['a nested object', { message: 'm', requestedSchema: { properties: { f: { type: 'object' } } } }],
    ['a program', { mode: 'url', message: 'm', url: 'javascript:alert(1)' }],
    [
      'too many fields',
      {
        message: 'm',
        requestedSchema: {
          properties: Object.fromEntries(Array.from({ length: 31 }, (_, i) => [i, { type: 'string' }])),
        },
      },
    ],
  ])('cannot be %s', (_, request) => {
    expect(startInterview({ q: request })).toBeUndefined();
  });
});
