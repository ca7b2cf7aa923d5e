import type { AgentEvent } from '../core/agent/events.js';
import type { Logger } from '../core/ports/logger.js';
import type { Metrics } from '../core/ports/metrics.js';

export interface RunLogOptions {
  /** Carries run and conversation id. */
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly agent: string;
}

/**
 * The operator's view of a run (seed 001): `[AgentLoop]` says what it had and did, `[Compression]` what became of long
 * conversations. Never a word of what people, models or tools said.
 */
export function createRunLog({ logger, metrics, agent }: RunLogOptions): { onEvent(event: AgentEvent): void } {
  const held: string[] = [];
  /** Names models make up are no labels: metrics must not grow with them. */
  let known: ReadonlySet<string> = new Set();
  let model = '';
  let rounds = 0;
  let calls = 0;
  let cost = 0;

  return {
    onEvent(event) {
      switch (event.type) {
        case 'run.opened': {
          const { tools, skipped, promptTokens, schemaTokens } = event;
          model = event.model;
          known = new Set(tools);
          logger.info({ agent, model, tools, skipped, promptTokens, schemaTokens }, '[AgentLoop] opened');
          return;
        }
        case 'round.started':
          rounds = event.round;
          return;
        case 'request.finished':
          cost += event.cost;
          metrics.count('model_requests', { model: event.model, source: event.source });
          return;
        case 'tool.finished':
          calls += 1;
          cost += event.cost;
          metrics.count('tool_calls', {
            tool: known.has(event.call.name) ? event.call.name : 'other',
            failed: String(event.failed),
          });
          return;
        case 'tool.held':
          held.push(`${event.call.name}: ${event.decision} (${event.reason})`);
          return;
        case 'compressed': {
          const { how, before, after, unchanged } = event;
          logger.info({ how, before, after, ...(unchanged && { unchanged }) }, '[Compression]');
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
