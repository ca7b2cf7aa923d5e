import { describe, expect, it } from 'vitest';
import { argumentsMatch } from '../../../src/core/policy/argument-pattern.js';

const denies = (pattern: string, value: unknown) => argumentsMatch({ path: pattern }, { path: value }, 'restricts');
const allows = (pattern: string, value: unknown) => argumentsMatch({ path: pattern }, { path: value }, 'permits');

describe('a denied path', () => {
  it.each([
    'secrets',
    'secrets/key',
    'secrets/a/b',
    'SECRETS/Key',
    './secrets/key',
    'secrets//key',
    '//secrets/key',
    'docs/../secrets/key',
    'docs/x/../../secrets/./key',
    'secrets/../secrets/key',
    '/secrets/key',
    '../secrets/key',
    '../../secrets/key',
    '~/secrets/key',
    'C:\\secrets\\key',
    'docs\\..\\secrets\\key',
    ' secrets/key ',
    'secrets/',
    'secrets%2Fkey',
    '%2e%2e/secrets/key',
    'docs/%2e%2e/secrets/key',
    'file:///secrets/key',
    'file:///docs/%2E%2E/secrets/key',
    ['docs/a', 'secrets/key'],
    { deep: [{ name: 'secrets/key' }] },
  ])('cannot be dodged with %j', (value) => {
    expect(denies('secrets/**', value)).toBe(true);
    expect(denies('./secrets//**', value)).toBe(true);
  });

  it.each(['docs/secrets.md', 'secretsauce/key', 'secrets/../docs/a', 42, true, null, {}, [], ''])(
    'leaves %j alone',
    (value) => {
      expect(denies('secrets/**', value)).toBe(false);
    },
  );

  it('without the argument is not concerned', () => {
    expect(argumentsMatch({ path: '**' }, { file: 'x' }, 'restricts')).toBe(false);
  });
});

describe('an allowed path', () => {
  it.each(['docs/a.md', './docs/a.md', 'docs//a.md', 'docs/x/../a.md', 'Docs/A.md', ['docs/a', 'docs/b']])(
    'covers %j',
    (value) => {
      expect(allows('docs/**', value)).toBe(true);
    },
  );

  it.each([
    'docs/../secrets/key',
    'docs/..',
    'docs/..\\..\\secrets',
    'docs/%2e%2e/secrets',
    '/docs/a',
    '../docs/a',
    'docs/a\u0000.md',
    'docs/a\nsecrets',
    ['docs/a', 'secrets/key'],
    [],
    {},
    null,
  ])('does not cover %j', (value) => {
    expect(allows('docs/**', value)).toBe(false);
  });
});

describe('a web address', () => {
  it.each([
    'https://evil.com/x',
    'https://EVIL.com:443/x',
    'https://evil.com./x',
    'https://user:pw@evil.com/x',
    'https:\\\\evil.com\\x',
    'https://good.com/../@evil.com/../../evil.com',
    'https://%65vil.com/x',
    'ht\ntps://evil.com/x',
  ])('%j does not slip past a denied one', (value) => {
    const slips = value.startsWith('https://good');
    expect(denies('https://evil.com/**', value)).toBe(!slips);
  });

  it('is denied by its host alone, or without its scheme', () => {
    expect(denies('evil.com', 'https://evil.com/x')).toBe(true);
    expect(denies('*.evil.com', 'https://a.evil.com:8443/x?y')).toBe(true);
    expect(denies('evil.com/private/**', 'http://evil.com/a/../private/x')).toBe(true);
    expect(denies('*.evil.com', 'https://evil.com.good.org/')).toBe(false);
  });

  it('is allowed only as the host it really has', () => {
    expect(allows('https://docs.good.com/**', 'https://docs.good.com/a/b?c=d')).toBe(true);
    expect(allows('https://docs.good.com/**', 'https://docs.good.com')).toBe(true);
    expect(allows('https://docs.good.com/**', 'https://docs.good.com.evil.com/')).toBe(false);
    expect(allows('https://docs.good.com/**', 'https://docs.good.com@evil.com/')).toBe(false);
    expect(allows('https://docs.good.com**', 'https://docs.good.com@evil.com/')).toBe(false);
    expect(allows('https://docs.good.com/**', 'https://docs.good.com\\@evil.com/')).toBe(false);
    expect(allows('https://docs.good.com/public/**', 'https://docs.good.com/public/%2e%2e/admin')).toBe(false);
  });
});

describe('a text without slashes in its pattern', () => {
  it('is denied whatever the star stands for, but allowed only up to a slash', () => {
    expect(denies('rm *', 'rm -rf /var/lib')).toBe(true);
    expect(denies('*sudo*', 'cd /x && sudo reboot')).toBe(true);
    expect(allows('git *', 'git status')).toBe(true);
    expect(allows('git *', 'git -C /etc status')).toBe(false);
    expect(allows('git *', 'git status\nrm -rf x')).toBe(false);
  });

  it('is also a number or a truth value', () => {
    expect(denies('true', true)).toBe(true);
    expect(allows('4?', 42)).toBe(true);
  });
});

describe('a dotted name', () => {
  const args = { file: { path: 'secrets/key' }, files: [{ path: 'docs/a' }, [{ path: 'secrets/b' }]], 'a.b': 'x' };

  it('reaches into objects and lists', () => {
    expect(argumentsMatch({ 'file.path': 'secrets/*' }, args, 'restricts')).toBe(true);
    expect(argumentsMatch({ 'files.path': 'secrets/*' }, args, 'restricts')).toBe(true);
    expect(argumentsMatch({ 'files.0.path': 'docs/*' }, args, 'permits')).toBe(true);
    expect(argumentsMatch({ 'files.path': 'docs/*' }, args, 'permits')).toBe(false);
    expect(argumentsMatch({ 'a.b': 'x' }, args, 'permits')).toBe(true);
    expect(argumentsMatch({ 'file.path.length': '*' }, args, 'restricts')).toBe(false);
    expect(argumentsMatch({ 'constructor.name': '*' }, args, 'restricts')).toBe(false);
  });

  it('must hold together with all others', () => {
    expect(argumentsMatch({ a: '1', b: '2' }, { a: '1', b: '2' }, 'restricts')).toBe(true);
    expect(argumentsMatch({ a: '1', b: '2' }, { a: '1', b: '3' }, 'restricts')).toBe(false);
  });

  it('in other letters is denied, too, and permits nothing by itself', () => {
    expect(argumentsMatch({ path: 'secrets/*' }, { Path: 'secrets/key' }, 'restricts')).toBe(true);
    expect(argumentsMatch({ path: 'docs/*' }, { Path: 'docs/a' }, 'permits')).toBe(false);
    expect(argumentsMatch({ path: 'docs/*' }, { path: 'docs/a', Path: 'secrets/key' }, 'permits')).toBe(false);
  });
});

it('looks at very deep and very long arguments without failing', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(5_000)}"secrets/key"${']'.repeat(5_000)}`);
  expect(denies('secrets/**', deep)).toBe(true);
  expect(argumentsMatch({ 'path.name': '**' }, { path: deep }, 'restricts')).toBe(true);
  expect(denies('secrets/**', '../'.repeat(100_000))).toBe(false);
});
