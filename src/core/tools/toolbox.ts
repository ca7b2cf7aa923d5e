import type { ToolCall, ToolSchema } from '../llm/model.js';
import { createToolCatalog, type ToolCatalog } from './catalog.js';
import { createLoadTools, LOAD_TOOLS, type LoadableTool } from './load-tools.js';
import { similarNames } from './similar-names.js';
import type { Tool, ToolOutcome } from './tool.js';

/** Tools that come and go while the process lives: those of MCP servers. */
export interface ToolSource {
  /** Asked before each request: answers from memory where it can. Throws AbortedError; a server that fails is left out. */
  tools(signal: AbortSignal): Promise<readonly Tool[]>;
}

export interface ToolboxOptions {
  /** The agent's own, built-in ones first: of two with one name the first wins, and all beat the source's. */
  readonly tools: readonly Tool[];
  /** What agent and conversation have bound: always callable. */
  readonly source?: ToolSource | undefined;
  /** Callable from the start; the others have to be loaded. Null or empty: all are. */
  readonly coreToolNames: readonly string[] | null;
  /** Names that were loaded before, or are callable for another reason; read at each refresh. */
  readonly bound: () => readonly string[];
  /** The model loaded these: keep them in what `bound` returns. Called with at least one name, none of them callable. */
  readonly onLoad: (names: string[]) => void;
  /** Names of tools that are no business of this box (ask, plan): a tool called like one is left out. */
  readonly internalNames: readonly string[];
}

/** A tool that is left out because its name is taken, by an internal tool or by one that stands before it. */
export interface DroppedTool {
  readonly name: string;
  readonly reason: 'internal' | 'shadowed';
}

/** What one run can call. Nothing changes between two `refresh`, so a round sees the tools its request announced. */
export interface Toolbox {
  /** Takes over what the source has now and what was loaded since. What the source throws leaves all as it was. */
  refresh(signal: AbortSignal): Promise<void>;
  /**
   * `get` and `schemas` know what is callable. `run` answers a call of a tool that is known but not loaded with how to
   * load it; `resume` continues it, since it was callable when it was called.
   */
  readonly catalog: ToolCatalog;
  /** What the model sees; `load_tools` is among them while there is something to load. */
  readonly schemas: readonly ToolSchema[];
  readonly loadable: readonly LoadableTool[];
  readonly dropped: readonly DroppedTool[];
}

/** Names in the answer to a call of a tool that does not exist. */
const MOST_LISTED = 50;

interface Contents {
  readonly known: ToolCatalog;
  readonly callable: ToolCatalog;
  readonly loadable: readonly LoadableTool[];
}

/** Makes the toolbox of a run; it holds the agent's own tools until the first `refresh`. */
export function createToolbox(options: ToolboxOptions): Toolbox {
  const internal = new Set([...options.internalNames, LOAD_TOOLS]);
  const core = options.coreToolNames?.length ? new Set(options.coreToolNames) : undefined;
  let offered: readonly Tool[] = [];
  let contents = fill();

  /** The whole content anew: names of one part decide about the others. */
  function fill(): Contents {
    const known = createToolCatalog([...options.tools, ...offered].filter(({ name }) => !internal.has(name)));
    const bound = new Set(options.bound());
    const fromSource = new Set(offered);
    const isExposed = (tool: Tool) => !core || core.has(tool.name) || bound.has(tool.name) || fromSource.has(tool);
    const all = known.schemas.flatMap(({ name }) => known.get(name) ?? []);
    const exposed = all.filter(isExposed);
    const loadable = all.filter((tool) => !isExposed(tool)).map(({ name, description }) => ({ name, description }));
    const names = exposed.map(({ name }) => name);
    const loader = loadable.length > 0 ? [createLoadTools({ loadable, exposed: names, onLoad: options.onLoad })] : [];
    return { known, callable: createToolCatalog([...exposed, ...loader]), loadable };
  }

  function unavailable({ name }: ToolCall): ToolOutcome | undefined {
    if (contents.callable.get(name)) return undefined;
    if (contents.known.get(name)) {
      return failed(
        `${name} is not loaded. Call ${LOAD_TOOLS} with names ["${name}"] first, then ${name} in your next step`,
      );
    }
    const names = contents.callable.schemas.map((schema) => schema.name);
    const similar = similarNames(name, [...names, ...contents.loadable.map((tool) => tool.name)]);
    const hint = similar.length > 0 ? ` Did you mean ${similar.join(' or ')}?` : '';
    const more = names.length > MOST_LISTED ? `, and ${names.length - MOST_LISTED} more` : '';
    const list = names.slice(0, MOST_LISTED).join(', ') || 'none';
    return failed(`there is no tool ${JSON.stringify(name.slice(0, 100))}.${hint} Tools: ${list}${more}`);
  }

  const catalog: ToolCatalog = {
    get schemas() {
      return contents.callable.schemas;
    },
    get shadowed() {
      return contents.known.shadowed;
    },
    get: (name) => contents.callable.get(name),
    run: async (call, context) => unavailable(call) ?? contents.callable.run(call, context),
    resume: async (call, answer, context) => contents.known.resume(call, answer, context),
  };
  return {
    catalog,
    async refresh(signal) {
      if (options.source) offered = await options.source.tools(signal);
      contents = fill();
    },
    get schemas() {
      return contents.callable.schemas;
    },
    get loadable() {
      return contents.loadable;
    },
    get dropped() {
      const taken = [...options.tools, ...offered].filter(({ name }) => internal.has(name));
      return [
        ...taken.map(({ name }) => ({ name, reason: 'internal' as const })),
        ...contents.known.shadowed.map((name) => ({ name, reason: 'shadowed' as const })),
      ];
    },
  };
}

function failed(problem: string): ToolOutcome {
  return { content: `Error: ${problem}`, failed: true, skipCompression: true };
}
