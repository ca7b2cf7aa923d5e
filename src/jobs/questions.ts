import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { NumberedItem } from '../core/chat/message.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import type { Reading } from '../core/ports/store.js';
import type { TextTable } from '../core/ports/texts.js';
import type { ToolAnswer, ToolQuestion } from '../core/tools/tool.js';
import { cardEntry, choiceRows, heldQuestion, pressedAnswer, writtenAnswer } from './cards.js';
import type { Turn } from './conversation-state.js';
import type { Desk } from './desk.js';
import { viewInbox } from './session.js';
import { type CardAnswer, openCards, type Waiting, withAnswers } from './waiting.js';

export interface QuestionsOptions {
  readonly desk: Desk;
  readonly turn: Turn;
  readonly agent: AgentSpec;
  readonly texts: TextTable;
}

/**
 * Questions asked while a call stays open (old MCP servers cannot wait any other way). One at a time. The card is
 * stored with the turn: when this process dies, the next holder closes it, because the call that asked is gone.
 */
export interface Questions {
  ask(callId: string, question: ToolQuestion): Promise<ToolAnswer>;
  /** Takes what answers the open question out of the inbox; true when something was taken. */
  look(reading: Reading): Promise<boolean>;
  /** The run ends: an open question gets no answer any more. */
  close(): Promise<void>;
}

interface Open {
  readonly wait: Waiting;
  resolve(answer: ToolAnswer): void;
}

export function createQuestions({ desk, turn, agent, texts }: QuestionsOptions): Questions {
  let open: Open | undefined;
  let closed = false;
  let queue: Promise<unknown> = Promise.resolve();

  async function askOne(callId: string, question: ToolQuestion): Promise<ToolAnswer> {
    if (closed) return {};
    const { now } = await desk.read();
    const wait = heldQuestion({ callId, question }, { turn, agent, texts, now });
    const answered = new Promise<ToolAnswer>((resolve) => {
      open = { wait, resolve };
    });
    await desk.commit((state) => withHeld(state, wait), {
      openChoices: choiceRows(wait),
      outbox: [cardEntry(wait, turn, texts)],
    });
    await desk.deliverOutbox(await desk.read());
    return answered;
  }

  async function settle(
    answers: ReadonlyMap<string, CardAnswer>,
    ack: readonly number[],
    won: boolean,
  ): Promise<boolean> {
    if (!open) return false;
    const { wait, resolve } = open;
    const answered = withAnswers(wait, answers);
    const result = await desk.commit((state) => withHeld(state, null), {
      ack,
      closeChoices: wait.cards.map(({ choice }) => choice),
      ...(won ? { knowsTaken: true } : {}),
      outbox: [cardEntry(answered, turn, texts)] satisfies OutboxEntryBody[],
    });
    if (result === 'taken') return true;
    open = undefined;
    resolve({ answer: answered.cards[0]?.answer?.value });
    await desk.deliverOutbox(await desk.read());
    return true;
  }

  return {
    ask(callId, question) {
      const turnOf = queue.then(() => askOne(callId, question));
      queue = turnOf.catch(() => undefined);
      return turnOf;
    },
    async look(reading) {
      const card = open && openCards(open.wait)[0];
      if (!card) return false;
      const press = reading.items.find(
        (item): item is Extract<NumberedItem, { kind: 'choice' }> =>
          item.kind === 'choice' && item.choice === card.choice,
      );
      const pressed = press && pressedAnswer(card, press.option, press.person, texts);
      if (press && pressed) return settle(new Map([[card.choice, pressed]]), [press.seq], true);
      const text = viewInbox(reading.items).texts.find((one) => !one.queue && card.allowed.includes(one.person.id));
      if (!text) return false;
      return settle(new Map([[card.choice, writtenAnswer(card, text.text, text.person, texts)]]), text.seqs, false);
    },
    async close() {
      closed = true;
      if (!open) return;
      const { wait } = open;
      const given = new Map(wait.cards.map(({ choice }) => [choice, { value: '', line: texts.cancelled, by: '' }]));
      const { resolve } = open;
      open = undefined;
      resolve({});
      await closeHeld(desk, withAnswers(wait, given), texts);
    },
  };
}

/** Closes the card of a question whose call is gone: no buttons, and a line that says so. */
export async function closeHeld(desk: Desk, wait: Waiting, texts: TextTable): Promise<void> {
  const { turn } = desk.state;
  if (!turn) return;
  const given = new Map(openCards(wait).map(({ choice }) => [choice, { value: '', line: texts.cancelled, by: '' }]));
  await desk.commit((state) => withHeld(state, null), {
    closeChoices: wait.cards.map(({ choice }) => choice),
    knowsTaken: true,
    outbox: [cardEntry(withAnswers(wait, given), turn, texts)],
  });
}

function withHeld(state: Desk['state'], held: Waiting | null): Desk['state'] {
  return { ...state, turn: state.turn && { ...state.turn, held } };
}
