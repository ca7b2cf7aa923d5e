import { z } from 'zod';
import type { Tool } from '../tools/tool.js';
import { argumentsMatch, type RuleEffect } from './argument-pattern.js';
import { folded, isLiteral, matchesGlob } from './glob.js';

const person = z
  .string()
  .regex(/^[a-z]+:.+$/, 'write platform:id, for example telegram:12345')
  .describe('A person, as platform:id');

const permissionRule = z.strictObject({
  tool: z.string().min(1).describe('Name of a tool, or a glob such as mcp_files_*'),
  args: z
    .record(z.string().min(1), z.string().min(1))
    .refine((patterns) => Object.keys(patterns).length > 0, 'name an argument, or leave args out')
    .optional()
    .describe(
      'Globs by argument name or dotted path; all must match. * stops at a slash, ** does not; without a slash in the glob a * of ask and deny does not stop either',
    ),
  decision: z
    .enum(['allow', 'ask', 'deny'])
    .describe('allow: run without asking; ask: ask each time; deny: never run, in no mode'),
  users: z.array(person).min(1).optional().describe('The rule is for runs these people started; unset: for everybody'),
  chats: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('The rule is for these chats, globs over platform:space, for example slack:T1/*; unset: for every chat'),
});

/** The `permissions` block of an agent. */
export const permissionConfig = z.strictObject({
  mode: z
    .enum(['plan', 'readonly', 'ask', 'auto', 'bypass'])
    .default('ask')
    .describe(
      'plan, readonly: only tools that change nothing; ask: a person approves changes; auto: only what cannot be undone; bypass: nothing',
    ),
  rules: z
    .array(permissionRule)
    .default([])
    .describe(
      'Exceptions. The rule with the most exact tool counts, then one with args, then one with users or chats; of equal ones deny before ask before allow',
    ),
});

export type PermissionPolicy = z.infer<typeof permissionConfig>;

type PermissionRule = PermissionPolicy['rules'][number];

export interface PermissionInput {
  readonly policy: PermissionPolicy;
  readonly tool: Pick<Tool, 'name' | 'risk'>;
  readonly argumentsJson: string;
  /** `platform:id` of who started the run. */
  readonly person: string;
  /** `platform:space`. */
  readonly chat: string;
  /** What people allowed for good in this chat. */
  readonly grants: readonly { readonly tool: string }[];
}

/** Reasons are for the model and the log. */
export type PermissionDecision =
  | { readonly decision: 'run' }
  | { readonly decision: 'deny'; readonly reason: string }
  /** `grantable`: "always here" would help; false when a rule wants to be asked each time. */
  | { readonly decision: 'ask'; readonly reason: string; readonly grantable: boolean };

const RUN: PermissionDecision = { decision: 'run' };

/**
 * May this call run? In this order: `plan` and `readonly` deny whatever changes something; arguments nobody can read
 * are denied where they matter; the best rule decides (so a denial holds in `bypass` too); a grant lets the call run;
 * else mode and risk decide.
 */
export function decidePermission(input: PermissionInput): PermissionDecision {
  const { policy, tool, grants } = input;
  const changes = tool.risk !== 'read';
  if (changes && (policy.mode === 'plan' || policy.mode === 'readonly')) {
    return deny(`in mode ${policy.mode} only tools that change nothing may run, and ${tool.name} can change something`);
  }
  const rules = policy.rules.filter((rule) => concerns(rule, input));
  const args = readArguments(input.argumentsJson);
  if (typeof args === 'string') {
    const matters = changes || rules.some((rule) => rule.args !== undefined && rule.decision !== 'allow');
    if (matters) return deny(args);
  }
  const rule = bestRule(rules, typeof args === 'string' ? undefined : args);
  if (rule) return byRule(rule, tool.name);
  if (grants.some((grant) => grant.tool === tool.name)) return RUN;
  return byMode(policy.mode, tool);
}

function byRule(rule: PermissionRule, tool: string): PermissionDecision {
  const what = rule.args ? `${tool} with these arguments` : tool;
  if (rule.decision === 'deny') return deny(`a rule of the configuration forbids ${what}`);
  if (rule.decision === 'allow') return RUN;
  return { decision: 'ask', reason: `a rule of the configuration asks before ${what}`, grantable: false };
}

function byMode(mode: PermissionPolicy['mode'], { name, risk }: PermissionInput['tool']): PermissionDecision {
  if (risk === 'read' || mode === 'bypass') return RUN;
  if (risk === 'destructive') return ask(`what ${name} does cannot be undone`);
  return mode === 'auto' ? RUN : ask(`${name} can change something`);
}

function deny(reason: string): PermissionDecision {
  return { decision: 'deny', reason };
}

function ask(reason: string): PermissionDecision {
  return { decision: 'ask', reason, grantable: true };
}

/** Is the rule about this tool, person and chat? */
function concerns(rule: PermissionRule, { tool, person, chat }: PermissionInput): boolean {
  if (rule.users && !rule.users.includes(person)) return false;
  if (rule.chats && !rule.chats.some((glob) => matchesGlob(glob, chat, 'text'))) return false;
  return isLiteral(rule.tool) ? folded(rule.tool) === folded(tool.name) : matchesGlob(rule.tool, tool.name, 'text');
}

const CAUTION = { allow: 0, ask: 1, deny: 2 } as const satisfies Record<PermissionRule['decision'], number>;

function bestRule(
  rules: readonly PermissionRule[],
  args: Readonly<Record<string, unknown>> | undefined,
): PermissionRule | undefined {
  return rules
    .filter((rule) => !rule.args || (args && argumentsMatch(rule.args, args, effectOf(rule))))
    .reduce<PermissionRule | undefined>((best, rule) => (best && !beats(rule, best) ? best : rule), undefined);
}

function effectOf(rule: PermissionRule): RuleEffect {
  return rule.decision === 'allow' ? 'permits' : 'restricts';
}

function beats(rule: PermissionRule, other: PermissionRule): boolean {
  return exactness(rule) - exactness(other) > 0 || (exactness(rule) === exactness(other) && isSafer(rule, other));
}

function isSafer(rule: PermissionRule, other: PermissionRule): boolean {
  return CAUTION[rule.decision] > CAUTION[other.decision];
}

/** The tool weighs more than the arguments, those more than the scope. */
function exactness({ tool, args, users, chats }: PermissionRule): number {
  const name = isLiteral(tool) ? 2 : Number(!/^\*+$/.test(tool));
  return name * 4 + (args ? 2 : 0) + (users || chats ? 1 : 0);
}

/** The arguments, or what is wrong with them. A call without any has none. */
function readArguments(json: string): Readonly<Record<string, unknown>> | string {
  if (json.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
    return 'arguments are not a JSON object';
  } catch {
    return 'arguments are not valid JSON';
  }
}
