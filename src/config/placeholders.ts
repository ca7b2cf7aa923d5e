import type { ConfigIssue } from './issues.js';
import { mapLeaves, type SchemaNode } from './json-schema.js';

/** The environment as the configuration reads it; a blank value counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `$${` is an escaped `${`; otherwise a name and, after `:-`, what stands in when it is not set. */
const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}/g;
const CONTENT = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/** The value of a variable, or undefined when it is missing or blank. */
export function variable(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every string. Replacement happens after YAML was parsed, so a value can
 * never change the structure of the file. A setting that becomes blank counts as left out; where the schema wants a
 * number or a boolean, the text is read as one. A missing variable is reported with its path and stays as written.
 */
export function fillPlaceholders(
  value: unknown,
  schema: SchemaNode,
  env: Environment,
): { readonly value: unknown; readonly issues: readonly ConfigIssue[] } {
  const issues: ConfigIssue[] = [];
  const filled = mapLeaves(value, schema, (leaf, node, path) => {
    if (leaf === null) return undefined;
    if (typeof leaf !== 'string' || !leaf.includes('${')) return leaf;
    const report = (text: string) => issues.push({ path, text });
    const text = replaceIn(leaf, env, report);
    return text === '' ? undefined : asScalar(text, node);
  });
  return { value: filled, issues };
}

function replaceIn(text: string, env: Environment, report: (text: string) => void): string {
  return text.replace(PLACEHOLDER, (whole, content: string | undefined) => {
    if (content === undefined) return '${';
    const parts = CONTENT.exec(content);
    const name = parts?.[1];
    if (name === undefined) {
      report(`"${whole}" names no environment variable; write \${NAME} or \${NAME:-default}, or $\${ for a plain \${`);
      return whole;
    }
    const found = variable(env, name) ?? parts?.[2];
    if (found !== undefined) return found;
    report(`the environment variable ${name} is not set; set it, or write \${${name}:-default}`);
    return whole;
  });
}

function asScalar(text: string, node: SchemaNode | undefined): unknown {
  if (node?.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  const numeric = node?.type === 'integer' || node?.type === 'number';
  return numeric && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
