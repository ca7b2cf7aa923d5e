import type { ToolRisk } from '../tool.js';
import { cleanText, shownLine, shownText } from '../untrusted-text.js';
import type { SdkTool } from './connection.js';
import type { UsableServerConfig } from './server-config.js';
import { toolNames } from './tool-names.js';

const MOST_TOOLS = 128;
const LONGEST_DESCRIPTION = 2_000;
const LARGEST_SCHEMA = 50_000;
const DEEPEST_SCHEMA = 32;

/** A tool of a server as models see it. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly risk: ToolRisk;
  readonly idempotent: boolean;
  /** Server and tool by their own names. */
  readonly label: string;
  /** The server's own definition, without its output schema. */
  readonly remote: SdkTool;
}

export interface ToolListOptions {
  /** Name of the server in the configuration. */
  readonly server: string;
  readonly config: UsableServerConfig;
  /** Every configured server; names are unique among them. */
  readonly servers: readonly string[];
  readonly onWarning: (problem: string) => void;
}

/** Turns what a server listed into tools: allowed ones, with bounded descriptions and schemas a model API accepts. */
export function listTools(remote: readonly SdkTool[], options: ToolListOptions): readonly ListedTool[] {
  const { server, config, servers, onWarning } = options;
  const allowed = uniqueTools(remote).filter(({ name }) => matches(name, config.allow) && !matches(name, config.deny));
  if (allowed.length > MOST_TOOLS) {
    onWarning(`offers ${allowed.length} tools; only the first ${MOST_TOOLS} are used, choose with allow and deny`);
  }
  const used = allowed.slice(0, MOST_TOOLS);
  const names = toolNames(
    server,
    used.map(({ name }) => name),
    servers,
  );
  return used.map((tool) => {
    const parameters = parametersOf(tool.inputSchema);
    if (!parameters)
      onWarning(`the schema of tool ${shownLine(tool.name, 64)} is unusable or too large; it is left empty`);
    const { outputSchema: _unused, ...remoteTool } = tool;
    return {
      name: names.get(tool.name) ?? '',
      description: describe(tool),
      parameters: parameters ?? { type: 'object', properties: {} },
      ...permissionsOf(tool, config.trust),
      label: `${server}/${shownLine(tool.name, 64)}`,
      remote: remoteTool,
    };
  });
}

function uniqueTools(tools: readonly SdkTool[]): readonly SdkTool[] {
  return [...new Map(tools.toReversed().map((tool) => [tool.name, tool])).values()].toReversed();
}

/** Hints of a server that is not trusted can raise the risk, never lower it. */
function permissionsOf({ annotations }: SdkTool, trusted: boolean): { risk: ToolRisk; idempotent: boolean } {
  const reads = trusted && annotations?.readOnlyHint === true;
  const destroys = annotations?.destructiveHint === true && !reads;
  return {
    risk: reads ? 'read' : destroys ? 'destructive' : 'write',
    idempotent: reads || (trusted && annotations?.idempotentHint === true),
  };
}

function describe({ name, title, description }: SdkTool): string {
  return shownText(description?.trim() || title?.trim() || name, LONGEST_DESCRIPTION);
}

/** `*` stands for any characters; everything else for itself. */
function matches(name: string, globs: readonly string[]): boolean {
  return globs.some((glob) => {
    const parts = glob.split('*').map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`, 's').test(name);
  });
}

/** The schema as a JSON object of type object; undefined when it is none or too large. */
function parametersOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  const copy = copySchema(schema, 0);
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy)) return undefined;
  const { $schema: _dialect, ...rest } = copy as Record<string, unknown>;
  const { properties } = rest;
  const parameters = { ...rest, type: 'object', properties: isRecord(properties) ? properties : {} };
  return JSON.stringify(parameters).length > LARGEST_SCHEMA ? undefined : parameters;
}

/** Bounds depth and descriptions; the words in them are the server's, so controls go. */
function copySchema(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEEPEST_SCHEMA) return {};
  if (Array.isArray(value)) return value.map((item) => copySchema(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === 'description' && typeof item === 'string') return [key, shownText(item, LONGEST_DESCRIPTION)];
      return [key, copySchema(item, depth + 1)];
    }),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
