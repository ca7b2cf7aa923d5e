import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { AgentEvent } from '../core/agent/events.js';
import { type McpSource, runTurn, type TurnResult } from '../core/agent/run-turn.js';
import { writeResult } from '../core/agent/transcript.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import { AbortedError, StoreError, SupersededError, ThreadloopError, toError } from '../core/errors.js';
import type { Model } from '../core/llm/model.js';
import type { Budgets } from '../core/ports/budget.js';
import type { Logger } from '../core/ports/logger.js';
import type { Metrics } from '../core/ports/metrics.js';
import type { Relay } from '../core/ports/relay.js';
import type { Reading, Records } from '../core/ports/store.js';
import type { Texts, TextTable } from '../core/ports/texts.js';
import { answerText, errorLine, noticeLine, usageLine } from './answer-text.js';
import { cardEntry, choiceRows, waitFor } from './cards.js';
import type { ControlOptions } from './controls.js';
import { endTurn, runMark, type Turn, withTaken } from './conversation-state.js';
import type { Desk } from './desk.js';
import { closeHeld } from './questions.js';
import { keepRunDetails } from './run-details.js';
import { createRunLog } from './run-log.js';
import { watchRun } from './run-watch.js';
import { createTurnHost, type JobTurnHost, type PendingBoundary, snapshot } from './turn-host.js';

export interface TurnRunnerOptions {
  readonly store: { readonly budgets: Budgets; readonly records: Records };
  readonly agent: (name: string) => AgentSpec | undefined;
  readonly model: (name: string) => Model | undefined;
  readonly mcp?: McpSource | undefined;
  readonly texts: Texts;
  readonly relay: Relay;
  readonly metrics: Metrics;
  readonly now?: () => number;
}

/** What stood when a stop ended the run in this process; a stop after a take-over has only the last boundary. */
export interface UnfinishedTurn extends PendingBoundary {
  readonly answer: number;
  readonly text: string;
  readonly turn: Turn;
  readonly model: string;
}

/** Used when the agent names none. */
const NOTIFY_AFTER_MS = 60_000;

interface Job {
  readonly reading: Reading;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly controls: Omit<ControlOptions, 'reading'>;
}

type TurnRunner = (desk: Desk, job: Job) => Promise<UnfinishedTurn | undefined>;

/**
 * Runs the conversation's open turn until it ends or waits, and commits that with the text in the outbox. A stop
 * leaves the turn open and returns what stood, for the reader to commit. Throws SupersededError and, on shutdown,
 * AbortedError: then nothing was committed and the next holder goes on from the last boundary.
 */
export function createTurnRunner(options: TurnRunnerOptions): TurnRunner {
  return async function run(desk, { reading, signal, logger, controls }) {
    const turn = desk.state.turn;
    if (!turn) return undefined;
    const texts = options.texts.for(turn.locale);
    if (turn.held) {
      await closeHeld(desk, turn.held, texts);
      await desk.deliverOutbox(await desk.read());
    }
    const agent = options.agent(turn.agent);
    const model = turn.model === undefined ? agent?.model : options.model(turn.model);
    if (!agent || !model) {
      logger.error({ agent: turn.agent, model: turn.model }, 'the agent or model of this run is no longer configured');
      const line = agent && turn.model !== undefined ? texts.modelGone(turn.model) : texts.internalError;
      await fail(desk, { turn, reading, line });
      await keepRunDetails(options.store.records, { turn, finish: 'error' }, logger);
      return undefined;
    }
    const abort = new AbortController();
    const runSignal = AbortSignal.any([signal, abort.signal]);
    const now = options.now ?? Date.now;
    const log = createRunLog({
      ...{ logger: logger.child({ run: turn.id }), metrics: options.metrics, agent: agent.name },
      resumed: turn.state !== undefined,
    });
    const host = createTurnHost({
      ...{ desk, turn, agent, texts, logger: logger.child({ run: turn.id }), now },
      budgets: options.store.budgets,
      onEvent: (event: AgentEvent) => log.onEvent(event),
      end: (reason) => abort.abort(reason),
    });
    const watch = await watchRun({
      ...{ desk, turn, logger, controls },
      relay: options.relay,
      questions: host.questions,
      steering: agent.mode === 'chat' ? 'queue' : agent.steering,
      end: (reason) => abort.abort(reason),
    });
    let result: TurnResult | Error;
    try {
      result = await runTurn({
        ...{ agent, model, host, now, text: turn.text, state: turn.state && snapshot(turn.state) },
        ...{ history: desk.state.history, historyFrom: desk.state.historyFrom, summary: desk.state.summary },
        summaryFailures: desk.state.summaryFailures,
        ...{ person: turn.starter.id, chat: `${turn.place.platform}:${turn.place.space}`, grants: desk.state.grants },
        ...{ loadedTools: desk.state.loadedTools, mcp: options.mcp, agents: options.agent, signal: runSignal },
        mcpServers: [...new Set([...agent.mcpServers, ...desk.state.mcpServers])],
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
    await host.questions.close();
    const ending: Ending = { turn, agent, model, host, texts, result, logger };
    if (abort.signal.aborted) return unfinishedTurn(desk, ending);
    if (!(result instanceof Error) && result.suspendedCalls.length > 0) {
      await suspend(desk, ending, result);
      return undefined;
    }
    const ended = await finish(desk, ending);
    const how = result instanceof Error ? 'error' : result.finish;
    await keepRunDetails(options.store.records, { turn: ended, finish: how }, logger);
    options.metrics.observe('run', now() - turn.startedAt, { agent: agent.name });
    return undefined;
  };
}

interface Ending {
  readonly turn: Turn;
  readonly agent: AgentSpec;
  readonly model: Model;
  readonly host: JobTurnHost;
  readonly texts: TextTable;
  readonly result: TurnResult | Error;
  readonly logger: Logger;
}

/** The turn as it is now: what was committed, and what the run has done since. */
function turnNow(desk: Desk, { turn, host, result }: Ending): Turn {
  const committed = desk.state.turn ?? turn;
  const { answer, answerFrom } = host.screen;
  const state = result instanceof Error ? committed.state : snapshot(result.turn);
  return { ...committed, ...{ record: host.record, answer, answerFrom }, ...(state && { state }) };
}

function unfinishedTurn(desk: Desk, ending: Ending): UnfinishedTurn {
  const { host, model, result } = ending;
  const { answer, text } = host.screen;
  const turn = turnNow(desk, ending);
  // Stopped just before it would have waited: nobody is going to be asked.
  const waits = result instanceof Error ? [] : result.suspendedCalls;
  for (const { call } of waits)
    if (turn.state) writeResult(turn.state.loop, call.id, 'Stopped before anybody was asked.');
  return { ...host.takePending(), answer, text, turn, model: model.name };
}

/** The run waits for a person: the text so far stands, the cards follow it, and no worker is busy with it. */
async function suspend(desk: Desk, ending: Ending, result: TurnResult): Promise<void> {
  const { agent, model, host, texts } = ending;
  const pending = host.takePending();
  const { now, seen } = await desk.read();
  const running = withTaken(turnNow(desk, ending), pending.taken);
  const text = agent.showAnswer ? host.finalText(result.state, false) : '';
  const context = { turn: running, agent, texts, now, seen };
  const wait = waitFor(result.suspendedCalls, { state: result.turn, above: text }, context);
  const turn: Turn = { ...running, waiting: wait };
  await desk.commit((state) => ({ ...state, answers: turn.answer, turn }), {
    ack: pending.acks,
    usage: pending.usage,
    openChoices: choiceRows(wait),
    outbox: [...pending.closed, answerEntry(ending, { state: 'final', markdown: text }), cardEntry(wait, turn, texts)],
    run: runMark(turn, 'waiting', model.name, now),
  });
}

/** The end of a run: one commit with state, history, acks, usage and the final text. */
async function finish(desk: Desk, ending: Ending): Promise<Turn> {
  const { turn, agent, model, host, texts, result, logger } = ending;
  const pending = host.takePending();
  const ended = withTaken(turnNow(desk, ending), pending.taken);
  const loop = ended.state?.loop;
  const error = result instanceof Error ? result : result.error;
  if (error) {
    const fields = { err: error, run: turn.id, hint: error instanceof ThreadloopError ? error.hint : undefined };
    logger.error(fields, 'the run ended with an error');
  }
  const text = agent.showAnswer ? host.finalText(loop, error !== undefined) : '';
  const line = error
    ? errorLine(error, texts, text !== '')
    : noticeLine(host.screen.notice, { agent, texts, rounds: loop?.round ?? 0 });
  const reading = await desk.read();
  const markdown = [text, line].filter(Boolean).join('\n\n') || texts.done;
  const usage = agent.display === 'verbose' ? usageLine(host.record, model.name, reading.now - turn.startedAt) : '';
  const files = ended.filesLeftOut ? texts.attachmentsIgnored : '';
  const shortened = agent.display === 'quiet' ? '' : host.screen.compression;
  const footer = [files, shortened, usage].filter(Boolean).join(' · ');
  const outbox: OutboxEntryBody[] = [
    ...pending.closed,
    answerEntry(ending, { state: error ? 'error' : 'final', markdown, ...(footer ? { footer } : {}) }),
  ];
  if (!error && desk.adapter.silentEdits && reading.now - turn.startedAt > (agent.notifyAfterMs ?? NOTIFY_AFTER_MS)) {
    outbox.push(doneNote(turn, host.screen.answer, texts));
  }
  await desk.commit((state) => endTurn({ ...state, answers: ended.answer, turn: ended }, ended, loop), {
    ack: pending.acks,
    usage: pending.usage,
    outbox,
    run: runMark(turn, error ? 'error' : 'finished', model.name, reading.now),
  });
  return ended;
}

/** The entry of the answer that is being written, with what stands beside its text. */
function answerEntry(
  { turn, agent, host }: Ending,
  shown: Pick<OutboxEntryBody, 'state' | 'markdown' | 'footer'>,
): OutboxEntryBody {
  const { answer, plan, reasoning } = host.screen;
  return {
    ...{ v: 1, kind: 'answer', slot: `a${answer}`, place: { ...turn.place }, ...shown },
    ...(plan ? { plan } : {}),
    ...(agent.showReasoning && reasoning ? { reasoning } : {}),
  };
}

async function fail(
  desk: Desk,
  { turn, reading, line }: { turn: Turn; reading: Reading; line: string },
): Promise<void> {
  const markdown = [answerText(turn.state?.loop, turn.answerFrom), line].filter(Boolean).join('\n\n');
  await desk.commit((state) => endTurn(state, turn, turn.state?.loop), {
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
