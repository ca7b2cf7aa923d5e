import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { AgentEvent } from '../core/agent/events.js';
import type { Steering } from '../core/agent/hooks.js';
import type { LoopState } from '../core/agent/run-state.js';
import type { TurnHost } from '../core/agent/run-turn.js';
import type { TurnState } from '../core/agent/turn-state.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import { planView } from '../core/plan/checklist.js';
import type { Budgets } from '../core/ports/budget.js';
import type { Logger } from '../core/ports/logger.js';
import type { UsageEntry } from '../core/ports/store.js';
import type { TextTable } from '../core/ports/texts.js';
import { answerText } from './answer-text.js';
import { type TakenText, type Turn, withTaken } from './conversation-state.js';
import type { Desk } from './desk.js';
import { createQuestions, type Questions } from './questions.js';
import type { RunRecord } from './run-record.js';
import { takeSteering } from './steering-intake.js';
import { createTurnLedger } from './turn-ledger.js';
import { createTurnScreen, type TurnScreen } from './turn-screen.js';

export interface TurnHostOptions {
  readonly desk: Desk;
  readonly turn: Turn;
  readonly agent: AgentSpec;
  readonly texts: TextTable;
  readonly budgets: Budgets;
  readonly logger: Logger;
  readonly now: () => number;
  /** Hears every event too: log and metrics. */
  readonly onEvent: (event: AgentEvent) => void;
  /** Ends the run; called when a newer worker took over or a stop was found at a round's start. */
  readonly end: (reason: Error | 'stop') => void;
}

/** What the last boundary of a run must write besides its state. */
export interface PendingBoundary {
  readonly acks: readonly number[];
  readonly usage: readonly UsageEntry[];
  readonly closed: readonly OutboxEntryBody[];
  readonly taken: readonly TakenText[];
}

/** The job side of one run: takes steering from the inbox, commits boundaries, shows the answer while it grows. */
export interface JobTurnHost extends TurnHost {
  readonly screen: Omit<TurnScreen, 'onEvent' | 'follow' | 'close'>;
  readonly questions: Questions;
  readonly record: RunRecord;
  /** What people see of the finished loop; with `partial`, text of a round that failed in the middle stays. */
  finalText(loop: LoopState | undefined, partial: boolean): string;
  takePending(): PendingBoundary;
  close(): Promise<void>;
}

export function createTurnHost(options: TurnHostOptions): JobTurnHost {
  const { desk, turn, agent, logger } = options;
  const ledger = createTurnLedger(turn, options.now);
  const plan = turn.state?.plan?.plan;
  const screen = createTurnScreen({ ...options, plan: plan ? planView(plan) : undefined, onSuperseded: options.end });
  const questions = createQuestions(options);
  let acks: number[] = [];
  let taken: TakenText[] = [];
  let closed: OutboxEntryBody[] = [];

  async function takeTexts(state: TurnState): Promise<Steering | undefined> {
    closed.push(...screen.takeClosed());
    // An answer that a steer closed is shown before anything newer; a take-over begins this round again.
    if (closed.length > 0) await save({ ...state, loop: { ...state.loop, round: state.loop.round - 1 } });
    screen.follow(state.loop);
    if (agent.steering !== 'steer') return undefined;
    const reading = await desk.read();
    if (reading.stop > 0) {
      // What was sent after the stop must not enter the run that it ends.
      options.end('stop');
      return undefined;
    }
    const found = takeSteering(reading, desk.state.turn ?? turn, { acks, taken });
    if (!found) return undefined;
    acks.push(...found.seqs);
    taken.push(...found.items);
    for (const { place, messageId } of found.items) {
      desk.adapter
        .react?.(place, messageId, 'seen')
        .catch((error: unknown) => logger.debug({ err: error }, 'acknowledgement not shown'));
    }
    return found.steering;
  }

  async function save(state: TurnState): Promise<void> {
    screen.follow(state.loop);
    closed.push(...screen.takeClosed());
    const boundary = { ack: acks, usage: ledger.takeUsage(), outbox: closed };
    const [texts, record, stored] = [taken, ledger.record, snapshot(state)];
    const { answer, answerFrom } = screen;
    acks = [];
    taken = [];
    closed = [];
    // A closed answer's last edit must not land after its final text.
    if (boundary.outbox.length > 0) await screen.settled();
    await desk.commit(
      (before) => ({
        ...before,
        answers: answer,
        turn: before.turn && withTaken({ ...before.turn, state: stored, record, answer, answerFrom }, texts),
      }),
      boundary,
    );
    if (boundary.outbox.length > 0) await desk.deliverOutbox(await desk.read());
  }

  return {
    takeSteering: takeTexts,
    save,
    texts: options.texts,
    ask: (callId, question, stop) => questions.ask(callId, question, stop),
    onEvent(event) {
      ledger.onEvent(event);
      screen.onEvent(event);
      options.onEvent(event);
    },
    screen,
    questions,
    get record() {
      return ledger.record;
    },
    finalText(loop, partial) {
      const whole = answerText(loop, screen.answerFrom);
      return partial && screen.text.length > whole.length ? screen.text : whole;
    },
    takePending() {
      closed.push(...screen.takeClosed());
      const pending = { acks, usage: ledger.takeUsage(), closed, taken };
      acks = [];
      closed = [];
      taken = [];
      return pending;
    },
    close: () => screen.close(),
  };
}

/** The run goes on working on its state in place; messages are never changed, only replaced. */
export function snapshot(state: TurnState): TurnState {
  const { loop, ...rest } = state;
  return {
    ...structuredClone(rest),
    loop: {
      ...loop,
      messages: [...loop.messages],
      produced: [...loop.produced],
      startedCalls: [...loop.startedCalls],
      usage: { ...loop.usage },
    },
  };
}
