import type { NumberedItem } from '../core/chat/message.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import type { ConversationStore, Reading } from '../core/ports/store.js';
import type { Texts, TextTable } from '../core/ports/texts.js';
import { type ConversationState, endTurn, runMark, type Turn } from './conversation-state.js';
import type { Desk } from './desk.js';
import { viewInbox } from './session.js';

export type ControlMessage = Extract<NumberedItem, { kind: 'control' }>;

/** What people may choose among with control words; the names are those of the configuration. */
export interface Choosable {
  readonly models: readonly string[];
  readonly mcpServers: readonly string[];
  /** The agent's own, for a conversation that chose none. */
  readonly defaultModel: (place: ControlMessage['place']) => string;
  readonly defaultMcpServers: (place: ControlMessage['place']) => readonly string[];
}

export interface ControlOptions {
  readonly texts: Texts;
  readonly reading: Reading;
  readonly choosable: Choosable;
  readonly usage: ConversationStore['usage'];
}

const USAGE_MS = 30 * 24 * 3_600_000;

/** Control words that are answered at once, also while a run is active. */
export function isAside(item: NumberedItem): item is ControlMessage {
  return item.kind === 'control' && item.control !== 'stop' && item.control !== 'new';
}

/**
 * Answers one control word with a short note. `/new` forgets the history; it waits for the end of an active run. A
 * choice made with `/model` or `/mcp` holds from the next turn on.
 */
export async function answerControl(desk: Desk, item: ControlMessage, options: ControlOptions): Promise<void> {
  const { line, change } = await answerTo(desk, item, options);
  await desk.commit((state) => change?.(state) ?? state, { ack: [item.seq], outbox: [noteFor(item, line)] });
}

/** `/new` while a question waits: the turn ends, its question is closed, and nothing of before is remembered. */
export async function cancelControl(
  desk: Desk,
  item: ControlMessage,
  cancelled: { texts: Texts; reading: Reading; turn: Turn; card: OutboxEntryBody; closing: readonly string[] },
): Promise<void> {
  const { texts, reading, turn, card, closing } = cancelled;
  await desk.commit((state) => forgotten(endTurn(state, turn, turn.state?.loop)), {
    ack: [item.seq],
    closeChoices: closing,
    outbox: [card, noteFor(item, texts.for(item.locale).newConversation)],
    run: runMark(turn, 'stopped', turn.model ?? '', reading.now),
  });
}

/** A text of the gateway itself, as an answer to this item. */
export function noteFor(item: ControlMessage, markdown: string): OutboxEntryBody {
  return {
    v: 1,
    kind: 'note',
    slot: `n${item.seq}`,
    place: { ...item.place, replyTo: item.place.replyTo ?? item.messageId },
    state: 'final',
    markdown,
  };
}

interface Answer {
  readonly line: string;
  readonly change?: (state: ConversationState) => ConversationState;
}

async function answerTo(desk: Desk, item: ControlMessage, options: ControlOptions): Promise<Answer> {
  const texts = options.texts.for(item.locale);
  switch (item.control) {
    case 'stop':
      // A stop that still lies here came while nothing ran and was overtaken by the flag's own handling.
      return { line: texts.nothingRuns };
    case 'new':
      return { line: texts.newConversation, change: forgotten };
    case 'help':
      return { line: texts.help };
    case 'status':
      return { line: statusLine(desk.state.turn, texts, options.reading.now) };
    case 'queue': {
      const count = viewInbox(options.reading.items).texts.length;
      return { line: count === 0 ? texts.queueEmpty : texts.queueLength(count) };
    }
    case 'usage':
      return { line: await usageLineOf(desk, texts, options) };
    case 'model':
      return chooseModel(desk, item, texts, options.choosable);
    case 'mcp':
      return chooseServers(desk, item, texts, options.choosable);
  }
}

function statusLine(turn: Turn | null, texts: TextTable, now: number): string {
  if (!turn) return texts.statusIdle;
  if (turn.waiting) return texts.statusWaiting;
  return texts.statusRunning(Math.round((now - turn.startedAt) / 1000), turn.state?.loop.round ?? 1);
}

async function usageLineOf(desk: Desk, texts: TextTable, { usage, reading }: ControlOptions): Promise<string> {
  const entries = (await usage(reading.now - USAGE_MS)).filter(({ key }) => key === desk.session.key);
  const sum = (of: (entry: (typeof entries)[number]) => number): number =>
    entries.reduce((total, entry) => total + of(entry), 0);
  const requests = entries.filter(({ model }) => model !== '').length;
  const cost = sum((entry) => entry.cost).toFixed(4);
  return texts.usageHere(
    requests,
    sum((entry) => entry.inputTokens),
    sum((entry) => entry.outputTokens),
    cost,
  );
}

function chooseModel(desk: Desk, item: ControlMessage, texts: TextTable, choosable: Choosable): Answer {
  const known = choosable.models.join(', ');
  const wanted = item.argument;
  if (wanted === undefined) {
    return { line: texts.modelNow(desk.state.model ?? choosable.defaultModel(item.place), known) };
  }
  const model = choosable.models.find((name) => name.toLowerCase() === wanted.toLowerCase());
  if (model === undefined) return { line: texts.modelUnknown(wanted, known) };
  return { line: texts.modelNow(model, known), change: (state) => ({ ...state, model }) };
}

function chooseServers(desk: Desk, item: ControlMessage, texts: TextTable, choosable: Choosable): Answer {
  const own = choosable.defaultMcpServers(item.place);
  const known = choosable.mcpServers.join(', ') || '–';
  const { mcpServers: bound } = desk.state;
  const shown = (added: readonly string[]): string => [...new Set([...own, ...added])].join(', ') || '–';
  if (item.argument === undefined) return { line: texts.mcpServers(shown(bound), known) };
  const server = choosable.mcpServers.find((name) => name === item.argument);
  if (server === undefined) return { line: texts.mcpUnknown(item.argument, known) };
  const mcpServers = bound.includes(server) ? bound.filter((name) => name !== server) : [...bound, server];
  return { line: texts.mcpServers(shown(mcpServers), known), change: (state) => ({ ...state, mcpServers }) };
}

/** Choices of models and servers, and what was allowed for good, stay. */
function forgotten(state: ConversationState): ConversationState {
  const historyFrom = state.historyFrom + state.history.length;
  return { ...state, history: [], historyFrom, summary: null, summaryFailures: 0 };
}
