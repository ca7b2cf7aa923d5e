import type { AgentLoopResult } from '../core/agent/run-agent-loop.js';
import type { LoopState } from '../core/agent/run-state.js';
import { type AgentSpec, runTurn } from '../core/agent/run-turn.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import { AbortedError, StoreError, SupersededError, ThreadloopError, toError } from '../core/errors.js';
import type { Budgets } from '../core/ports/budget.js';
import type { Logger } from '../core/ports/logger.js';
import type { Metrics } from '../core/ports/metrics.js';
import type { Relay } from '../core/ports/relay.js';
import type { Reading, UsageEntry } from '../core/ports/store.js';
import type { Texts, TextTable } from '../core/ports/texts.js';
import { answerText, errorLine, noticeLine, usageLine } from './answer-text.js';
import { endTurn, runMark, type Turn } from './conversation-state.js';
import type { Desk } from './desk.js';
import { watchRun } from './run-watch.js';
import { createTurnHost, type JobTurnHost } from './turn-host.js';

export interface TurnRunnerOptions {
  readonly store: { readonly budgets: Budgets };
  readonly agent: (name: string) => AgentSpec | undefined;
  readonly texts: Texts;
  readonly relay: Relay;
  readonly metrics: Metrics;
  readonly now?: () => number;
}

/** What stood when a stop ended the run in this process; a stop after a take-over has only the last boundary. */
export interface UnfinishedTurn {
  readonly answer: number;
  readonly text: string;
  readonly loop: LoopState | undefined;
  readonly usage: readonly UsageEntry[];
  /** Numbers of the items the run had taken in. */
  readonly acks: readonly number[];
  /** Answers that steers had closed. */
  readonly closed: readonly OutboxEntryBody[];
  readonly model: string;
}

/** Used when the agent names none. */
const NOTIFY_AFTER_MS = 60_000;

type TurnRunner = (
  desk: Desk,
  reading: Reading,
  signal: AbortSignal,
  logger: Logger,
) => Promise<UnfinishedTurn | undefined>;

/**
 * Runs the conversation's open turn until it ends and commits the end with the final text in the outbox. A stop
 * leaves the turn open and returns what stood, for the reader to commit. Throws SupersededError and, on shutdown,
 * AbortedError: then nothing was committed and the next holder goes on from the last boundary.
 */
export function createTurnRunner(options: TurnRunnerOptions): TurnRunner {
  return async function run(desk, reading, signal, logger) {
    const turn = desk.state.turn;
    if (!turn) return undefined;
    const texts = options.texts.for(turn.locale);
    const agent = options.agent(turn.agent);
    if (!agent) {
      logger.error({ agent: turn.agent }, 'the agent of this run is no longer configured');
      await fail(desk, { turn, reading, line: texts.internalError });
      return undefined;
    }
    const abort = new AbortController();
    const runSignal = AbortSignal.any([signal, abort.signal]);
    const now = options.now ?? Date.now;
    const host = createTurnHost({
      desk,
      turn,
      agent,
      texts,
      budgets: options.store.budgets,
      logger: logger.child({ run: turn.id }),
      now,
      end: (reason) => abort.abort(reason),
    });
    const watch = await watchRun({
      desk,
      turn,
      relay: options.relay,
      texts: options.texts,
      logger,
      steering: agent.mode === 'chat' ? 'queue' : agent.steering,
      end: (reason) => abort.abort(reason),
    });
    let result: AgentLoopResult | Error;
    try {
      result = await runTurn({
        agent,
        history: desk.state.history,
        text: turn.text,
        loop: turn.loop,
        host,
        signal: runSignal,
        now,
      });
    } catch (error) {
      result = toError(error);
    } finally {
      await watch.close();
      await host.close();
    }
    const reason: unknown = abort.signal.reason;
    if (reason instanceof SupersededError) throw reason;
    if (result instanceof SupersededError) throw result;
    // The store failed, not the run: it goes on from the last boundary as soon as the store is back.
    const failure = result instanceof Error ? result : result.error;
    if (failure instanceof StoreError) throw failure;
    if (signal.aborted) throw new AbortedError(String(signal.reason));
    if (abort.signal.aborted) return unfinishedTurn(result, { host, desk, agent });
    await finish(desk, { turn, agent, host, texts, result, logger });
    options.metrics.observe('run', now() - turn.startedAt, { agent: agent.name });
    return undefined;
  };
}

function unfinishedTurn(
  result: AgentLoopResult | Error,
  { host, desk, agent }: { host: JobTurnHost; desk: Desk; agent: AgentSpec },
): UnfinishedTurn {
  const loop = result instanceof Error ? desk.state.turn?.loop : result.state;
  return { ...host.takePending(), answer: host.answer, text: host.text, loop, model: agent.model.name };
}

interface Ending {
  readonly turn: Turn;
  readonly agent: AgentSpec;
  readonly host: JobTurnHost;
  readonly texts: TextTable;
  readonly result: AgentLoopResult | Error;
  readonly logger: Logger;
}

/** The end of a run: one commit with state, history, acks, usage and the final text. */
async function finish(desk: Desk, ending: Ending): Promise<void> {
  const { turn, agent, host, texts, result, logger } = ending;
  const current = desk.state.turn ?? turn;
  const loop = result instanceof Error ? current.loop : result.state;
  const error = result instanceof Error ? result : result.error;
  const pending = host.takePending();
  if (error) {
    const fields = { err: error, run: turn.id, hint: error instanceof ThreadloopError ? error.hint : undefined };
    logger.error(fields, 'the run ended with an error');
  }
  const text = agent.showAnswer ? host.finalText(loop, error !== undefined) : '';
  const line = error
    ? errorLine(error, texts, text !== '')
    : noticeLine(host.notice, { agent, texts, rounds: loop?.round ?? 0 });
  const reading = await desk.read();
  const outbox: OutboxEntryBody[] = [
    ...pending.closed,
    {
      v: 1,
      kind: 'answer',
      slot: `a${host.answer}`,
      place: { ...turn.place },
      state: error ? 'error' : 'final',
      markdown: [text, line].filter(Boolean).join('\n\n') || texts.done,
      ...(agent.showReasoning && host.reasoning ? { reasoning: host.reasoning } : {}),
      ...(agent.display === 'verbose' && loop ? { footer: usageLine(loop, agent, reading.now - turn.startedAt) } : {}),
    },
  ];
  if (!error && desk.adapter.silentEdits && reading.now - turn.startedAt > (agent.notifyAfterMs ?? NOTIFY_AFTER_MS)) {
    outbox.push(doneNote(turn, host.answer, texts));
  }
  await desk.commit((state) => endTurn({ ...state, answers: host.answer }, turn, loop), {
    ack: pending.acks,
    usage: pending.usage,
    outbox,
    run: runMark(turn, error ? 'error' : 'finished', agent.model.name, reading.now),
  });
}

async function fail(
  desk: Desk,
  { turn, reading, line }: { turn: Turn; reading: Reading; line: string },
): Promise<void> {
  const markdown = [answerText(turn.loop, turn.answerFrom), line].filter(Boolean).join('\n\n');
  await desk.commit((state) => endTurn(state, turn, turn.loop), {
    outbox: [
      { v: 1, kind: 'answer', slot: `a${turn.answer}`, place: { ...turn.place }, state: 'error', markdown },
    ] satisfies OutboxEntryBody[],
    run: runMark(turn, 'error', '', reading.now),
  });
}

function doneNote(turn: Turn, answer: number, texts: TextTable): OutboxEntryBody {
  const place = { ...turn.place, replyTo: turn.messageId };
  return { v: 1, kind: 'note', slot: `done.a${answer}`, place, state: 'final', markdown: texts.done };
}
