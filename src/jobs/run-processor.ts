import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { McpSource } from '../core/agent/run-turn.js';
import type { Adapter } from '../core/chat/adapter.js';
import { type ConversationKey, type Place, parseConversationKey } from '../core/chat/message.js';
import { SupersededError } from '../core/errors.js';
import type { Model } from '../core/llm/model.js';
import type { Logger } from '../core/ports/logger.js';
import type { Metrics } from '../core/ports/metrics.js';
import type { Relay } from '../core/ports/relay.js';
import type { Reading, Store } from '../core/ports/store.js';
import type { Texts } from '../core/ports/texts.js';
import { answerControl, type ControlOptions } from './controls.js';
import { type ConversationState, parseState, runMark, type Turn } from './conversation-state.js';
import { createDesk, type Desk } from './desk.js';
import { setHeadAside } from './poison.js';
import { keepRunDetails } from './run-details.js';
import { EMPTY_RECORD } from './run-record.js';
import { openSession, type Session, viewInbox } from './session.js';
import { handleStop } from './stops.js';
import { repairStrays } from './strays.js';
import { stepSuspended } from './suspension.js';
import { createTurnRunner, type UnfinishedTurn } from './turn-runner.js';
import { nextExpiry } from './waiting.js';

export interface RunProcessorOptions {
  readonly store: Pick<Store, 'conversations' | 'budgets' | 'records'>;
  readonly adapter: (platform: string, account: string) => Adapter | undefined;
  /** The agent a new turn at this place gets. */
  readonly route: (place: Place) => string;
  readonly agent: (name: string) => AgentSpec | undefined;
  readonly model: (name: string) => Model | undefined;
  /** Names people may choose with `/model` and `/mcp`. */
  readonly names: { readonly models: readonly string[]; readonly mcpServers: readonly string[] };
  readonly mcp?: McpSource | undefined;
  readonly texts: Texts;
  readonly relay: Relay;
  readonly addRun: (key: ConversationKey) => Promise<void>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now?: () => number;
}

/** What one step of the reader leads to: look again, run the open turn, a stop was handled, nothing left. */
type Step = 'again' | 'turn' | 'stopped' | 'settle';

/**
 * Claims without a commit or settle after which the work at hand is set aside (design 3.5). Every worker that lives
 * for a while commits (`run-watch`), so only what kills its worker soon gets this far.
 */
const POISON_CLAIMS = 6;
const RETRY_MS = 60_000;

/**
 * The one reader of a conversation: claim, then read → act → commit until `settle` says there is nothing left
 * (design 3, reference/protocol 2). Returns normally in every case a later claim can mend; BullMQ never retries it.
 */
export function createRunProcessor(
  options: RunProcessorOptions,
): (key: ConversationKey, signal: AbortSignal) => Promise<void> {
  const { logger: rootLogger, metrics } = options;
  const runTurnOf = createTurnRunner(options);
  const controls: Omit<ControlOptions, 'reading'> = {
    texts: options.texts,
    usage: (since) => options.store.conversations.usage(since),
    choosable: {
      ...options.names,
      defaultModel: (place) => options.agent(options.route(place))?.model.name ?? '',
      defaultMcpServers: (place) => options.agent(options.route(place))?.mcpServers ?? [],
    },
  };

  return async function process(key, signal) {
    const logger = rootLogger.child({ conversation: key });
    const session = await openSession(options.store.conversations, key);
    try {
      await hold(session, signal, logger);
    } catch (error) {
      if (!(error instanceof SupersededError)) {
        if (signal.aborted) {
          logger.info({ reason: String(signal.reason) }, 'run handed over');
          await options.addRun(key);
          return;
        }
        throw error;
      }
      logger.warn({ epoch: session.epoch, at: error.message }, 'superseded');
      metrics.count('superseded');
      if (await session.fileStrays()) await options.addRun(key);
    }
  };

  async function hold(session: Session, signal: AbortSignal, logger: Logger): Promise<void> {
    const state = parseState(session.storedState);
    if (!state) {
      logger.error({}, 'the stored state cannot be read by this version (newer, or damaged); left as it is');
      await comeBackLater(session);
      return;
    }
    const { platform, account } = parseConversationKey(session.key);
    const adapter = options.adapter(platform, account);
    if (!adapter) {
      logger.error({ platform, account }, 'no such adapter is configured here; trying again in a minute');
      await comeBackLater(session);
      return;
    }
    let reading = await session.read();
    const desk = createDesk({ session, adapter, state, budgets: options.store.budgets, logger, metrics, signal });
    if (session.claims >= POISON_CLAIMS) {
      metrics.count('dead_letters');
      await setHeadAside(desk, reading, { texts: options.texts, logger, agent: agentOf(desk) });
    }
    let unfinished: UnfinishedTurn | undefined;
    for (;;) {
      if (signal.aborted) {
        await options.addRun(session.key);
        return;
      }
      reading = await desk.read();
      const next = await step(desk, reading, unfinished);
      if (next === 'turn') unfinished = await runTurnOf(desk, { reading, signal, logger, controls });
      else if (next === 'stopped') unfinished = undefined;
      else if (next === 'settle' && (await session.settle(reading.seen, wakeAt(desk.state, reading))) === 'ok') return;
    }
  }

  function agentOf({ state: { turn } }: Desk): AgentSpec | undefined {
    return turn ? options.agent(turn.agent) : undefined;
  }

  /** One thing to do, in the order of design 3: outbox, strays, stop, stale presses, then items by number. */
  async function step(desk: Desk, reading: Reading, unfinished?: UnfinishedTurn): Promise<Step> {
    const resting = restUntil(desk.state, reading) !== null;
    if (reading.outbox.length > 0 && !resting) {
      await desk.deliverOutbox(reading);
      return 'again';
    }
    if (reading.items.some((item) => item.kind === 'stray')) {
      await repairStrays(desk, reading, rootLogger);
      return 'again';
    }
    if (reading.stop > 0) {
      const stopped = await handleStop(desk, reading, { texts: options.texts, unfinished, agent: agentOf(desk) });
      if (stopped) await keepRunDetails(options.store.records, { turn: stopped, finish: 'stopped' }, rootLogger);
      return 'stopped';
    }
    // While a final text waits for its platform, nothing newer is begun; a stop was looked at above.
    if (resting) return 'settle';
    if (desk.state.turn?.waiting) {
      const waiting = desk.state.turn;
      const stepped = await stepSuspended(desk, reading, controls);
      const given = !desk.state.turn && { turn: waiting, finish: 'unanswered' };
      if (given) await keepRunDetails(options.store.records, given, rootLogger);
      return stepped ? 'again' : 'settle';
    }
    const view = viewInbox(reading.items);
    const presses = reading.items.filter((item) => item.kind === 'choice');
    const inert = [...presses.map((p) => p.seq), ...view.spent];
    if (!desk.state.turn) inert.push(...view.corrections.map((c) => c.seq));
    if (inert.length > 0) {
      await desk.commit((state) => state, { ack: inert });
      return 'again';
    }
    if (desk.state.turn) return 'turn';
    const control = reading.items.find((item) => item.kind === 'control');
    const text = view.texts[0];
    if (control && (!text || control.seq < text.seq)) {
      await answerControl(desk, control, { ...controls, reading });
      return 'again';
    }
    if (!text) return 'settle';
    await startTurn(desk, text, reading);
    return 'turn';
  }

  async function startTurn(
    desk: Desk,
    text: ReturnType<typeof viewInbox>['texts'][number],
    reading: Reading,
  ): Promise<void> {
    const agent = options.route(text.place);
    const spec = options.agent(agent);
    const model = desk.state.model ?? undefined;
    const id = `${desk.session.key}#${desk.state.answers + 1}`;
    const turn: Turn = {
      id,
      agent,
      ...(model === undefined ? {} : { model }),
      answer: desk.state.answers + 1,
      answerFrom: 0,
      place: { ...text.place },
      starter: { ...text.person },
      messageId: text.messageId,
      ...(text.locale === undefined ? {} : { locale: text.locale }),
      text: text.text,
      filesLeftOut: (text.attachments?.length ?? 0) > 0,
      startedAt: reading.now,
      ...{ waiting: null, held: null, record: EMPTY_RECORD },
      taken: [],
      stoppers: [text.person.id, ...(spec?.approvers ?? []), ...(spec?.admins ?? [])],
      people: [],
    };
    await desk.commit((state) => ({ ...state, answers: turn.answer, turn }), {
      ack: text.seqs,
      run: runMark(turn, 'running', model ?? spec?.model.name ?? '', reading.now),
    });
  }
}

/** This worker can do nothing here, another may; settling keeps its claims from looking like poison. */
async function comeBackLater(session: Session): Promise<void> {
  const { seen, now } = await session.read();
  await session.settle(seen, now + RETRY_MS);
}

/** When the conversation must be looked at although nothing new came: the outbox rests, a question expires. */
function wakeAt(state: ConversationState, reading: Reading): number | null {
  return restUntil(state, reading) ?? nextExpiry(state.turn?.waiting);
}

/** The time until which the outbox rests, or null when it does not. */
function restUntil(state: ConversationState, reading: Reading): number | null {
  if (reading.outbox.length === 0 || !state.hold || state.hold.until <= reading.now) return null;
  return state.hold.until;
}
