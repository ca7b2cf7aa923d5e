import type { AgentEvent } from '../core/agent/events.js';
import type { Logger } from '../core/ports/logger.js';
import type { Metrics } from '../core/ports/metrics.js';

export interface RunLogOptions {
  /** Carries run and conversation id. */
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly agent: string;
  /** A former process or a question's leg of this run has told already what the run weighs. */
  readonly resumed: boolean;
}

/**
 * The operator's view of a run (seed 001): `[AgentLoop]` says what it had and did, `[Compression]` what became of long
 * conversations, those of sub-agents included. Never a word of what people, models or tools said.
 */
export function createRunLog(options: RunLogOptions): { onEvent(event: AgentEvent): void } {
  const { logger, metrics, agent, resumed } = options;
  const held: string[] = [];
  /** Names models make up are no labels: metrics must not grow with them. */
  let known: ReadonlySet<string> = new Set();
  let model = '';
  let rounds = 0;
  let calls = 0;
  let cost = 0;

  /** What counts wherever it happens; `inside` is the sub-agent it happened in. */
  function count(event: AgentEvent, inside?: string): void {
    switch (event.type) {
      case 'subagent':
        count(event.event, event.agent);
        return;
      case 'request.finished':
        cost += event.cost;
        metrics.count('model_requests', { model: event.model, source: inside ? 'tool' : event.source });
        return;
      case 'tool.finished':
        cost += event.cost;
        return;
      case 'tool.held':
        held.push(`${inside ? `${inside} > ` : ''}${event.call.name}: ${event.decision} (${event.reason})`);
        return;
      case 'compressed': {
        const { how, before, after, unchanged } = event;
        const fields = { agent: inside ?? agent, how, before, after, ...(unchanged && { unchanged }) };
        logger.info(fields, '[Compression]');
        return;
      }
      default:
        return;
    }
  }

  return {
    onEvent(event) {
      count(event);
      switch (event.type) {
        case 'run.opened': {
          const { tools, skipped, promptTokens, schemaTokens } = event;
          model = event.model;
          known = new Set(tools);
          const weight = resumed ? {} : { promptTokens, schemaTokens };
          const how = resumed ? 'resumed' : 'opened';
          logger.info({ agent, model, tools, skipped, ...weight }, `[AgentLoop] ${how}`);
          return;
        }
        case 'round.started':
          rounds = event.round;
          return;
        case 'tool.finished': {
          calls += 1;
          const tool = known.has(event.call.name) ? event.call.name : 'other';
          metrics.count('tool_calls', { tool, failed: String(event.failed) });
          return;
        }
        case 'done':
          logger.info({ agent, model, rounds, calls, held, cost, finish: event.finish }, '[AgentLoop] done');
          return;
        default:
          return;
      }
    },
  };
}
