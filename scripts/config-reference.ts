/** Writes docs/configuration.md from the schema of the configuration: `npm run docs`. A test finds drift. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SchemaNode } from '../src/config/json-schema.js';
import { configSchema } from '../src/config.js';

const INTRODUCTION = `# Configuration

This page is generated from the schema in \`src/config/schema.ts\` by \`npm run docs\`; do not edit it by hand.

Threadloop reads \`config.yaml\` in the folder it is started in, or the file named by \`--config\` or \`THREADLOOP_CONFIG\`.
A file is optional. Start from \`config.example.yaml\`.

- **Placeholders.** \`\${NAME}\` takes a value from the environment, \`\${NAME:-default}\` has a substitute, \`$\${\` is a plain
  \`\${\`. They work inside every string, and alone for a number or a boolean. They are replaced after the YAML was read, so
  a value cannot change the structure of the file. A blank result counts as left out; a missing variable is an error.
- **Environment.** A variable named in the tables fills its setting when the file leaves it out; the file wins. The
  three \`OPENAI_\` variables make a model called \`default\` only when the file has no \`models\` block, so a key never goes
  to an address it was not meant for; without \`OPENAI_MODEL\` that model is \`gpt-5-mini\`. \`TELEGRAM_BOT_TOKEN\` switches
  Telegram on.
- **No model at all** means that the built-in scripted demo answers, and says so in every answer.
- **Errors.** Every mistake is reported at once, each with its path and its fix, and the exit code is 2. An unknown key
  is a mistake. \`threadloop config check\` looks without starting, \`config print\` shows the result with secrets masked,
  \`config schema\` prints a JSON schema for editors.
- **Outside the file:** \`LOG_LEVEL\` (\`debug\`, \`info\`, \`warn\`, \`error\`, \`silent\`) and \`LOG_FORMAT\` (\`json\`, \`lines\`; by
  default \`lines\` at a terminal).
`;

const HEAD = '| Setting | Value | Default | Environment | Meaning |\n|---|---|---|---|---|';

interface Row {
  readonly path: string;
  readonly node: SchemaNode;
  readonly required: boolean;
}

/** The whole page. */
export function configReference(): string {
  const schema = configSchema() as SchemaNode;
  const blocks = Object.entries(schema.properties ?? {});
  const plain = blocks.filter(([, node]) => settingsOf(node, '').length === 0);
  const sections = blocks.flatMap(([name, node]) => sectionsOf(name, node));
  return [
    INTRODUCTION,
    `## Top level\n\n${table(plain.map(([path, node]) => ({ path, node, required: false })))}\n`,
    ...sections,
  ].join('\n');
}

/** A block with only blocks inside it, such as `adapters`, gets a section for each of them. */
function sectionsOf(name: string, node: SchemaNode): readonly string[] {
  const rows = settingsOf(node, pathInside(name, node));
  if (rows.length === 0) return [];
  if (name === 'adapters') {
    return Object.entries(node.properties ?? {}).flatMap(([platform, block]) =>
      sectionsOf(`adapters.${platform}`, block),
    );
  }
  return [`## ${name}\n\n${node.description ?? ''}.\n\n${table(rows)}\n`];
}

function settingsOf(node: SchemaNode, path: string): readonly Row[] {
  const block = blockOf(node);
  return Object.entries(block?.properties ?? {}).flatMap(([key, child]) => {
    const at = path === '' ? key : `${path}.${key}`;
    const inner = settingsOf(child, pathInside(at, child));
    return inner.length > 0 ? inner : [{ path: at, node: child, required: block?.required?.includes(key) ?? false }];
  });
}

/** The object that holds the settings: the node itself, an item of its list, or an entry of its map. */
function blockOf(node: SchemaNode): SchemaNode | undefined {
  const variant = node.anyOf?.find((candidate) => candidate.properties);
  if (variant) return variant;
  if (node.oneOf) return merged(node.oneOf);
  if (node.properties) return node;
  if (node.items?.properties) return node.items;
  const entry = node.additionalProperties;
  if (typeof entry !== 'object') return undefined;
  return entry.oneOf ? merged(entry.oneOf) : entry;
}

/** Kinds of one block told apart by a key: every setting of any of them, required where all require it. */
function merged(variants: readonly SchemaNode[]): SchemaNode {
  const properties: Record<string, SchemaNode> = {};
  for (const variant of variants) {
    for (const [key, node] of Object.entries(variant.properties ?? {})) properties[key] ??= node;
  }
  const kinds = variants.flatMap(({ properties: own }) => own?.transport?.const ?? []);
  if (properties.transport)
    properties.transport = { ...properties.transport, enum: kinds, description: 'How it is reached' };
  const required = Object.keys(properties).filter((key) =>
    variants.every((variant) => variant.required?.includes(key)),
  );
  return { properties, required };
}

function pathInside(path: string, node: SchemaNode): string {
  if (node.anyOf || node.oneOf || node.properties) return path;
  if (node.items?.properties) return `${path}[]`;
  return typeof node.additionalProperties === 'object' ? `${path}.NAME` : path;
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ path, node, required }) => {
    const fallback = node.default === undefined ? (required ? 'required' : '–') : `\`${JSON.stringify(node.default)}\``;
    const meaning = `${node.description ?? ''}${node.secret ? ' (secret)' : ''}`;
    return `| \`${path}\` | ${kindOf(node)} | ${fallback} | ${node.env ? `\`${node.env}\`` : ''} | ${cell(meaning)} |`;
  });
  return [HEAD, ...lines].join('\n');
}

function kindOf(node: SchemaNode): string {
  if (node.enum) return node.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (node.anyOf) return [...new Set(node.anyOf.map(kindOf))].join(' or ');
  switch (node.type) {
    case 'integer':
      return 'whole number';
    case 'string':
      return 'text';
    case 'boolean':
      return '`true`, `false`';
    case 'array':
      return `list of ${node.items ? kindOf(node.items) : 'values'}`;
    default:
      return node.type ?? 'value';
  }
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('../docs/configuration.md', import.meta.url), configReference());
}
