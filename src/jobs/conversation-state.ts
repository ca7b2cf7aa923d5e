import { z } from 'zod';
import { chatMessage, type LoopState, loopState } from '../core/agent/run-state.js';
import { outboxEntry } from '../core/chat/outbox-entry.js';
import type { RunMark } from '../core/ports/store.js';

const person = z.object({ id: z.string(), name: z.string() });

/** A turn that is being worked on: from the text that started it to its final answer. */
const turn = z.object({
  /** Run id, also in stop buttons and in the store's run mark. */
  id: z.string(),
  agent: z.string(),
  /** Number of the answer that is being written; its slots are `a<n>.<page>`. */
  answer: z.number().int(),
  place: outboxEntry.shape.place,
  starter: person,
  messageId: z.string(),
  locale: z.string().optional(),
  text: z.string(),
  startedAt: z.number(),
  /** Undefined until the first boundary. */
  loop: loopState.optional(),
  /** Where the current answer begins in `loop.produced`; earlier ones were closed by a steer and delivered. */
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
  v: z.literal(1),
  /** Earlier turns as whole user/assistant/tool groups, without system messages. */
  history: z.array(chatMessage),
  /** Answers begun so far. */
  answers: z.number().int(),
  turn: turn.nullable(),
  /** The last final entries by slot, kept to repair messages a paused worker overwrites late. */
  shown: z.array(outboxEntry),
  /** Until when the outbox rests (store's clock, ms), and how often its head has failed. */
  hold: z.object({ until: z.number(), failures: z.number().int() }).nullable(),
});

export type ConversationState = z.infer<typeof conversationState>;
export type Turn = z.infer<typeof turn>;

export const EMPTY_STATE: ConversationState = { v: 1, history: [], answers: 0, turn: null, shown: [], hold: null };

const KEPT = { shown: 4, historyCharacters: 400_000 } as const;

/** Parses a stored state; undefined when this version cannot read it (newer, or damaged). */
export function parseState(stored: unknown): ConversationState | undefined {
  if (stored === undefined || stored === null) return EMPTY_STATE;
  return conversationState.safeParse(stored).data;
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
  return { ...state, history: history.slice(from), shown: keptShown(state.shown) };
}

const PREVIEW = { head: 500, tail: 500 } as const;

/**
 * What later turns see of a turn: its text, then everything it produced as whole call/result pairs, tool results cut
 * to a preview (seed 000, 3.2.5). A call that never got a result (stopped, killed) gets one that says so.
 */
export function turnHistory(turn: Turn, loop: LoopState | undefined): ConversationState['history'] {
  const messages: ConversationState['history'] = [{ role: 'user', content: turn.text }];
  const produced = loop?.produced ?? [];
  const answered = new Set(produced.flatMap((m) => (m.role === 'tool' ? [m.toolCallId] : [])));
  for (const message of produced) {
    messages.push(message.role === 'tool' ? { ...message, content: preview(message.content) } : message);
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls ?? []) {
      if (!answered.has(call.id)) {
        messages.push({ role: 'tool', toolCallId: call.id, content: 'Interrupted before a result arrived.' });
      }
    }
  }
  return messages;
}

function preview(content: string): string {
  const { head, tail } = PREVIEW;
  if (content.length <= head + tail) return content;
  return `${content.slice(0, head)}\n… ${content.length - head - tail} characters left out …\n${content.slice(-tail)}`;
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

/** The turn is over; later turns see what it produced. */
export function endTurn(state: ConversationState, turn: Turn, loop: LoopState | undefined): ConversationState {
  return { ...state, turn: null, history: [...state.history, ...turnHistory(turn, loop)] };
}
