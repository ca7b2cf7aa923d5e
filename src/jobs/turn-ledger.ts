import type { AgentEvent } from '../core/agent/events.js';
import type { UsageEntry } from '../core/ports/store.js';
import type { Turn } from './conversation-state.js';
import { type RunRecord, withEvent } from './run-record.js';

/** Counts what a run costs and keeps what it did, from its events. */
export interface TurnLedger {
  onEvent(event: AgentEvent): void;
  readonly record: RunRecord;
  /** Entries since the last call; the commit of their round writes them. */
  takeUsage(): UsageEntry[];
}

export function createTurnLedger(turn: Turn, now: () => number): TurnLedger {
  let record = turn.record;
  let usage: UsageEntry[] = [];
  let round = turn.state?.loop.round ?? 0;
  const owner = { run: turn.id, person: turn.starter.id };
  /** Names of the calls of the person's own run, by id. */
  const tools = new Map<string, string>();

  /** `callId` and `agent` are those of the call in the person's own run, however deep the request was made. */
  function count(event: AgentEvent, callId: string | undefined, agent: string): void {
    if (event.type === 'subagent') {
      count(event.event, callId ?? event.callId, event.agent);
      return;
    }
    const shared = { ...owner, at: now(), agent };
    if (event.type === 'request.finished') {
      const { model, source, cost } = event;
      const { inputTokens, outputTokens } = event.usage;
      const call = callId ?? event.callId;
      const whose = callId === undefined ? source : 'tool';
      const tool = call === undefined ? undefined : tools.get(call);
      const inside = { ...(call && { callId: call }), ...(tool && { tool }) };
      usage.push({ ...shared, model, inputTokens, outputTokens, cost, source: whose, ...inside });
    } else if (event.type === 'tool.finished' && event.cost > 0) {
      const own = { source: 'tool', callId: callId ?? event.call.id, tool: event.call.name } as const;
      usage.push({ ...shared, model: '', inputTokens: 0, outputTokens: 0, cost: event.cost, ...own });
    }
  }

  return {
    onEvent(event) {
      if (event.type === 'round.started') round = event.round;
      if (event.type === 'tool.started') tools.set(event.call.id, event.call.name);
      record = withEvent(record, event, round);
      count(event, undefined, turn.agent);
    },
    get record() {
      return record;
    },
    takeUsage() {
      const taken = usage;
      usage = [];
      return taken;
    },
  };
}
