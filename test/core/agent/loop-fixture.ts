import type { AgentEvent } from '../../../src/core/agent/events.js';
import type { AgentLoopHooks, ToolResult } from '../../../src/core/agent/hooks.js';
import { type AgentLoopInput, type AgentLoopResult, runAgentLoop } from '../../../src/core/agent/run-agent-loop.js';
import { loopState } from '../../../src/core/agent/run-state.js';
import { createLoopState } from '../../../src/core/agent/transcript.js';
import { type Script, type ScriptedModel, scriptedModel } from './scripted-model.js';

export interface Loop {
  readonly result: AgentLoopResult;
  readonly model: ScriptedModel;
  readonly events: readonly AgentEvent[];
  /** Events of one type, in order. */
  of<Type extends AgentEvent['type']>(type: Type): readonly Extract<AgentEvent, { type: Type }>[];
}

export interface LoopOptions extends Partial<Omit<AgentLoopInput, 'hooks' | 'model'>> {
  readonly hooks?: Partial<AgentLoopHooks>;
  readonly price?: ScriptedModel['price'];
}

/** Runs the kernel over a scripted model; tools answer with their name unless a hook says otherwise. */
export async function loop(script: Script, options: LoopOptions = {}): Promise<Loop> {
  const { hooks, price, ...input } = options;
  const events: AgentEvent[] = [];
  const model = scriptedModel(script, price);
  const result = await runAgentLoop({
    model,
    state: createLoopState([{ role: 'user', content: 'question' }]),
    signal: new AbortController().signal,
    ...input,
    hooks: {
      onRunTool: async (call): Promise<ToolResult> => ({ content: `result of ${call.id}` }),
      ...hooks,
      onEvent: (event) => events.push(event),
    },
  });
  // Whatever happened: the state stays one that a later process can read.
  loopState.parse(JSON.parse(JSON.stringify(result.state)));
  return {
    result,
    model,
    events,
    of: (type) => events.filter((event): event is Extract<AgentEvent, { type: typeof type }> => event.type === type),
  };
}

/** `role:content` of each message, for short comparisons. */
export function lines(chain: readonly { readonly role: string; readonly content: string }[]): readonly string[] {
  return chain.map(({ role, content }) => `${role}:${content}`);
}
