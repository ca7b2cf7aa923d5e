import type { ToolCall, ToolSchema } from '../llm/model.js';
import type { Tool, ToolContext, ToolOutcome } from './tool.js';

export interface CatalogContext extends ToolContext {
  /** A former process started this call and died before its result was stored. */
  readonly interrupted: boolean;
}

/** The tools of one agent, looked up by name. */
export interface ToolCatalog {
  /** In the order given, as the model sees them. */
  readonly schemas: readonly ToolSchema[];
  /** Names of tools left out because an earlier one has the same name; the caller logs them. */
  readonly shadowed: readonly string[];
  get(name: string): Tool | undefined;
  /**
   * Runs one call. An unknown name and an interrupted call that must not be repeated are results; wrong arguments and
   * what the tool throws are thrown.
   */
  run(call: ToolCall, context: CatalogContext): Promise<ToolOutcome>;
  /** Continues a call that suspended as `interactive`. */
  resume(call: ToolCall, answer: string, context: CatalogContext): Promise<ToolOutcome>;
}

/** Puts tools together; of two with one name the first wins, so built-in ones come first (seed 001). */
export function createToolCatalog(tools: readonly Tool[]): ToolCatalog {
  const byName = new Map<string, Tool>();
  const shadowed: string[] = [];
  for (const tool of tools) {
    if (byName.has(tool.name)) shadowed.push(tool.name);
    else byName.set(tool.name, tool);
  }
  const schemas = [...byName.values()].map(({ name, description, parameters }) => ({ name, description, parameters }));
  return {
    schemas,
    shadowed,
    get: (name) => byName.get(name),
    async run(call, context) {
      const tool = byName.get(call.name);
      if (!tool) return unknownTool(call.name, schemas);
      if (context.interrupted && !tool.idempotent) return interrupted(call.name);
      return asResult(await tool.run(call.arguments, context));
    },
    async resume(call, answer, context) {
      const tool = byName.get(call.name);
      if (!tool) return unknownTool(call.name, schemas);
      if (!tool.resume) return { content: `Error: ${call.name} cannot be continued`, failed: true };
      if (context.interrupted && !tool.idempotent) return interrupted(call.name);
      return asResult(await tool.resume(call.arguments, answer, context));
    },
  };
}

function asResult(outcome: string | ToolOutcome): ToolOutcome {
  return typeof outcome === 'string' ? { content: outcome } : outcome;
}

function unknownTool(name: string, schemas: readonly ToolSchema[]): ToolOutcome {
  const known = schemas.map((schema) => schema.name).join(', ') || 'none';
  return { content: `Error: there is no tool ${JSON.stringify(name)}. Tools: ${known}`, failed: true };
}

function interrupted(name: string): ToolOutcome {
  return {
    content: `Interrupted: a restart came while ${name} ran. Its outcome is unknown and it was not repeated; check before calling it again.`,
    failed: true,
  };
}
