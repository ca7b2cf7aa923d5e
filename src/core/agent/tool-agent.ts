import type { TextTable } from '../ports/texts.js';
import type { Tool, ToolAnswer, ToolContext, ToolOutcome, ToolQuestion } from '../tools/tool.js';
import type { Toolbox } from '../tools/toolbox.js';
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
  /** Asks a person while a call stays open; absent where nobody can be asked. */
  readonly ask?: ((callId: string, question: ToolQuestion) => Promise<ToolAnswer>) | undefined;
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

  function contextOf(callId: string, { signal }: ToolCallContext, resumeData?: unknown): ToolContext {
    const { ask } = options;
    return {
      signal,
      now,
      callId,
      resumeData,
      onEvent,
      texts: options.texts,
      progress: (line) => onEvent({ type: 'tool.progress', callId, line }),
      ...(ask && { ask: (question: ToolQuestion) => ask(callId, question) }),
    };
  }

  /** Keeps what a suspended call needs to go on; the answer may come to another process. */
  function settle(callId: string, outcome: ToolOutcome): ToolOutcome {
    state.answers = state.answers.filter((answer) => answer.callId !== callId);
    delete state.interactive[callId];
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
      const own = { ...contextOf(call.id, context), interrupted: context.interrupted };
      return settle(call.id, await toolbox.catalog.run(call, own));
    },
    async onRunInteractiveTool(call, answer, context) {
      if (!toolbox) return { content: 'Error: this agent has no tools', failed: true };
      const data = state.interactive[call.id]?.resumeData;
      const own = { ...contextOf(call.id, context, data), interrupted: context.interrupted };
      return settle(call.id, await toolbox.catalog.resume(call, answer, own));
    },
  };
}

/** Whether a kill in the middle of this call is worth a commit before it: only what must not be repeated is. */
export function needsMark(tool: Tool | undefined): boolean {
  return !tool?.idempotent;
}
