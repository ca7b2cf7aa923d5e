import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { AgentEvent } from '../core/agent/events.js';
import type { LoopState } from '../core/agent/run-state.js';
import { createLiveMessage, type LiveMessage } from '../core/chat/live-message.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import type { PlanView } from '../core/chat/plan-view.js';
import type { Budgets } from '../core/ports/budget.js';
import type { Logger } from '../core/ports/logger.js';
import type { TextTable } from '../core/ports/texts.js';
import { answerText, compressionLine, type Notice, noticeLine } from './answer-text.js';
import type { Turn } from './conversation-state.js';
import type { Desk } from './desk.js';

export interface TurnScreenOptions {
  readonly desk: Desk;
  readonly turn: Turn;
  readonly agent: AgentSpec;
  readonly texts: TextTable;
  readonly budgets: Budgets;
  readonly logger: Logger;
  readonly plan: PlanView | undefined;
  readonly onSuperseded: (reason: Error) => void;
}

/** What people see of a run while it goes on: one live message per answer, drawn from the run's events. */
export interface TurnScreen {
  onEvent(event: AgentEvent): void;
  /** The loop as of the newest boundary or round: the text before what is being streamed. */
  follow(loop: LoopState): void;
  /** Text of the answer that is being written, as far as it stands. */
  readonly text: string;
  readonly reasoning: string;
  readonly notice: Notice | undefined;
  readonly plan: PlanView | undefined;
  /** What compression did, for the footer; '' when nothing. */
  readonly compression: string;
  /** Number of the answer that is being written, and where it begins in the loop's `produced`. */
  readonly answer: number;
  readonly answerFrom: number;
  /** Answers that steers closed since the last call; their last edits are over when `settled` resolves. */
  takeClosed(): OutboxEntryBody[];
  settled(): Promise<void>;
  close(): Promise<void>;
}

export function createTurnScreen(options: TurnScreenOptions): TurnScreen {
  const { desk, turn, agent, texts, logger } = options;
  const showTools = agent.display !== 'quiet';
  let answer = turn.answer;
  let answerFrom = turn.answerFrom;
  let current: LoopState | undefined = turn.state?.loop;
  let reasoning = '';
  let notice: Notice | undefined;
  let plan = options.plan;
  let compression = '';
  let needsBreak = false;
  let closed: OutboxEntryBody[] = [];
  /** Calls under way by id, with what their tool says it is doing. */
  const tools = new Map<string, string>();
  const ending: Promise<void>[] = [];
  let live = openLive();

  function openLive(): LiveMessage {
    const message = createLiveMessage({
      prefix: `a${answer}`,
      adapter: desk.adapter,
      place: turn.place,
      slots: desk.slots,
      budgets: options.budgets,
      logger,
      onSuperseded: options.onSuperseded,
    });
    const before = answerText(current, answerFrom);
    if (before && agent.showAnswer) {
      message.text(before);
      needsBreak = true;
    }
    if (plan) message.plan(plan);
    return message;
  }

  /** The answer stands, but a steer came: what follows is a new message below it. */
  function closeAnswer(): void {
    const line = noticeLine(notice, { agent, texts, rounds: current?.round ?? 0 });
    closed.push({
      v: 1,
      kind: 'answer',
      slot: `a${answer}`,
      place: turn.place,
      state: 'final',
      markdown: [agent.showAnswer ? answerText(current, answerFrom) : '', line].filter(Boolean).join('\n\n'),
      ...(plan ? { plan } : {}),
      ...(agent.showReasoning && reasoning ? { reasoning } : {}),
    });
    ending.push(live.stop());
    answer += 1;
    notice = undefined;
    reasoning = '';
    answerFrom = current?.produced.length ?? 0;
    needsBreak = false;
    live = openLive();
  }

  function showProgress(): void {
    if (showTools) live.status([...tools.values()]);
  }

  function onEvent(event: AgentEvent): void {
    switch (event.type) {
      case 'text.delta':
        if (!agent.showAnswer) return;
        live.text(needsBreak ? `\n\n${event.text}` : event.text);
        needsBreak = false;
        return;
      case 'reasoning.delta':
        reasoning += event.text;
        if (agent.showReasoning) live.reasoning(event.text);
        return;
      case 'tool.started':
        tools.set(event.call.id, texts.usingTool(event.call.name));
        showProgress();
        return;
      case 'tool.progress':
        tools.set(event.callId, event.line);
        showProgress();
        return;
      case 'tool.finished':
        tools.delete(event.call.id);
        showProgress();
        return;
      case 'subagent':
        if (event.event.type !== 'tool.started') return;
        tools.set(event.callId, `${event.agent}: ${texts.usingTool(event.event.call.name)}`);
        showProgress();
        return;
      case 'plan.updated':
        plan = event.plan;
        live.plan(plan);
        return;
      case 'round.started':
        needsBreak = live.source !== '';
        return;
      case 'draft.refused':
        live.retract();
        if (agent.showAnswer) live.text(answerText(current, answerFrom));
        return;
      case 'answer.closed':
        closeAnswer();
        return;
      case 'compressed':
        compression = compressionLine(event, texts) || compression;
        return;
      case 'notice':
        notice = event.notice;
        return;
      case 'run.opened':
      case 'request.finished':
      case 'tool.announced':
      case 'tool.held':
      case 'steered':
      case 'checkpoint':
      case 'done':
        return;
    }
  }

  return {
    onEvent,
    follow(loop) {
      current = loop;
    },
    get text() {
      return live.source;
    },
    get reasoning() {
      return reasoning;
    },
    get notice() {
      return notice;
    },
    get plan() {
      return plan;
    },
    get compression() {
      return compression;
    },
    get answer() {
      return answer;
    },
    get answerFrom() {
      return answerFrom;
    },
    takeClosed() {
      const taken = closed;
      closed = [];
      return taken;
    },
    async settled() {
      await Promise.all(ending);
    },
    async close() {
      await Promise.all([live.stop(), ...ending]);
    },
  };
}
