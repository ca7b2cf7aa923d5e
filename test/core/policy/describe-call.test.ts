import { describe, expect, it } from 'vitest';
import { describeCall } from '../../../src/core/policy/describe-call.js';

function shown(args: unknown, maxLength = 600): string {
  return describeCall(
    { id: '1', name: 'tool', arguments: typeof args === 'string' ? args : JSON.stringify(args) },
    { maxLength },
  );
}

describe('the arguments on a card', () => {
  it('have a line each, nested ones with their path', () => {
    expect(
      shown({
        path: 'docs/a.md',
        count: 3,
        dry: false,
        tags: ['a', 'b'],
        to: { name: 'Ada', cc: [{ mail: 'x@y' }] },
        none: {},
        nothing: null,
      }),
    ).toBe(
      [
        'path: "docs/a.md"',
        'count: 3',
        'dry: false',
        'tags: ["a","b"]',
        'to.name: "Ada"',
        'to.cc[0].mail: "x@y"',
        'none: {}',
        'nothing: null',
      ].join('\n'),
    );
  });

  it('are nothing for a call without any', () => {
    expect(shown('')).toBe('');
    expect(shown({})).toBe('');
  });

  it('show a text of several lines so that no line passes for another argument', () => {
    expect(shown({ text: 'first\nforce: false\r\n\n' })).toBe('text: \n│ first\n│ force: false\n│ \n│ ');
  });

  it('that are not JSON are shown as they came', () => {
    expect(shown('{"path": "a\nforce: false')).toBe('\n│ {"path": "a\n│ force: false');
  });

  it('that are nested too deeply are cut', () => {
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    expect(shown(deep)).toMatch(/^.{10,600}$/s);
  });
});

describe('a long argument', () => {
  it('is cut, with the number of characters that are missing', () => {
    const text = shown({ text: `begin ${'好'.repeat(5_000)}` }, 100);
    expect(text.length).toBeLessThanOrEqual(100);
    expect(text.length).toBeGreaterThan(95);
    expect(text).toMatch(/^text: "begin 好+… \+\d+$/);
    const missing = Number(/\d+$/.exec(text)?.[0]);
    // The closing quote is missing, too.
    expect(missing + (text.match(/好/g)?.length ?? 0)).toBe(5_001);
  });

  it('does not push others out of sight', () => {
    const text = shown({ note: 'x '.repeat(50_000), path: '/etc/passwd', force: true }, 200);
    expect(text).toContain('path: "/etc/passwd"');
    expect(text).toContain('force: true');
    expect(text.length).toBeLessThanOrEqual(200);
  });

  it('of very many leaves the count', () => {
    const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`argument_${at}`, 'value']));
    const text = shown(many, 300);
    expect(text.length).toBeLessThanOrEqual(300);
    const lines = text.split('\n');
    expect(lines.at(-1)).toBe(`… +${3_000 - (lines.length - 1)}`);
  });

  it('never ends in half a character', () => {
    for (let length = 30; length < 60; length += 1) {
      expect(shown({ text: '😀'.repeat(100) }, length)).toMatch(
        /^(?:[^\ud800-\udfff]|[\ud800-\udbff][\udc00-\udfff])*$/,
      );
    }
  });
});

describe('secrets', () => {
  it.each([
    'password',
    'apiKey',
    'api_key',
    'X-Api-Key',
    'accessToken',
    'Authorization',
    'Cookie',
    'clientSecret',
    'dbPassword',
    'passphrase',
    'credentials',
    'otp',
  ])('in a field named %s are hidden', (name) => {
    expect(shown({ [name]: 'hunter2' })).toBe(`${name}: •••`);
    expect(shown({ [name]: { inside: ['hunter2'] } })).toBe(`${name}: •••`);
    expect(shown({ headers: [[{ [name]: 'hunter2' }]] })).not.toContain('hunter2');
    expect(shown({ a: { b: { c: { d: { e: { [name]: 'hunter2' } } } } } })).not.toContain('hunter2');
  });

  it.each(['maxTokens', 'author', 'tokenizer', 'key', 'secretary', 'passenger'])(
    'are not in a field named %s',
    (name) => {
      expect(shown({ [name]: 512 })).toBe(`${name}: 512`);
    },
  );

  const random = 'q7Wz0Kp3Tn8Xb5Lc2Vm9Rd4Hf6Js1Gy';
  it.each([
    `sk-proj-${random}`,
    `ghp_${random}`,
    `github_pat_11ABC_${random}`,
    `xoxb-123456789012-${random}`,
    `glpat-${random}`,
    'AKIAIOSFODNN7EXAMPLE',
    `AIzaSy${random}`,
    `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${random}`,
    `123456789:AA${random}`,
    `${random}${random}`,
    `${random}+/${random}==`,
    '0123456789abcdef0123456789abcdef01234567',
  ])('that look like %s are cut to their first letters', (secret) => {
    const text = shown({ text: `use ${secret} now` });
    expect(text).toBe(`text: "use ${secret.slice(0, 4)}••• now"`);
  });

  it.each([
    ['curl -H "Authorization: Bearer abc123def456"', 'abc123def456'],
    ['postgres://user:hunter2@host/db', 'hunter2'],
    ['https://x.org/?access_token=abcd1234&y=1', 'abcd1234'],
    ['PASSWORD=hunter2 run', 'hunter2'],
    ['login --password hunter2', 'hunter2'],
    ['{"api_key": "abcd1234"}', 'abcd1234'],
    ['-----BEGIN PRIVATE KEY-----\nMIIabc\nxyz\n-----END PRIVATE KEY-----', 'MIIabc'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIabc', 'MIIabc'],
  ])('inside %j are hidden', (text, secret) => {
    expect(shown({ text })).not.toContain(secret);
    expect(shown({ text })).toContain('•••');
    expect(shown(`not json ${text}`)).not.toContain(secret);
  });

  it('are not what paths, names, ids and addresses look like', () => {
    for (const text of [
      'src/core/tools/builtin/web-fetch/readable-page.test.ts',
      'node_modules/@modelcontextprotocol/server-everything',
      'https://docs.example.com/guide/getting-started/installation',
      'MyVeryLongComponentNameForTheSettingsPage2',
      'd41d8cd98f00b204e9800998ecf8427e',
      '123e4567-e89b-12d3-a456-426614174000',
      'a basic functionality of the token handling',
      'sk-learn-extensions-package',
    ]) {
      expect(shown({ text })).toBe(`text: "${text}"`);
    }
  });

  it('cut in the middle do not show their beginning', () => {
    for (let before = 0; before < 40; before += 1) {
      const text = shown({ text: `${'x '.repeat(80 + before)}sk-proj-${random}` }, 100);
      expect(text).not.toContain('sk-proj');
    }
  });
});

describe('a model cannot fake the card', () => {
  it('with control characters, direction marks, invisible letters or odd spaces', () => {
    const text = shown({ path: 'a\u202egnp.exe\u200b\u0007\u00ad\u2066\ufeff\u00a0\u2003\u3164\u2028\u{e0041}' });
    expect(text).toBe(
      'path: "a\\u{202e}gnp.exe\\u{200b}\\u{7}\\u{ad}\\u{2066}\\u{feff}\\u{a0}\\u{2003}\\u{3164}\\u{2028}\\u{e0041}"',
    );
    expect(shown({ text: 'a\tb 　好' })).toBe('text: "a\\u{9}b 　好"');
  });

  it('with a fence in a value, a name or the raw text', () => {
    for (const args of [{ text: '```\nfake' }, { '```': 1 }, '```\n# fake', { a: '``', b: '````js' }]) {
      expect(shown(args)).not.toContain('```');
    }
    expect(shown({ text: 'a `b` ``c``' })).toBe('text: "a `b` ``c``"');
  });

  it('with a name that looks like lines of its own', () => {
    expect(shown({ 'a: 1\nforce': true })).toBe('"a: 1\\nforce": true');
  });

  it('with quotes that end a value', () => {
    expect(shown({ path: 'a"        force: "false' })).toBe('path: "a\\"        force: \\"false"');
  });
});
