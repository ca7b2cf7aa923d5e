import type { Tool } from '../tools/tool.js';
import { createToolbox, type Toolbox } from '../tools/toolbox.js';
import { PLAN_TOOLS } from './plan-agent.js';
import type { McpSource, TurnInput } from './run-turn.js';

/** The tools of one run. */
export interface OpenedToolbox {
  readonly toolbox: Toolbox | undefined;
  /** What is not there and why, as of the newest look. */
  skipped(): readonly { readonly name: string; readonly reason: string }[];
}

/**
 * Puts together what a run may call: the agent's tools, its sub-agents as `own`, the servers bound to it or to the
 * conversation. `loadedTools` grows with what `load_tools` brings in.
 */
export async function openToolbox(
  input: TurnInput,
  { own, loadedTools }: { own: readonly Tool[]; loadedTools: string[] },
): Promise<OpenedToolbox> {
  const { agent, mcp, signal } = input;
  if (!agent.enableTools || agent.mode === 'chat') return { toolbox: undefined, skipped: () => [] };
  let servers: Awaited<ReturnType<McpSource['tools']>>['skipped'] = [];
  const toolbox = createToolbox({
    tools: [...agent.tools, ...own],
    ...(mcp && {
      source: {
        async tools(stop: AbortSignal) {
          const loaded = await mcp.tools(input.mcpServers, stop);
          servers = loaded.skipped;
          return loaded.tools;
        },
      },
    }),
    coreToolNames: agent.coreToolNames,
    bound: () => [...input.loadedTools, ...loadedTools],
    onLoad: (names) => loadedTools.push(...names.filter((name) => !loadedTools.includes(name))),
    internalNames: agent.mode === 'plan' ? PLAN_TOOLS.map(({ name }) => name) : [],
  });
  await toolbox.refresh(signal);
  return {
    toolbox,
    skipped: () => [
      ...toolbox.dropped,
      ...servers.map(({ server, reason, detail }) => ({
        name: server,
        reason: detail ? `${reason}: ${detail}` : reason,
      })),
    ],
  };
}
