import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { AgentEvent, NoticeKind } from '../core/agent/events.js';
import { PlanUnfinishedError } from '../core/agent/plan-agent.js';
import type { LoopState } from '../core/agent/run-state.js';
import { ModelError } from '../core/errors.js';
import type { TextTable } from '../core/ports/texts.js';
import type { Turn } from './conversation-state.js';
import type { RunRecord } from './run-record.js';

/** Something about an answer that the person should be told. */
export type Notice = NoticeKind;

/** What the person is told about an answer besides its text; '' when the text says it all. */
export function noticeLine(
  notice: Notice | undefined,
  { agent, texts, rounds }: { agent: AgentSpec; texts: TextTable; rounds: number },
): string {
  switch (notice) {
    case 'max_iterations':
      return texts.maxIterations(rounds);
    case 'length':
      return texts.truncated;
    case 'content_filter':
      return texts.filtered;
    case 'cut_off':
      return texts.cutOff;
    case 'empty_reply':
      return texts.modelEmpty(agent.model.name);
    case undefined:
      return agent.showAnswer ? '' : texts.done;
  }
}

/** What people may see of the answer of a turn as of its last boundary. */
export function shownText(turn: Turn, agent: AgentSpec | undefined): string {
  return agent?.showAnswer === false ? '' : answerText(turn.state?.loop, turn.answerFrom);
}

/** The text people see of the rounds since `from`: paragraphs in order. */
export function answerText(loop: LoopState | undefined, from: number): string {
  return (loop?.produced ?? [])
    .slice(from)
    .flatMap((message) => (message.role === 'assistant' && message.content.trim() ? [message.content.trim()] : []))
    .join('\n\n');
}

/** The person's line for a failed run; the log has the cause. With `partial`, part of the answer stands above it. */
export function errorLine(error: Error, texts: TextTable, partial: boolean): string {
  if (error instanceof PlanUnfinishedError) return texts.planUnfinished;
  if (!(error instanceof ModelError)) return texts.internalError;
  if (partial && (error.kind === 'broken_stream' || error.kind === 'server')) return texts.modelStalled(error.model);
  switch (error.kind) {
    case 'unreachable':
      return texts.modelUnreachable(error.model);
    case 'unauthorized':
      return texts.modelUnauthorized(error.model);
    case 'rate_limited':
      return texts.modelBusy(error.model);
    case 'quota':
      return texts.modelQuota(error.model);
    case 'stalled':
      return texts.modelStalled(error.model);
    case 'empty':
      return texts.modelEmpty(error.model);
    case 'context_overflow':
      return texts.modelOverflow(error.model);
    case 'not_found':
    case 'bad_request':
    case 'broken_stream':
    case 'server':
    case 'not_configured':
      return texts.modelFailed(error.model);
  }
}

/** What compression did that the person should know; '' when it changed nothing they could notice. */
export function compressionLine(event: Extract<AgentEvent, { type: 'compressed' }>, texts: TextTable): string {
  if (event.unchanged !== undefined) return '';
  return event.how === 'left_out' ? texts.leftOut : texts.compressed(event.before, event.after);
}

/** The footer of the display `verbose`: model, requests, tokens, cost and time of the whole run, tools included. */
export function usageLine({ total }: RunRecord, model: string, milliseconds: number): string {
  const { requests, inputTokens, outputTokens, cost } = total;
  const price = cost > 0 ? ` · ${cost.toFixed(4)}` : '';
  const seconds = (milliseconds / 1000).toFixed(1);
  return `${model} · ${requests}× · ${inputTokens} → ${outputTokens} tokens${price} · ${seconds} s`;
}
