import type { ChatMessage, Model } from '../llm/model.js';
import { estimateTokens } from '../llm/tokens.js';
import type { ToolCatalog } from '../tools/catalog.js';
import { runChatTurn } from './chat-turn.js';
import type { AgentEvent } from './events.js';
import type { AgentLoopHooks, Steering } from './hooks.js';
import { type AgentLoopResult, runAgentLoop } from './run-agent-loop.js';
import type { LoopState } from './run-state.js';
import { TOOL_AGENT_MAX_ITERATIONS, toolAgentHooks } from './tool-agent.js';
import { createLoopState } from './transcript.js';

/** An agent of the config with its model and tools resolved. */
export interface AgentSpec {
  readonly name: string;
  readonly mode: 'chat' | 'tools';
  readonly model: Model;
  readonly systemPrompt: string;
  readonly maxIterations: number | undefined;
  readonly maxToolCallsPerTurn: number;
  readonly enableTools: boolean;
  readonly catalog: ToolCatalog;
  readonly steering: 'steer' | 'queue';
  readonly display: 'quiet' | 'normal' | 'verbose';
  /** Longer runs end with a short notifying reply, where edits notify nobody (design 5); unset: 60 s. */
  readonly notifyAfterMs?: number | undefined;
  readonly showReasoning: boolean;
  readonly showAnswer: boolean;
  /** Person ids who may stop a run besides the person who started it: approvers and admins. */
  readonly stoppers: readonly string[];
}

/** What a run needs from the job that holds the conversation. */
export interface TurnHost {
  takeSteering(state: LoopState): Promise<Steering | undefined>;
  /** One atomic, fenced boundary. */
  save(state: LoopState): Promise<void>;
  onEvent(event: AgentEvent): void;
}

export interface TurnInput {
  readonly agent: AgentSpec;
  readonly history: readonly ChatMessage[];
  /** The text that started the turn. */
  readonly text: string;
  /** Restored by a take-over; absent for a fresh turn. */
  readonly loop?: LoopState | undefined;
  readonly host: TurnHost;
  readonly signal: AbortSignal;
  readonly now: () => number;
}

/**
 * Runs or continues one turn of an agent. The levels of autonomy differ only in the hooks given to the kernel; `chat`
 * makes exactly one request (seed 000, 2.1). A failing hook ends as `error`, an abort as `stopped`; only
 * SupersededError is thrown. On shutdown the caller looks at its signal and commits nothing.
 */
export async function runTurn(input: TurnInput): Promise<AgentLoopResult> {
  const { agent, host, signal } = input;
  const state = input.loop ?? openingState(input);
  if (agent.mode === 'chat') return runChatTurn({ model: agent.model, state, signal, onEvent: host.onEvent });
  const hooks: AgentLoopHooks = {
    ...toolAgentHooks({ catalog: agent.enableTools ? agent.catalog : undefined, now: input.now }),
    drainSteering: (loop) => host.takeSteering(loop),
    async beforeToolCalls(calls, loop) {
      // Only what must not be repeated after a kill is worth a commit before it starts.
      if (calls.some((call) => !agent.catalog.get(call.name)?.idempotent)) await host.save(loop);
    },
    afterToolResults: (loop) => host.save(loop),
    onEvent: (event) => host.onEvent(event),
  };
  return runAgentLoop({
    model: agent.model,
    state,
    maxIterations: agent.maxIterations ?? TOOL_AGENT_MAX_ITERATIONS,
    hooks,
    signal,
  });
}

function openingState({ agent, history, text }: TurnInput): LoopState {
  const system = systemPrompt(agent);
  const fixed: ChatMessage[] = system ? [{ role: 'system', content: system }] : [];
  const user: ChatMessage = { role: 'user', content: text };
  const budget = agent.model.contextWindow - agent.model.maxOutputTokens - estimateTokens([...fixed, user]);
  return createLoopState([...fixed, ...newestGroups(history, budget), user]);
}

function systemPrompt(agent: AgentSpec): string {
  const parts = [agent.systemPrompt.trim()];
  if (agent.mode === 'tools' && agent.enableTools && agent.catalog.schemas.length > 0) {
    // Told, not enforced (seed 001): the model keeps its room for judgement.
    parts.push(`Call at most ${agent.maxToolCallsPerTurn} tools in one reply.`);
  }
  return parts.filter(Boolean).join('\n\n');
}

/**
 * The newest whole groups (a user message and everything up to the next one) whose estimated tokens fit `budget`;
 * trimming starts from the oldest (seed 000, 3.1).
 */
export function newestGroups(history: readonly ChatMessage[], budget: number): readonly ChatMessage[] {
  let from = history.length;
  let left = budget;
  let end = history.length;
  for (let i = history.length - 1; i >= 0; i--) {
    if (history[i]?.role !== 'user') continue;
    left -= estimateTokens(history.slice(i, end));
    if (left < 0) break;
    from = i;
    end = i;
  }
  return history.slice(from);
}
