import { z } from 'zod';
import { similarNames } from './similar-names.js';
import { defineTool, type Tool } from './tool.js';

export const LOAD_TOOLS = 'load_tools';

/** A tool the model can ask for. */
export interface LoadableTool {
  readonly name: string;
  readonly description: string;
}

export interface LoadToolsOptions {
  /** Not callable yet. */
  readonly loadable: readonly LoadableTool[];
  /** Callable already. */
  readonly exposed: readonly string[];
  /** Called with at least one name of `loadable`, none twice. */
  readonly onLoad: (names: string[]) => void;
}

/** Names of one call. */
const MOST_NAMES = 20;

/** The list is part of every request: above this the rest is only counted. */
const LIST_CHARACTERS = 6_000;
const DESCRIPTION_CHARACTERS = 100;

/** The tool that makes other tools callable, from the next request on (reference/steering-compression-mcp 1.2). */
export function createLoadTools({ loadable, exposed, onLoad }: LoadToolsOptions): Tool {
  const names = loadable.map(({ name }) => name);
  return defineTool({
    name: LOAD_TOOLS,
    description: `Makes more tools callable, from your next step on. Load only what the task needs.\n${listOf(loadable)}`,
    parameters: z.object({
      names: z.array(z.string().min(1)).min(1).max(MOST_NAMES).describe('Names from the list of this tool'),
    }),
    idempotent: true,
    risk: 'read',
    async execute(wanted) {
      const asked = [...new Set(wanted.names)];
      const found = asked.filter((name) => names.includes(name));
      const there = asked.filter((name) => exposed.includes(name));
      const unknown = asked.filter((name) => !found.includes(name) && !there.includes(name));
      if (found.length > 0) onLoad(found);
      const lines = [
        found.length > 0 && `Loaded, callable from your next step on: ${found.join(', ')}`,
        there.length > 0 && `Callable already: ${there.join(', ')}`,
        ...unknown.map((name) => unknownLine(name, [...names, ...exposed])),
      ];
      return {
        content: lines.filter(Boolean).join('\n'),
        failed: unknown.length === asked.length,
        skipCompression: true,
      };
    },
  });
}

function unknownLine(name: string, names: readonly string[]): string {
  const similar = similarNames(name, names);
  const hint = similar.length > 0 ? `; did you mean ${similar.join(' or ')}?` : '';
  return `There is no tool ${JSON.stringify(name.slice(0, 100))}${hint}`;
}

function listOf(loadable: readonly LoadableTool[]): string {
  const lines: string[] = [];
  let room = LIST_CHARACTERS;
  for (const { name, description } of loadable) {
    const line = `- ${name}: ${oneLine(description)}`;
    room -= line.length + 1;
    if (room < 0) break;
    lines.push(line);
  }
  const more = loadable.length - lines.length;
  const rest = more > 0 ? [`and ${more} more: for a name that is not known, similar ones are named`] : [];
  return [...lines, ...rest].join('\n');
}

function oneLine(description: string): string {
  const line = description
    .slice(0, DESCRIPTION_CHARACTERS * 4)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > DESCRIPTION_CHARACTERS ? `${line.slice(0, DESCRIPTION_CHARACTERS).trimEnd()}…` : line;
}
