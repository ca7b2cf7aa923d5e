import { z } from 'zod';
import { chatMessage, type LoopState, loopState } from '../core/agent/run-state.js';
import { turnState } from '../core/agent/turn-state.js';
import type { MessageItem } from '../core/chat/message.js';
import { outboxEntry } from '../core/chat/outbox-entry.js';
import type { RunMark } from '../core/ports/store.js';
import { EMPTY_RECORD, runRecord } from './run-record.js';
import { turnHistory } from './turn-history.js';
import { waiting } from './waiting.js';

const person = z.object({ id: z.string(), name: z.string() });

/** A turn that is being worked on: from the text that started it to its final answer. */
const turn = z.object({
  /** Run id, also in stop buttons and in the store's run mark. */
  id: z.string(),
  agent: z.string(),
  /** The run's own choice of a model (`/model`); absent: the agent's. */
  model: z.string().optional(),
  /** Number of the answer that is being written; its slots are `a<n>.<page>`. */
  answer: z.number().int(),
  place: outboxEntry.shape.place,
  starter: person,
  messageId: z.string(),
  locale: z.string().optional(),
  text: z.string(),
  /** Files came with it that the model does not get to see; people are told. */
  filesLeftOut: z.boolean(),
  startedAt: z.number(),
  /** Undefined until the first boundary. */
  state: turnState.optional(),
  /** Set while the turn waits for a person; then no worker is busy with it. */
  waiting: waiting.nullable(),
  /** A question asked while its call stays open in the worker that holds the turn. */
  held: waiting.nullable(),
  record: runRecord,
  /** Where the current answer begins in the loop's `produced`; earlier ones were closed and delivered. */
  answerFrom: z.number().int(),
  /** Platform ids of the texts this turn has taken; later edits of them are corrections. */
  taken: z.array(z.string()),
  /** Ids of those who may stop it. */
  stoppers: z.array(z.string()),
  /** Ids of all who wrote during this turn. */
  people: z.array(z.string()),
});

/**
 * The state of a conversation, written by every commit. `v` is its schema version: a worker that does not know it
 * leaves the conversation to a newer one.
 */
export const conversationState = z.object({
  v: z.literal(2),
  /** Earlier turns as whole user/assistant/tool groups, without system messages. */
  history: z.array(chatMessage),
  /** Number of the first message of `history` in the whole life of the conversation. */
  historyFrom: z.number().int(),
  /** Stands for every message numbered below `through`; the messages themselves stay in `history`. */
  summary: z.object({ text: z.string(), through: z.number().int() }).nullable(),
  /** Summaries that failed in a row; after a few they are no longer tried here. */
  summaryFailures: z.number().int(),
  /** Answers begun so far. */
  answers: z.number().int(),
  turn: turn.nullable(),
  /** Tools allowed here for good ("always here"), and by whom. */
  grants: z.array(z.object({ tool: z.string(), by: z.string() })),
  /** Chosen with `/model`; null: the agent's. */
  model: z.string().nullable(),
  /** MCP servers bound with `/mcp`, besides the agent's own. */
  mcpServers: z.array(z.string()),
  /** Tools that `load_tools` brought in. */
  loadedTools: z.array(z.string()),
  /** The last final entries by slot, kept to repair messages a paused worker overwrites late. */
  shown: z.array(outboxEntry),
  /** Until when the outbox rests (store's clock, ms), and how often its head has failed. */
  hold: z.object({ until: z.number(), failures: z.number().int() }).nullable(),
});

export type ConversationState = z.infer<typeof conversationState>;
export type Turn = z.infer<typeof turn>;

export const EMPTY_STATE: ConversationState = {
  ...{ v: 2, history: [], historyFrom: 0, summary: null, summaryFailures: 0, answers: 0, turn: null },
  ...{ grants: [], model: null, mcpServers: [], loadedTools: [], shown: [], hold: null },
};

const KEPT = { shown: 4, historyCharacters: 400_000 } as const;

/** Parses a stored state; undefined when this version cannot read it (newer, or damaged). */
export function parseState(stored: unknown): ConversationState | undefined {
  if (stored === undefined || stored === null) return EMPTY_STATE;
  const current = conversationState.safeParse(stored);
  if (current.success) return current.data;
  const first = firstVersion.safeParse(stored);
  return first.success ? fromFirstVersion(first.data) : undefined;
}

/** The entries a state keeps of those that were shown, oldest first. */
export function keptShown<T>(shown: readonly T[]): T[] {
  return shown.slice(-KEPT.shown);
}

/**
 * Keeps what grows within bounds: the newest shown entries and the newest whole turns of the history (a group starts
 * at a user message, so call/result pairs stay whole).
 */
export function trimState(state: ConversationState): ConversationState {
  const { history } = state;
  let from = history.length;
  let characters = 0;
  for (let i = history.length - 1; i >= 0; i--) {
    const message = history[i];
    if (!message) continue;
    characters += message.content.length;
    if (message.role === 'assistant') for (const c of message.toolCalls ?? []) characters += c.arguments.length;
    if (characters > KEPT.historyCharacters && from < history.length) break;
    if (message.role === 'user') from = i;
  }
  const historyFrom = state.historyFrom + from;
  return { ...state, history: history.slice(from), historyFrom, shown: keptShown(state.shown) };
}

/** The store's mark of a turn; stops and the console's list go by it. */
export function runMark(turn: Turn, phase: RunMark['phase'], model: string, now: number): RunMark {
  return {
    id: turn.id,
    phase,
    allowed: turn.stoppers,
    agent: turn.agent,
    model,
    startedAt: turn.startedAt,
    updatedAt: now,
  };
}

/** A text that became part of a run. */
export interface TakenText {
  readonly messageId: string;
  readonly person: string;
  /** Files came with it. */
  readonly files: boolean;
}

export function takenText(text: Pick<MessageItem, 'messageId' | 'person' | 'attachments'>): TakenText {
  return { messageId: text.messageId, person: text.person.id, files: (text.attachments?.length ?? 0) > 0 };
}

/**
 * Later edits of these texts are corrections, their authors are among those who are named, and people are told of their
 * files.
 */
export function withTaken(turn: Turn, texts: readonly TakenText[]): Turn {
  return {
    ...turn,
    taken: [...turn.taken, ...texts.map(({ messageId }) => messageId)],
    people: [...new Set([...turn.people, ...texts.map(({ person }) => person)])],
    filesLeftOut: turn.filesLeftOut || texts.some(({ files }) => files),
  };
}

/** The turn is over; later turns see what it produced, and what its compression and `load_tools` brought. */
export function endTurn(state: ConversationState, turn: Turn, loop: LoopState | undefined): ConversationState {
  const ended = { ...state, turn: null, history: [...state.history, ...turnHistory(turn.text, loop)] };
  const { state: run } = state.turn ?? turn;
  if (!run) return ended;
  const { summary, failures: summaryFailures } = run.compression;
  const loadedTools = [...new Set([...state.loadedTools, ...run.loadedTools])];
  return { ...ended, loadedTools, summaryFailures, summary: summary ?? state.summary };
}

/** Schema version 1: no plan, nothing to wait for, no compression. */
const firstVersion = z.object({
  ...conversationState.pick({ history: true, answers: true, shown: true, hold: true }).shape,
  v: z.literal(1),
  turn: turn
    .omit({ state: true, waiting: true, held: true, record: true, model: true, filesLeftOut: true })
    .extend({ loop: loopState.optional() })
    .nullable(),
});

function fromFirstVersion({ turn: old, ...first }: z.infer<typeof firstVersion>): ConversationState {
  if (!old) return { ...EMPTY_STATE, ...first, v: 2 };
  const { loop, ...rest } = old;
  return {
    ...EMPTY_STATE,
    ...first,
    v: 2,
    turn: {
      ...rest,
      waiting: null,
      held: null,
      filesLeftOut: false,
      record: EMPTY_RECORD,
      ...(loop && { state: firstTurnState(loop, first.history.length) }),
    },
  };
}

function firstTurnState(loop: LoopState, earlier: number): NonNullable<Turn['state']> {
  const turnAt = Math.max(0, loop.messages.length - loop.produced.length - 1);
  const kept = loop.messages.slice(0, turnAt).filter(({ role }) => role !== 'system').length;
  return {
    ...{ v: 1, loop, loadedTools: [], ruled: [], decisions: {}, interactive: {}, answers: [] },
    compression: {
      turnAt,
      historyFrom: Math.max(0, earlier - kept),
      summary: null,
      triedAt: 0,
      failures: 0,
      factor: 1,
    },
  };
}
