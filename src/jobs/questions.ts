import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { NumberedItem } from '../core/chat/message.js';
import type { Reading } from '../core/ports/store.js';
import type { TextTable } from '../core/ports/texts.js';
import type { ToolAnswer, ToolQuestion } from '../core/tools/tool.js';
import { cardEntry, choiceRows, heldQuestion, pressedAnswer, writtenAnswer } from './cards.js';
import { type TakenText, type Turn, takenText, withTaken } from './conversation-state.js';
import type { Desk } from './desk.js';
import { answeringTexts, type CardAnswer, openCards, type Waiting, withAnswers } from './waiting.js';

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
  /** `stop` takes the question back: its card is closed, and the next one may be asked. */
  ask(callId: string, question: ToolQuestion, stop?: AbortSignal): Promise<ToolAnswer>;
  /** Takes what answers the open question out of the inbox; true when something was taken. */
  look(reading: Reading): Promise<boolean>;
  /** The run ends: an open question gets no answer any more. Resolves when its card is closed. */
  close(): Promise<void>;
}

interface Open {
  readonly wait: Waiting;
  resolve(answer: ToolAnswer | 'given up'): void;
}

export function createQuestions({ desk, turn, agent, texts }: QuestionsOptions): Questions {
  let open: Open | undefined;
  let closed = false;
  let queue: Promise<unknown> = Promise.resolve();

  async function askOne(callId: string, question: ToolQuestion, stop: AbortSignal | undefined): Promise<ToolAnswer> {
    const { now, seen } = await desk.read();
    if (closed || stop?.aborted) return {};
    const wait = heldQuestion({ callId, question }, { turn, agent, texts, now, seen });
    const answered = new Promise<ToolAnswer | 'given up'>((resolve) => {
      open = { wait, resolve };
    });
    stop?.addEventListener('abort', giveUp, { once: true });
    try {
      await desk.commit((state) => withHeld(state, wait), {
        openChoices: choiceRows(wait),
        outbox: [cardEntry(wait, turn, texts)],
      });
      await desk.deliverOutbox(await desk.read());
      const answer = await answered;
      if (answer !== 'given up') return answer;
      await closeHeld(desk, wait, texts);
      if (!closed) await desk.deliverOutbox(await desk.read());
      return {};
    } finally {
      stop?.removeEventListener('abort', giveUp);
      if (open?.wait === wait) open = undefined;
    }
  }

  function giveUp(): void {
    const given = open;
    open = undefined;
    given?.resolve('given up');
  }

  async function settle({ wait, resolve }: Open, answer: CardAnswer, taken: Taken): Promise<boolean> {
    const answered = withAnswers(wait, new Map(wait.cards.map(({ choice }) => [choice, answer])));
    const result = await desk.commit((state) => withHeld(state, null, taken.texts), {
      ack: taken.seqs,
      closeChoices: wait.cards.map(({ choice }) => choice),
      ...(taken.won ? { knowsTaken: true } : {}),
      outbox: [cardEntry(answered, turn, texts)],
    });
    if (result === 'taken') return true;
    if (open?.wait === wait) open = undefined;
    resolve({ answer: answer.value });
    await desk.deliverOutbox(await desk.read());
    return true;
  }

  return {
    ask(callId, question, stop) {
      const turnOf = queue.then(() => askOne(callId, question, stop));
      queue = turnOf.catch(() => undefined);
      return turnOf;
    },
    async look(reading) {
      const asked = open;
      const card = asked && openCards(asked.wait)[0];
      if (!asked || !card) return false;
      const press = reading.items.find(
        (item): item is Extract<NumberedItem, { kind: 'choice' }> =>
          item.kind === 'choice' && item.choice === card.choice,
      );
      const pressed = press && pressedAnswer(card, press.option, press.person, texts);
      if (press && pressed) return settle(asked, pressed, { seqs: [press.seq], won: true, texts: [] });
      const given = answeringTexts(reading, asked.wait, turn.stoppers);
      const text = given.find(({ person }) => card.allowed.includes(person.id));
      if (!text) return false;
      const written = writtenAnswer(card, text.text, text.person, texts);
      return settle(asked, written, { seqs: text.seqs, won: false, texts: [takenText(text)] });
    },
    async close() {
      closed = true;
      giveUp();
      await queue;
    },
  };
}

/** What the answer was made of. */
interface Taken {
  readonly seqs: readonly number[];
  /** A press: the person was told that it counts. */
  readonly won: boolean;
  readonly texts: readonly TakenText[];
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

function withHeld(state: Desk['state'], held: Waiting | null, texts: readonly TakenText[] = []): Desk['state'] {
  return { ...state, turn: state.turn && withTaken({ ...state.turn, held }, texts) };
}
