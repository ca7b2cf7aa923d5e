import type { AgentEvent } from '../core/agent/events.js';
import type { Steering } from '../core/agent/hooks.js';
import type { LoopState } from '../core/agent/run-state.js';
import type { AgentSpec, TurnHost } from '../core/agent/run-turn.js';
import { mergeSteering } from '../core/agent/steering.js';
import { createLiveMessage, type LiveMessage } from '../core/chat/live-message.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import type { Budgets } from '../core/ports/budget.js';
import type { Logger } from '../core/ports/logger.js';
import type { UsageEntry } from '../core/ports/store.js';
import type { TextTable } from '../core/ports/texts.js';
import { answerText, type Notice, noticeLine } from './answer-text.js';
import type { Turn } from './conversation-state.js';
import type { Desk } from './desk.js';
import { viewInbox } from './session.js';

export interface TurnHostOptions {
  readonly desk: Desk;
  readonly turn: Turn;
  readonly agent: AgentSpec;
  readonly texts: TextTable;
  readonly budgets: Budgets;
  readonly logger: Logger;
  readonly now: () => number;
  /** Ends the run; called when a newer worker took over or a stop was found at a round's start. */
  readonly end: (reason: Error | 'stop') => void;
}

/** What a boundary must write besides the state; collected since the last commit. */
interface Pending {
  acks: number[];
  taken: { messageId: string; person: string }[];
  usage: UsageEntry[];
  closed: OutboxEntryBody[];
}

/** The job side of one run: takes steering from the inbox, commits boundaries, shows the answer while it grows. */
export interface JobTurnHost extends TurnHost {
  /** Text of the answer that is being written, as far as it stands. */
  readonly text: string;
  readonly reasoning: string;
  /** The newest thing about the answer that the person should be told. */
  readonly notice: Notice | undefined;
  /** Number of the answer that is being written. */
  readonly answer: number;
  /** What people see of the finished loop; with `partial`, text of a round that failed in the middle stays. */
  finalText(loop: LoopState | undefined, partial: boolean): string;
  /** What the last boundary of the run must write. */
  takePending(): { acks: number[]; usage: UsageEntry[]; closed: OutboxEntryBody[] };
  close(): Promise<void>;
}

export function createTurnHost(options: TurnHostOptions): JobTurnHost {
  const { desk, turn, agent, texts, logger } = options;
  const showTools = agent.display !== 'quiet';
  let pending: Pending = { acks: [], taken: [], usage: [], closed: [] };
  let answer = turn.answer;
  let answerFrom = turn.answerFrom;
  let current: LoopState | undefined = turn.loop;
  let reasoning = '';
  let notice: Notice | undefined;
  let needsBreak = false;
  let live = openLive();
  const ending: Promise<void>[] = [];

  function openLive(): LiveMessage {
    const message = createLiveMessage({
      prefix: `a${answer}`,
      adapter: desk.adapter,
      place: turn.place,
      slots: desk.slots,
      budgets: options.budgets,
      logger,
      onSuperseded: options.end,
    });
    const before = answerText(current, answerFrom);
    if (before && agent.showAnswer) {
      message.text(before);
      needsBreak = true;
    }
    return message;
  }

  async function takeSteering(state: LoopState): Promise<Steering | undefined> {
    // An answer that a steer closed is shown before anything newer; a take-over begins this round again.
    if (pending.closed.length > 0) await save({ ...state, round: state.round - 1 });
    current = state;
    if (agent.steering !== 'steer') return undefined;
    const reading = await desk.read();
    if (reading.stop > 0) {
      // What was sent after the stop must not enter the run that it ends.
      options.end('stop');
      return undefined;
    }
    const fresh = reading.items.filter((item) => !pending.acks.includes(item.seq));
    // A waiting /new ends what belongs to this conversation so far: later texts are not steering of this run.
    const border = fresh.find((item) => item.kind === 'control' && item.control === 'new')?.seq ?? Infinity;
    const view = viewInbox(fresh.filter((item) => item.seq < border));
    const { taken, people: earlier } = desk.state.turn ?? turn;
    const known = new Set([turn.messageId, ...taken, ...pending.taken.map((t) => t.messageId)]);
    const waiting = [
      ...view.texts.filter((text) => !text.queue),
      ...view.corrections.filter((edit) => known.has(edit.messageId)).map((edit) => ({ ...edit, seqs: [edit.seq] })),
    ].sort((a, b) => a.seq - b.seq);
    const authors = [...pending.taken.map((t) => t.person), ...waiting.map((w) => w.person.id)];
    const people = new Set([turn.starter.id, ...earlier, ...authors]);
    const merged = mergeSteering(
      waiting.map((w) => ({ author: w.person.name, text: w.text })),
      people.size > 1,
    );
    if (!merged) return undefined;
    for (const item of waiting.slice(0, merged.count)) {
      pending.acks.push(...item.seqs);
      pending.taken.push({ messageId: item.messageId, person: item.person.id });
      desk.adapter
        .react?.(item.place, item.messageId, 'seen')
        .catch((error: unknown) => logger.debug({ err: error }, 'acknowledgement not shown'));
    }
    return merged;
  }

  async function save(loop: LoopState): Promise<void> {
    current = loop;
    const { acks, taken, usage, closed } = pending;
    pending = { acks: [], taken: [], usage: [], closed: [] };
    // A closed answer's last edit must not land after its final text.
    if (closed.length > 0) await Promise.all(ending);
    await desk.commit(
      (state) => ({
        ...state,
        answers: answer,
        turn: state.turn && {
          ...state.turn,
          loop: snapshot(loop),
          answer,
          answerFrom,
          taken: [...state.turn.taken, ...taken.map((t) => t.messageId)],
          people: [...new Set([...state.turn.people, ...taken.map((t) => t.person)])],
        },
      }),
      { ack: acks, usage, outbox: closed },
    );
    if (closed.length > 0) await desk.deliverOutbox(await desk.read());
  }

  /** The answer stands, but a steer came: what follows is a new message below it. */
  function closeAnswer(): void {
    pending.closed.push({
      v: 1,
      kind: 'answer',
      slot: `a${answer}`,
      place: turn.place,
      state: 'final',
      markdown: [
        agent.showAnswer ? answerText(current, answerFrom) : '',
        noticeLine(notice, { agent, texts, rounds: current?.round ?? 0 }),
      ]
        .filter(Boolean)
        .join('\n\n'),
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
        if (showTools) live.status([texts.usingTool(event.call.name)]);
        return;
      case 'tool.finished':
        if (showTools) live.status([]);
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
      case 'request.finished':
        pending.usage.push({
          at: options.now(),
          run: turn.id,
          person: turn.starter.id,
          agent: turn.agent,
          model: agent.model.name,
          inputTokens: event.usage.inputTokens,
          outputTokens: event.usage.outputTokens,
          cost: event.cost,
        });
        return;
      case 'notice':
        notice = event.notice;
        return;
      case 'tool.announced':
      case 'steered':
      case 'compressed':
        return;
    }
  }

  return {
    takeSteering,
    save,
    onEvent,
    get text() {
      return live.source;
    },
    get reasoning() {
      return reasoning;
    },
    get answer() {
      return answer;
    },
    get notice() {
      return notice;
    },
    finalText(loop, partial) {
      const whole = answerText(loop, answerFrom);
      return partial && live.source.length > whole.length ? live.source : whole;
    },
    takePending() {
      const { acks, usage, closed } = pending;
      return { acks, usage, closed };
    },
    async close() {
      await Promise.all([live.stop(), ...ending]);
    },
  };
}

/** The kernel goes on working on its state in place; its messages are never changed, only replaced. */
export function snapshot(loop: LoopState): LoopState {
  return {
    ...loop,
    messages: [...loop.messages],
    produced: [...loop.produced],
    startedCalls: [...loop.startedCalls],
    usage: { ...loop.usage },
  };
}
