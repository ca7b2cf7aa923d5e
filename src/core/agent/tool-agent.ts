import type { ToolCatalog } from '../tools/catalog.js';
import type { AgentLoopHooks } from './hooks.js';

/** Rounds of mode `tools` when the config says nothing (seed 000, 3.2.2). */
export const TOOL_AGENT_MAX_ITERATIONS = 50;

export interface ToolAgentOptions {
  /** Undefined: no schemas are sent (`enableTools: false`). */
  readonly catalog: ToolCatalog | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Mode `tools` as hooks: every schema of the catalog in every request, calls one after the other (tools may depend on
 * each other's effects and on the order of what people see), stop tools and interactive tools.
 */
export function toolAgentHooks({ catalog, now }: ToolAgentOptions): AgentLoopHooks {
  return {
    getRequestControl: () => ({ tools: catalog?.schemas }),
    canBatchTool: () => false,
    async onRunTool(call, { signal, interrupted }) {
      if (!catalog) return { content: 'Error: this agent has no tools', failed: true };
      return catalog.run(call, { signal, now, interrupted });
    },
    async onRunInteractiveTool(call, answer, { signal, interrupted }) {
      if (!catalog) return { content: 'Error: this agent has no tools', failed: true };
      return catalog.resume(call, answer, { signal, now, interrupted });
    },
  };
}
