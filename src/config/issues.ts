import type { z } from 'zod';
import { type ConfigPath, nodeAt, pathText, type SchemaNode } from './json-schema.js';

/** One thing that is wrong: where, and what to do about it. */
export interface ConfigIssue {
  readonly path: ConfigPath;
  readonly text: string;
}

/** Settings of the published design that this version cannot honour yet; they are refused, never ignored. */
const NOT_BUILT_YET: ReadonlySet<string> = new Set(['budget', 'discord', 'slack', 'terminal']);

/** Turns what zod found into lines that name the fix. Values of secret settings are never repeated. */
export function describeIssues(error: z.ZodError, value: unknown, schema: SchemaNode): readonly ConfigIssue[] {
  return error.issues.flatMap((issue) => describeIssue(issue, value, schema));
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown, schema: SchemaNode): readonly ConfigIssue[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
  const node = nodeAt(schema, path);
  const received = valueAt(value, path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key], text: unknownKey(key, node, schema) }));
    case 'invalid_key':
      return [{ path, text: `not a possible name; ${issue.issues[0]?.message ?? 'choose another'}` }];
    case 'invalid_type':
    case 'invalid_value':
    case 'too_small':
    case 'too_big':
      if (received === undefined) return [{ path, text: missing(path, node) }];
      return [{ path, text: `expected ${expectation(node) ?? issue.message}${got(received, node)}` }];
    default:
      return [{ path, text: `${issue.message}${got(received, node)}` }];
  }
}

function unknownKey(key: string, parent: SchemaNode | undefined, root: SchemaNode): string {
  if (NOT_BUILT_YET.has(key)) return 'not built yet in this version; remove it';
  const known = Object.keys(parent?.properties ?? {});
  const close = closest(key, known);
  if (close) return `unknown key; did you mean "${close}"?`;
  const elsewhere = findKey(root, key);
  if (elsewhere) return `unknown key here; did you mean "${elsewhere}"?`;
  return `unknown key; remove it${known.length === 0 ? '' : `, known here: ${known.join(', ')}`}`;
}

/** The first place in the schema that has this key, such as `http.port` for a stray `port`. */
function findKey(node: SchemaNode, key: string, path: readonly string[] = []): string | undefined {
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    if (name === key) return [...path, name].join('.');
    const found = findKey(child, key, [...path, name]);
    if (found) return found;
  }
  return undefined;
}

function missing(path: ConfigPath, node: SchemaNode | undefined): string {
  const meaning = node?.description ? ` (${node.description})` : '';
  const instead = path[0] === 'models' ? 'leave the models block out and set' : 'set';
  const variable = node?.env ? `, or ${instead} ${node.env}` : '';
  return `missing; add "${path.at(-1)}"${meaning}${variable}`;
}

function expectation(node: SchemaNode | undefined): string | undefined {
  if (node?.enum) return `one of ${node.enum.join(', ')}`;
  switch (node?.type) {
    case 'integer':
      return `a whole number${range(node)}`;
    case 'number':
      return `a number${range(node)}`;
    case 'boolean':
      return 'true or false';
    case 'string':
      return 'text, in quotes';
    case 'array':
      return 'a list';
    case 'object':
      return 'a block of settings';
    default:
      return undefined;
  }
}

function range(node: SchemaNode): string {
  const low = node.minimum === undefined || node.minimum === Number.MIN_SAFE_INTEGER ? undefined : node.minimum;
  const high = node.maximum === undefined || node.maximum === Number.MAX_SAFE_INTEGER ? undefined : node.maximum;
  if (low !== undefined && high !== undefined) return ` from ${low} to ${high}`;
  if (low !== undefined) return ` of at least ${low}`;
  if (high !== undefined) return ` of at most ${high}`;
  return node.exclusiveMinimum === undefined ? '' : ` above ${node.exclusiveMinimum}`;
}

function got(received: unknown, node: SchemaNode | undefined): string {
  if (received === undefined || node?.secret) return '';
  if (Array.isArray(received)) return ', got a list';
  if (typeof received === 'object') return ', got a block of settings';
  const shown = JSON.stringify(received);
  return `, got ${shown.length > 60 ? typeof received : shown}`;
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>((at, key) => {
    if (typeof at !== 'object' || at === null) return undefined;
    return Object.entries(at).find(([name]) => name === String(key))?.[1];
  }, value);
}

/** The lines of a report, sorted by path; positions in lists that only normalisation made are left out. */
export function issueLines(issues: readonly ConfigIssue[], single: ReadonlySet<string>): readonly string[] {
  const lines = issues.map(({ path, text }) => {
    const written = path.filter((key, index) => typeof key !== 'number' || !single.has(pathText(path.slice(0, index))));
    return written.length === 0 ? text : `${pathText(written)}: ${text}`;
  });
  return [...new Set(lines)].sort();
}

/** The candidate a person most likely meant: equal but for case, or at most a third of its letters away. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (
      distance <= Math.max(1, Math.floor(candidate.length / 3)) &&
      distance < (best?.distance ?? Number.POSITIVE_INFINITY)
    ) {
      best = { candidate, distance };
    }
  }
  return best?.candidate;
}

/**
 * Letters to add, drop, replace or swap with their neighbour. Words longer than 64 letters are cut: no key is that
 * long, and the cost is quadratic.
 */
function editDistance(left: string, right: string): number {
  const [a, b] = [left.slice(0, 64), right.slice(0, 64)];
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next.push(
        Math.min(
          replaced,
          at(row, j) + 1,
          at(next, j - 1) + 1,
          swapped ? at(before, j - 2) + 1 : Number.MAX_SAFE_INTEGER,
        ),
      );
    }
    [before, row] = [row, next];
  }
  return at(row, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.MAX_SAFE_INTEGER;
}
