import { z } from 'zod';
import type { AgentEvent } from '../core/agent/events.js';

const base = { round: z.number().int(), milliseconds: z.number(), cost: z.number() };
/** The call of the run this step was part of: of a sub-agent, or a compression. */
const within = { callId: z.string().optional(), agent: z.string().optional() };

const step = z.discriminatedUnion('kind', [
  z.object({
    ...{ kind: z.literal('request'), ...base, ...within },
    ...{ model: z.string(), source: z.enum(['agent', 'compression', 'tool']), finishReason: z.string() },
    ...{ inputTokens: z.number(), outputTokens: z.number() },
    /** The vendor's id of the request. */
    requestId: z.string().optional(),
  }),
  z.object({
    ...{ kind: z.literal('tool'), ...base, ...within },
    ...{ id: z.string(), tool: z.string(), failed: z.boolean(), arguments: z.string(), result: z.string() },
  }),
  z.object({ kind: z.literal('held'), ...base, ...within, tool: z.string(), decision: z.string(), reason: z.string() }),
  z.object({ kind: z.literal('note'), ...base, ...within, text: z.string() }),
]);

/** Requests of all models and their tokens; the cost is theirs and that of tools. */
const total = z.object({
  requests: z.number().int(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cost: z.number(),
});

const NOTHING: z.infer<typeof total> = { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

/**
 * What a run did, step by step: requests, tools, refusals, compression, those of sub-agents with the call they belong
 * to. Committed with the run, so a take-over goes on with it; arguments and results only by their beginning.
 */
export const runRecord = z.object({
  steps: z.array(step),
  /** Further steps that were not kept. */
  omitted: z.number().int(),
  /** Of all steps, also of those that were not kept. */
  total: total.default(NOTHING),
});

export type RunRecord = z.infer<typeof runRecord>;

export const EMPTY_RECORD: RunRecord = { steps: [], omitted: 0, total: NOTHING };
type Step = z.infer<typeof step>;

const KEPT = { steps: 300, text: 200 } as const;

/** The record with this event; the same object when the event is no step. */
export function withEvent(record: RunRecord, event: AgentEvent, round: number): RunRecord {
  const steps = stepsOf(event, round, {});
  if (steps.length === 0) return record;
  const room = Math.max(0, KEPT.steps - record.steps.length);
  return {
    steps: [...record.steps, ...steps.slice(0, room)],
    omitted: record.omitted + Math.max(0, steps.length - room),
    total: steps.reduce(counted, record.total),
  };
}

function counted(sum: RunRecord['total'], step: Step): RunRecord['total'] {
  const cost = sum.cost + step.cost;
  if (step.kind !== 'request') return { ...sum, cost };
  const { inputTokens, outputTokens } = step;
  return {
    requests: sum.requests + 1,
    inputTokens: sum.inputTokens + inputTokens,
    outputTokens: sum.outputTokens + outputTokens,
    cost,
  };
}

function stepsOf(event: AgentEvent, round: number, inside: { callId?: string; agent?: string }): Step[] {
  switch (event.type) {
    case 'request.finished': {
      const { model, source, finishReason, milliseconds, cost, usage, callId, requestId } = event;
      const { inputTokens, outputTokens } = usage;
      const owner = inside.callId === undefined && callId !== undefined ? { callId } : inside;
      return [
        {
          ...{ kind: 'request', round, milliseconds: Math.round(milliseconds), cost, ...owner },
          ...{ model, source, finishReason, inputTokens, outputTokens, ...(requestId && { requestId }) },
        },
      ];
    }
    case 'tool.finished': {
      const { call, content, failed, milliseconds, cost } = event;
      return [
        {
          ...{ kind: 'tool', round, milliseconds: Math.round(milliseconds), cost, ...inside, id: call.id },
          ...{ tool: call.name, failed },
          ...{ arguments: start(call.arguments), result: start(content) },
        },
      ];
    }
    case 'tool.held': {
      const { call, decision, reason } = event;
      return [{ kind: 'held', round, milliseconds: 0, cost: 0, ...inside, tool: call.name, decision, reason }];
    }
    case 'compressed': {
      const { how, before, after, unchanged } = event;
      const text = `compressed (${how}) ${before} → ${after} tokens${unchanged ? `: unchanged, ${unchanged}` : ''}`;
      return [{ kind: 'note', round, milliseconds: 0, cost: 0, ...inside, text }];
    }
    case 'subagent':
      return stepsOf(event.event, round, { callId: inside.callId ?? event.callId, agent: event.agent });
    default:
      return [];
  }
}

function start(text: string): string {
  return text.length <= KEPT.text ? text : `${text.slice(0, KEPT.text)}…`;
}
