/** The parts of a JSON schema the configuration walks; `env` and `secret` come from zod's `.meta()`. */
export interface SchemaNode {
  readonly type?: string | undefined;
  readonly properties?: Readonly<Record<string, SchemaNode>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: SchemaNode | undefined;
  readonly additionalProperties?: SchemaNode | boolean | undefined;
  readonly anyOf?: readonly SchemaNode[] | undefined;
  /** What zod writes for a union told apart by one of its keys. */
  readonly oneOf?: readonly SchemaNode[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly const?: unknown;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly exclusiveMinimum?: number | undefined;
  readonly default?: unknown;
  readonly description?: string | undefined;
  /** Environment variable that fills the setting when the file leaves it out. */
  readonly env?: string | undefined;
  /** Never shown, logged or printed. */
  readonly secret?: boolean | undefined;
}

/** A place in the configuration: keys of objects, positions in lists. */
export type ConfigPath = readonly (string | number)[];

/** The schema of one key or position below `node`; undefined where nothing is known. */
export function childOf(node: SchemaNode | undefined, key: string | number): SchemaNode | undefined {
  if (!node) return undefined;
  for (const variant of node.anyOf ?? node.oneOf ?? []) {
    const found = childOf(variant, key);
    if (found) return found;
  }
  if (typeof key === 'number') return node.items;
  if (node.properties && Object.hasOwn(node.properties, key)) return node.properties[key];
  return typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
}

/** The schema at a path; undefined where nothing is known. */
export function nodeAt(root: SchemaNode, path: ConfigPath): SchemaNode | undefined {
  return path.reduce<SchemaNode | undefined>(childOf, root);
}

/** Rewrites every leaf of `value` with the schema that belongs to it; objects and lists are copied. */
export function mapLeaves(
  value: unknown,
  node: SchemaNode | undefined,
  visit: (leaf: unknown, node: SchemaNode | undefined, path: ConfigPath) => unknown,
  path: ConfigPath = [],
): unknown {
  if (Array.isArray(value)) {
    return value.map((item, index) => mapLeaves(item, childOf(node, index), visit, [...path, index]));
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    return Object.fromEntries(
      entries.map(([key, item]) => [key, mapLeaves(item, childOf(node, key), visit, [...path, key])]),
    );
  }
  return visit(value, node, path);
}

/** `agents.assistant.tools[0]`, as people write it. */
export function pathText(path: ConfigPath): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}
