import { type ToolAgentOptions, toolAgentHooks } from '../../../src/core/agent/tool-agent.js';
import type { Tool } from '../../../src/core/tools/tool.js';
import { createToolbox } from '../../../src/core/tools/toolbox.js';

/** The hooks of mode `tools` over these tools; undefined: none are offered. */
export function hooksOver(tools: readonly Tool[] | undefined, over: Partial<ToolAgentOptions> = {}) {
  const toolbox =
    tools &&
    createToolbox({
      ...{ tools, coreToolNames: null, bound: () => [], onLoad: () => undefined, internalNames: [] },
    });
  return toolAgentHooks({
    ...{ toolbox, state: { interactive: {}, answers: [] }, now: () => 0, onEvent: () => undefined, canSuspend: true },
    signal: new AbortController().signal,
    ...over,
  });
}
