import type { TextTable } from '../ports/texts.js';
import type { CatalogContext } from '../tools/catalog.js';
import type { Tool, ToolAnswer, ToolOutcome, ToolQuestion } from '../tools/tool.js';
import type { Toolbox } from '../tools/toolbox.js';
import { cutMiddle } from './compression/text-cut.js';
import type { AgentEvent } from './events.js';
import type { AgentLoopHooks, ToolCallContext } from './hooks.js';
import type { TurnState } from './turn-state.js';

/** Rounds of mode `tools` when the config says nothing (seed 000, 3.2.2). */
export const TOOL_AGENT_MAX_ITERATIONS = 50;

export interface ToolAgentOptions {
  /** Undefined: no schemas are sent (`enableTools: false`). */
  readonly toolbox: Toolbox | undefined;
  /** What waits for people is kept here, beside the chain. */
  readonly state: Pick<TurnState, 'interactive' | 'answers'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly onEvent: (event: AgentEvent) => void;
  /** Asks a person while a call stays open, until `stop`; absent where nobody can be asked. */
  readonly ask?: ((callId: string, question: ToolQuestion, stop: AbortSignal) => Promise<ToolAnswer>) | undefined;
  readonly texts?: TextTable | undefined;
  /** False where nobody can answer later: a tool that would wait is told so. */
  readonly canSuspend: boolean;
}

export type ToolAgentHooks = AgentLoopHooks & Pick<Required<AgentLoopHooks>, 'getRequestControl'>;

/**
 * Mode `tools` as hooks: the toolbox in every request, calls one after the other (tools may depend on each other's
 * effects and on the order of what people see), stop tools and interactive tools.
 */
export function toolAgentHooks(options: ToolAgentOptions): ToolAgentHooks {
  const { toolbox, state, now, onEvent } = options;

  /** Runs one call; what it still asks when it is over is taken back. */
  async function during(
    callId: string,
    { signal, interrupted }: ToolCallContext,
    work: (context: CatalogContext) => Promise<ToolOutcome>,
  ): Promise<ToolOutcome> {
    const { ask, texts } = options;
    const ended = new AbortController();
    const askUntil = (question: ToolQuestion, stop: AbortSignal = ended.signal): Promise<ToolAnswer> =>
      ask?.(callId, question, AbortSignal.any([stop, ended.signal])) ?? Promise.resolve({});
    const progress = (line: string): void => onEvent({ type: 'tool.progress', callId, line });
    try {
      return await work({
        ...{ signal, now, callId, onEvent, texts, progress, interrupted },
        ...(ask && { ask: askUntil }),
      });
    } finally {
      ended.abort('the call is over');
    }
  }

  /** Keeps what a suspended call needs to go on; the answer may come to another process. */
  function settle(callId: string, outcome: ToolOutcome): ToolOutcome {
    if (!outcome.suspend) return outcome;
    if (!options.canSuspend) return { content: 'Error: nobody can be asked here', failed: true };
    const { text = outcome.content, options: choices = [] } = outcome.question ?? {};
    state.interactive[callId] = { text, options: [...choices], resumeData: outcome.resumeData };
    return outcome;
  }

  return {
    async getRequestControl() {
      await toolbox?.refresh(options.signal);
      return { tools: toolbox?.schemas };
    },
    canBatchTool: () => false,
    async onRunTool(call, context) {
      if (!toolbox) return { content: 'Error: this agent has no tools', failed: true };
      return settle(call.id, await during(call.id, context, (own) => toolbox.catalog.run(call, own)));
    },
    async onRunInteractiveTool(call, answer, context) {
      const resumeData = state.interactive[call.id]?.resumeData;
      // Before it runs: an answer is used once, also by a call that fails. A take-over has it from the last commit.
      state.answers = state.answers.filter(({ callId }) => callId !== call.id);
      delete state.interactive[call.id];
      if (!toolbox) return { content: 'Error: this agent has no tools', failed: true };
      const resume = (own: CatalogContext) => toolbox.catalog.resume(call, answer, { ...own, resumeData });
      const outcome = await during(call.id, context, resume);
      // The kernel does not compress what came of an answer; the tool's own limit holds all the same.
      const content = cutMiddle(outcome.content, toolbox.catalog.get(call.name)?.maxResultChars ?? Infinity);
      return settle(call.id, { ...outcome, content });
    },
  };
}

/** Whether a kill in the middle of this call is worth a commit before it: only what must not be repeated is. */
export function needsMark(tool: Tool | undefined): boolean {
  return !tool?.idempotent;
}
