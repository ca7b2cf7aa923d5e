import type { Summary } from '../agent/compression/summary.js';
import { allowedCapabilities } from '../llm/capabilities.js';
import type { ChatMessage, Model } from '../llm/model.js';
import { estimateTokens } from '../llm/tokens.js';
import { decidePermission } from '../policy/permissions.js';
import type { TextTable } from '../ports/texts.js';
import { createAgentTool } from '../subagents/agent-tool.js';
import type { Tool, ToolAnswer, ToolContext, ToolQuestion } from '../tools/tool.js';
import type { Toolbox } from '../tools/toolbox.js';
import type { AgentSpec } from './agent-spec.js';
import { runChatTurn } from './chat-turn.js';
import { type Compression, createCompression } from './compression/compression.js';
import { cutMiddle } from './compression/text-cut.js';
import type { AgentEvent } from './events.js';
import type { AgentLoopHooks, Steering, ToolDecision } from './hooks.js';
import { openingState } from './opening.js';
import { PLAN_AGENT_BATCH, PLAN_TOOLS, planAgentHooks, steerPlan } from './plan-agent.js';
import { type AgentLoopResult, runAgentLoop } from './run-agent-loop.js';
import { needsMark, TOOL_AGENT_MAX_ITERATIONS, toolAgentHooks } from './tool-agent.js';
import { closeOpenCalls, stored } from './transcript.js';
import type { TurnState } from './turn-state.js';
import { type OpenedToolbox, openToolbox } from './turn-toolbox.js';

/** Sub-agents of sub-agents end here; the deepest has none. */
const MAX_DEPTH = 3;

/** What a run needs from the job that holds the conversation. */
export interface TurnHost {
  takeSteering(state: TurnState): Promise<Steering | undefined>;
  /** One atomic, fenced boundary. */
  save(state: TurnState): Promise<void>;
  onEvent(event: AgentEvent): void;
  /** The gateway's own words in the person's language, for questions of tools. */
  readonly texts?: TextTable | undefined;
  /** Asks a person while a call stays open, until `stop`; absent where nobody can be asked. */
  ask?(callId: string, question: ToolQuestion, stop: AbortSignal): Promise<ToolAnswer>;
}

/** Tools of MCP servers as this run may see them. */
export interface McpSource {
  tools(
    servers: readonly string[],
    signal: AbortSignal,
  ): Promise<{
    readonly tools: readonly Tool[];
    readonly skipped: readonly { readonly server: string; readonly reason: string; readonly detail: string }[];
  }>;
}

export interface TurnInput {
  readonly agent: AgentSpec;
  /** The run's own choice, or else the agent's; never another one (seed 001). */
  readonly model: Model;
  readonly history: readonly ChatMessage[];
  /** Number of the first message of `history` in the whole life of the conversation. */
  readonly historyFrom: number;
  /** Stands for everything before some number; never summarised twice. */
  readonly summary: Summary | null;
  /** Summaries of this conversation that failed in a row so far. */
  readonly summaryFailures: number;
  /** The text that started the turn. */
  readonly text: string;
  /** Restored by a take-over or after an answer; absent for a fresh turn. */
  readonly state?: TurnState | undefined;
  /** Who asked, and where: permissions go by it. */
  readonly person: string;
  readonly chat: string;
  /** What "always here" allowed in this conversation. */
  readonly grants: readonly { readonly tool: string }[];
  /** What `load_tools` brought into this conversation so far. */
  readonly loadedTools: readonly string[];
  readonly mcp?: McpSource | undefined;
  readonly mcpServers: readonly string[];
  readonly agents: (name: string) => AgentSpec | undefined;
  readonly host: TurnHost;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** 0 for a person's turn; sub-agents count up. */
  readonly depth?: number;
}

export type TurnResult = AgentLoopResult & { readonly turn: TurnState };

/**
 * Runs or continues one turn of an agent. The levels of autonomy differ only in the hooks given to the kernel; `chat`
 * makes exactly one request (seed 000, 2.1). A failing hook ends as `error`, an abort as `stopped`; only
 * SupersededError is thrown. On shutdown the caller looks at its signal and commits nothing.
 */
export async function runTurn(input: TurnInput): Promise<TurnResult> {
  const { agent, host, signal } = input;
  const model = withEffort(input.model, agent);
  const loadedTools = [...(input.state?.loadedTools ?? [])];
  const { toolbox, skipped } = await openToolbox(input, { own: subAgentTools(input), loadedTools });
  const state = input.state ?? (await openingState(input, toolbox?.schemas ?? []));
  // The same list: what `load_tools` adds is committed with the state.
  state.loadedTools = loadedTools;
  const compression = createCompression({
    state: state.compression,
    options: {
      ...{ compressHistory: agent.compressHistory, ...agent.compression, model: agent.compression.model ?? model },
      ...{ contextWindow: model.contextWindow, maxOutputTokens: model.maxOutputTokens },
    },
    tools: () => [...(toolbox?.schemas ?? []), ...(state.plan ? PLAN_TOOLS : [])],
    onEvent: host.onEvent,
    now: input.now,
  });
  const onEvent = (event: AgentEvent): void => {
    if (event.type === 'request.finished' && event.source === 'agent') compression.observe(event.usage);
    host.onEvent(event);
  };
  tellOpening(input, { state, toolbox, skipped: skipped() });
  // Left by a former configuration of this agent: mode `chat` runs none, and a request must have their results.
  if (agent.mode === 'chat') closeOpenCalls(state.loop, () => 'Not run: this agent has no tools any more.');
  const common = { model, state: state.loop, signal };
  const result =
    agent.mode === 'chat'
      ? await runChatTurn({ ...common, onEvent })
      : await runAgentLoop({
          ...common,
          maxIterations: agent.maxIterations ?? (agent.mode === 'tools' ? TOOL_AGENT_MAX_ITERATIONS : undefined),
          batchToolSize: agent.mode === 'plan' ? PLAN_AGENT_BATCH : 1,
          answers: state.answers,
          hooks: {
            ...levelHooks(input, { state, toolbox, onEvent }),
            ...compressionHooks(compression, { state, toolbox, onEvent }, host),
            onEvent,
          },
        });
  onEvent({ type: 'done', finish: result.finish });
  return { ...result, turn: state };
}

/** A model that thinks aloud is asked to, when the agent lets it (seed 000, 3.2.1: both must allow). */
function withEffort(model: Model, agent: AgentSpec): Model {
  if (!allowedCapabilities(model.capabilities, agent.capabilities).reasoning) return model;
  return { ...model, request: (request) => model.request({ ...request, reasoningEffort: 'medium' }) };
}

interface Level {
  readonly state: TurnState;
  readonly toolbox: Toolbox | undefined;
  readonly onEvent: (event: AgentEvent) => void;
}

function levelHooks(input: TurnInput, { state, toolbox, onEvent }: Level): AgentLoopHooks {
  const { agent, host, signal, now, depth = 0 } = input;
  const ask = host.ask?.bind(host);
  const canSuspend = depth === 0;
  const tools = {
    ...toolAgentHooks({ toolbox, state, now, signal, onEvent, ask, canSuspend, texts: host.texts }),
    decideToolCall: async (call: { id: string; name: string; arguments: string }) =>
      decide(input, state, toolbox, call),
  };
  const plan = agent.mode === 'plan' && agent.enableTools ? state.plan : undefined;
  const level = plan
    ? planAgentHooks({
        ...{ state: plan, tools, canAsk: canSuspend, onEvent },
        maxRejections: agent.maxStopGateRejections,
      })
    : tools;
  return {
    ...level,
    async drainSteering() {
      const steering = await host.takeSteering(state);
      if (steering && plan) steerPlan(plan, steering);
      return steering;
    },
    async beforeToolCalls(calls) {
      if (calls.some(({ name }) => !isInternal(name) && needsMark(toolbox?.catalog.get(name)))) await save();
    },
    afterToolResults: save,
  };

  async function save(): Promise<void> {
    await host.save(state);
    onEvent({ type: 'checkpoint', round: state.loop.round });
  }
}

/**
 * The compression's hooks as a turn uses them: a summary is committed before the request it was made for, so that no
 * span is summarised again when the process is lost; results are cut to what their tool allows.
 */
function compressionHooks({ hooks }: Compression, { state, toolbox, onEvent }: Level, host: TurnHost) {
  return {
    async onCompressContext(loop, signal, overflow) {
      const { summary } = state.compression;
      const shorter = await hooks.onCompressContext(loop, signal, overflow);
      if (shorter && state.compression.summary !== summary) {
        // After a take-over this round begins anew.
        await host.save({ ...state, loop: { ...loop, messages: shorter.map(stored), round: loop.round - 1 } });
        onEvent({ type: 'checkpoint', round: loop.round });
      }
      return shorter;
    },
    async compressToolResponse(call, content, loop, signal) {
      const shorter = await hooks.compressToolResponse(call, content, loop, signal);
      return cutMiddle(shorter, toolbox?.catalog.get(call.name)?.maxResultChars ?? Infinity);
    },
  } satisfies Compression['hooks'];
}

/** A person's decision beats everything but a rule that was made stricter meanwhile. */
function decide(
  { agent, person, chat, grants, depth = 0 }: TurnInput,
  state: TurnState,
  toolbox: Toolbox | undefined,
  call: { id: string; name: string; arguments: string },
): ToolDecision {
  const tool = toolbox?.catalog.get(call.name);
  // Unknown or vanished: running it gives the model an error that says so.
  if (!tool) return { decision: 'run' };
  const verdict = decidePermission({
    ...{ policy: agent.permissions, tool, argumentsJson: call.arguments, person, chat, grants },
  });
  // Ids are the model server's: one named like a method of every object has no decision.
  const decided = Object.hasOwn(state.decisions, call.id) ? state.decisions[call.id] : undefined;
  if (decided?.decision === 'deny') return { decision: 'deny', reason: 'not approved', words: decided.reason };
  if (verdict.decision !== 'ask') return verdict;
  if (decided) return { decision: 'run' };
  if (depth > 0) return { decision: 'deny', reason: `${verdict.reason}; a sub-agent cannot ask for approval` };
  if (!verdict.grantable) state.ruled.push(call.id);
  return { decision: 'suspend', reason: verdict.reason };
}

function isInternal(name: string): boolean {
  return PLAN_TOOLS.some((internal) => internal.name === name);
}

interface Opening {
  readonly state: TurnState;
  readonly toolbox: Toolbox | undefined;
  readonly skipped: ReturnType<OpenedToolbox['skipped']>;
}

function tellOpening({ model, host }: TurnInput, { state, toolbox, skipped }: Opening): void {
  const system = state.loop.messages.filter(({ role }) => role === 'system');
  host.onEvent({
    type: 'run.opened',
    model: model.name,
    tools: toolbox?.schemas.map(({ name }) => name) ?? [],
    skipped,
    promptTokens: estimateTokens(system),
    schemaTokens: estimateTokens([], toolbox?.schemas ?? []),
  });
}

/** Agents as tools of this one: a turn of its own, whose events are part of the call (seed 000, 3.3.5). */
function subAgentTools(input: TurnInput): readonly Tool[] {
  const depth = (input.depth ?? 0) + 1;
  if (depth > MAX_DEPTH) return [];
  return input.agent.subAgents.flatMap((name) => {
    const agent = input.agents(name);
    return agent ? [subAgentTool(input, agent, depth)] : [];
  });
}

/** Its calls are judged by its own permissions, and by this agent's where they allow no change at all. */
function subAgentTool(input: TurnInput, agent: AgentSpec, depth: number): Tool {
  const { mode } = input.agent.permissions;
  const bound = mode === 'plan' || mode === 'readonly';
  const permissions = bound ? { ...agent.permissions, mode } : agent.permissions;
  return createAgentTool({
    ...{ name: agent.name, description: agent.description, risk: 'read' },
    async run(task, context: ToolContext) {
      const callId = context.callId ?? '';
      const result = await runTurn({
        ...input,
        ...{ agent: { ...agent, permissions }, model: agent.model, text: task, depth, signal: context.signal },
        ...{
          history: [],
          historyFrom: 0,
          summary: null,
          summaryFailures: 0,
          state: undefined,
          mcpServers: agent.mcpServers,
        },
        host: {
          takeSteering: async () => undefined,
          save: async () => undefined,
          onEvent: (event) => context.onEvent?.({ type: 'subagent', callId, agent: agent.name, event }),
        },
      });
      if (result.finish === 'error') throw result.error;
      return { text: result.text, failed: result.finish !== 'final' && result.finish !== 'max_iterations' };
    },
  });
}
