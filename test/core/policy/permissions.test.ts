import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { decidePermission, permissionConfig } from '../../../src/core/policy/permissions.js';
import type { ToolRisk } from '../../../src/core/tools/tool.js';

type Policy = z.input<typeof permissionConfig>;
type Rule = NonNullable<Policy['rules']>[number];

interface Call {
  readonly tool?: string;
  readonly risk?: ToolRisk;
  readonly args?: unknown;
  readonly json?: string;
  readonly person?: string;
  readonly chat?: string;
  readonly grants?: readonly string[];
}

function decide(policy: Policy, call: Call = {}): string {
  return verdict(policy, call).decision;
}

function verdict(policy: Policy, call: Call = {}) {
  const { tool = 'write_file', risk = 'write', args = {}, person = 'slack:U1', chat = 'slack:T1/C1' } = call;
  return decidePermission({
    policy: permissionConfig.parse(policy),
    tool: { name: tool, risk },
    argumentsJson: call.json ?? JSON.stringify(args),
    ...{ person, chat },
    grants: (call.grants ?? []).map((name) => ({ tool: name })),
  });
}

const withRules = (...rules: Rule[]): Policy => ({ mode: 'ask', rules });

describe('the mode', () => {
  it.each<[NonNullable<Policy['mode']>, read: string, write: string, destructive: string]>([
    ['plan', 'run', 'deny', 'deny'],
    ['readonly', 'run', 'deny', 'deny'],
    ['ask', 'run', 'ask', 'ask'],
    ['auto', 'run', 'run', 'ask'],
    ['bypass', 'run', 'run', 'run'],
  ])('%s: reading %s, writing %s, destroying %s', (mode, read, write, destructive) => {
    expect(decide({ mode }, { risk: 'read' })).toBe(read);
    expect(decide({ mode }, { risk: 'write' })).toBe(write);
    expect(decide({ mode }, { risk: 'destructive' })).toBe(destructive);
  });

  it('is ask when nothing is configured', () => {
    expect(permissionConfig.parse({})).toEqual({ mode: 'ask', rules: [] });
  });

  it.each(['plan', 'readonly'] as const)('%s is not lifted by a rule or a grant', (mode) => {
    const policy: Policy = { mode, rules: [{ tool: 'write_file', decision: 'allow' }] };
    expect(decide(policy, { grants: ['write_file'] })).toBe('deny');
    expect(verdict(policy)).toMatchObject({ reason: expect.stringContaining(mode) });
  });

  it('readonly still asks before reading when a rule says so', () => {
    expect(decide({ mode: 'readonly', rules: [{ tool: '*', decision: 'ask' }] }, { risk: 'read' })).toBe('ask');
  });
});

describe('a rule', () => {
  it('that denies holds in bypass and against a grant', () => {
    const policy: Policy = { mode: 'bypass', rules: [{ tool: 'write_file', decision: 'deny' }] };
    expect(decide(policy, { grants: ['write_file'] })).toBe('deny');
    expect(decide(policy, { risk: 'read' })).toBe('deny');
  });

  it('that allows runs what cannot be undone without asking', () => {
    expect(decide(withRules({ tool: 'write_file', decision: 'allow' }), { risk: 'destructive' })).toBe('run');
  });

  it('that asks does so in bypass, for reading, and in spite of a grant', () => {
    const policy: Policy = { mode: 'bypass', rules: [{ tool: 'write_file', decision: 'ask' }] };
    expect(verdict(policy, { risk: 'read', grants: ['write_file'] })).toMatchObject({
      decision: 'ask',
      grantable: false,
    });
  });

  it('is for the tools its glob names', () => {
    const policy = withRules({ tool: 'MCP_files_*', decision: 'deny' });
    expect(decide(policy, { tool: 'mcp_files_read', risk: 'read' })).toBe('deny');
    expect(decide(policy, { tool: 'mcp_crm_read', risk: 'read' })).toBe('run');
  });

  it.each<[name: string, stronger: Rule, weaker: Rule]>([
    [
      'an exact name beats a glob with arguments and scope',
      { tool: 'write_file', decision: 'allow' },
      { tool: 'write_*', args: { path: '*' }, users: ['slack:U1'], decision: 'deny' },
    ],
    ['a glob beats the star', { tool: 'write_*', decision: 'allow' }, { tool: '*', decision: 'deny' }],
    [
      'a glob beats the star with arguments and scope',
      { tool: 'w*', decision: 'allow' },
      { tool: '**', args: { path: '*' }, chats: ['*'], decision: 'deny' },
    ],
    [
      'arguments beat none',
      { tool: 'write_*', args: { path: 'a' }, decision: 'allow' },
      { tool: 'write_*', decision: 'deny' },
    ],
    [
      'arguments beat a scope',
      { tool: '*', args: { path: 'a' }, decision: 'allow' },
      { tool: '*', users: ['slack:U1'], chats: ['*'], decision: 'deny' },
    ],
    ['a scope beats none', { tool: '*', chats: ['slack:*'], decision: 'allow' }, { tool: '*', decision: 'deny' }],
    ['of equal ones deny beats allow', { tool: 'write_f*', decision: 'deny' }, { tool: 'write_*', decision: 'allow' }],
    ['of equal ones deny beats ask', { tool: '*', decision: 'deny' }, { tool: '*', decision: 'ask' }],
    ['of equal ones ask beats allow', { tool: '*', decision: 'ask' }, { tool: '*', decision: 'allow' }],
  ])('%s, in either order', (_, stronger, weaker) => {
    const expected = stronger.decision === 'allow' ? 'run' : stronger.decision;
    expect(decide(withRules(stronger, weaker), { args: { path: 'a' } })).toBe(expected);
    expect(decide(withRules(weaker, stronger), { args: { path: 'a' } })).toBe(expected);
  });

  it('counts only in the chats and for the people it names', () => {
    const policy = withRules({ tool: '*', users: ['slack:U1'], chats: ['slack:T1/*', 'web:*'], decision: 'deny' });
    expect(decide(policy)).toBe('deny');
    expect(decide(policy, { chat: 'WEB:7' })).toBe('deny');
    expect(decide(policy, { chat: 'slack:T2/C1' })).toBe('ask');
    expect(decide(policy, { person: 'slack:U2' })).toBe('ask');
    expect(decide(policy, { person: 'slack:u1' })).toBe('ask');
  });

  it.each([
    { tool: '', decision: 'deny' },
    { tool: '*', decision: 'deny', args: {} },
    { tool: '*', decision: 'deny', args: { path: '' } },
    { tool: '*', decision: 'deny', users: [] },
    { tool: '*', decision: 'deny', users: ['U1'] },
    { tool: '*', decision: 'deny', chats: [] },
    { tool: '*', decision: 'forbid' },
    { tool: '*', decision: 'deny', paths: ['x'] },
  ])('%j is refused: it would silently match nothing or everything', (rule) => {
    expect(permissionConfig.safeParse({ rules: [rule] }).success).toBe(false);
  });
});

describe('a grant', () => {
  it('runs the tool it names, also one that destroys', () => {
    expect(decide({}, { grants: ['write_file'] })).toBe('run');
    expect(decide({ mode: 'auto' }, { risk: 'destructive', grants: ['write_file'] })).toBe('run');
    expect(verdict({}, { grants: ['write_files', 'Write_file'] })).toMatchObject({ decision: 'ask', grantable: true });
  });
});

describe('arguments nobody can read', () => {
  const onArguments = (decision: Rule['decision']) => withRules({ tool: '*', args: { path: 'secrets/**' }, decision });

  it.each(['{"path": "a', '{"path": "a"} {}', '[]', '"{}"', 'null', '7'])(
    '%s: a tool that changes something does not run, in no mode and with no rule or grant',
    (json) => {
      const policy: Policy = { mode: 'bypass', rules: [{ tool: 'write_file', decision: 'allow' }] };
      expect(verdict(policy, { json, grants: ['write_file'] })).toEqual({
        decision: 'deny',
        reason: expect.stringMatching(/^arguments are not (valid JSON|a JSON object)$/),
      });
    },
  );

  it('deny a reading tool when a deny or ask rule looks at arguments', () => {
    expect(decide(onArguments('deny'), { json: '{', risk: 'read' })).toBe('deny');
    expect(decide(onArguments('ask'), { json: '{', risk: 'read' })).toBe('deny');
    expect(decide(onArguments('allow'), { json: '{', risk: 'read' })).toBe('run');
    expect(decide({ mode: 'ask' }, { json: '{', risk: 'read' })).toBe('run');
  });

  it('are not those of a call without arguments', () => {
    expect(decide({ mode: 'bypass' }, { json: '' })).toBe('run');
  });
});
