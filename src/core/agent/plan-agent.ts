import { ThreadloopError } from '../errors.js';
import type { ToolCall } from '../llm/model.js';
import { askAgentSchema, parseAsk } from '../plan/ask-agent.js';
import { planView } from '../plan/checklist.js';
import { requiresPlan } from '../plan/require-plan.js';
import { applyPlanUpdate, type PlanState } from '../plan/state.js';
import { runStopGate } from '../plan/stop-gate.js';
import { updatePlanSchema } from '../plan/update-plan.js';
import type { AgentLoopHooks, Steering, StopDecision, ToolCallContext, ToolResult } from './hooks.js';

/** The plan level's own tools; no business tool may have their names. */
export const PLAN_TOOLS = [askAgentSchema, updatePlanSchema] as const;

/** Ordinary tools side by side in mode `plan` (seed 000, 3.3). */
export const PLAN_AGENT_BATCH = 5;

/** What an ask's tool message holds until the answer replaces it. */
const WAITING_FOR_ANSWER = 'Waiting for the person to answer.';

/** The plan was not finished although the gate said so several times. */
export class PlanUnfinishedError extends ThreadloopError {
  readonly rejections: number;

  constructor(rejections: number) {
    super(`the plan was not finished: the answer was refused ${rejections} times`, {
      code: 'plan_unfinished',
      hint: 'raise maxStopGateRejections or maxIterations of the agent, or give it a stronger model',
    });
    this.rejections = rejections;
  }
}

export interface PlanAgentOptions {
  /** The turn's whiteboard; changed in place. */
  readonly state: PlanState;
  /** The hooks of the tools below: schemas and execution of everything that is not plan or ask. */
  readonly tools: Pick<Required<AgentLoopHooks>, 'getRequestControl' | 'onRunTool'> & AgentLoopHooks;
  /** False where nobody can answer (sub-agents): `ask_agent` is not offered. */
  readonly canAsk: boolean;
  /** Refusals fed back to the model before the run ends as an error. */
  readonly maxRejections: number;
  readonly onEvent: NonNullable<AgentLoopHooks['onEvent']>;
}

/**
 * Mode `plan` as hooks over the tools' own (seed 000, 3.3): `ask_agent` suspends, `update_plan` keeps the whiteboard,
 * the stop gate refuses an answer while the plan is open, a finished plan leaves only the answer.
 */
export function planAgentHooks(options: PlanAgentOptions): AgentLoopHooks {
  const { state, tools, canAsk, maxRejections, onEvent } = options;
  const internal = [...(canAsk ? [askAgentSchema] : []), updatePlanSchema];
  const resume = tools.onRunInteractiveTool;
  /** One question at a time: a second one in the same round gets an answer that says so. */
  let askedInRound: string | undefined;

  function ask(call: ToolCall): ToolResult {
    const parsed = parseAsk(call.arguments);
    if (!parsed.ok) return internalResult(`Error: ${parsed.message}`, true);
    if (askedInRound !== undefined) {
      return internalResult('Error: one question at a time; ask again after the first is answered', true);
    }
    askedInRound = call.id;
    return { ...internalResult(WAITING_FOR_ANSWER, false), suspend: 'ask' };
  }

  function updatePlan(call: ToolCall): ToolResult {
    const update = applyPlanUpdate(state.plan, call.arguments);
    if (!update.ok) return internalResult(`Error: ${update.message}`, true);
    state.plan = update.plan;
    state.dirty = false;
    state.steered = false;
    onEvent({ type: 'plan.updated', plan: planView(update.plan) });
    return internalResult(update.message, false);
  }

  return {
    ...tools,
    async getRequestControl(loop) {
      askedInRound = undefined;
      const control = await tools.getRequestControl(loop);
      const done = state.plan !== null && !state.steered && runStopGate(state).allow;
      return { tools: [...(control.tools ?? []), ...internal], toolChoice: done ? 'none' : control.toolChoice };
    },
    canBatchTool: (call) => !internal.some(({ name }) => name === call.name),
    async decideToolCall(call, loop) {
      if (internal.some(({ name }) => name === call.name)) return { decision: 'run' };
      return (await tools.decideToolCall?.(call, loop)) ?? { decision: 'run' };
    },
    async onRunTool(call, context) {
      if (canAsk && call.name === askAgentSchema.name) return ask(call);
      if (call.name === updatePlanSchema.name) return updatePlan(call);
      // Before it runs: also a call that fails leaves something the plan must say.
      state.dirty = true;
      return tools.onRunTool(call, context);
    },
    ...(resume && {
      onRunInteractiveTool(call: ToolCall, answer: string, context: ToolCallContext) {
        state.dirty = true;
        return resume(call, answer, context);
      },
    }),
    async onStopCandidate(): Promise<StopDecision> {
      const gate = runStopGate(state);
      if (gate.allow) return { decision: 'allow' };
      state.rejections += 1;
      if (state.rejections > maxRejections) {
        return { decision: 'error', error: new PlanUnfinishedError(maxRejections) };
      }
      return { decision: 'refuse', feedback: gate.feedback };
    },
  };
}

/** What people write during the run begins anew: gate count and forced answer are reset (design 3, steering). */
export function steerPlan(state: PlanState, steering: Steering): void {
  state.rejections = 0;
  state.steered = true;
  if (requiresPlan(steering.message)) state.requirePlan = true;
}

function internalResult(content: string, failed: boolean): ToolResult {
  return { content, failed, skipCompression: true };
}
