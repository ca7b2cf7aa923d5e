import { writeResult } from '../core/agent/transcript.js';
import type { NumberedItem } from '../core/chat/message.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import type { Reading } from '../core/ports/store.js';
import type { TextTable } from '../core/ports/texts.js';
import { cardEntry, expiredAnswer, newChoiceId, pressedAnswer, writtenAnswer } from './cards.js';
import { answerControl, type ControlMessage, type ControlOptions, cancelControl, isAside } from './controls.js';
import { type ConversationState, endTurn, runMark, type Turn, takenText, withTaken } from './conversation-state.js';
import type { Desk } from './desk.js';
import { FILE_ALONE } from './session.js';
import { answeringTexts, type Card, type CardAnswer, isNew, openCards, type Waiting, withAnswers } from './waiting.js';

export type SuspensionOptions = Omit<ControlOptions, 'reading'>;

/** A turn that waits, and how. */
type WaitingTurn = Turn & { readonly waiting: Waiting };

/**
 * One step of a turn that waits for a person (design 3, the two waiting columns): presses first, because they were
 * told they won; then control words, then texts of those who may answer, then expiry. Texts of others, and those that
 * asked to queue, stay in the inbox for the resumed run. False: nothing to do but wait.
 */
export async function stepSuspended(desk: Desk, reading: Reading, options: SuspensionOptions): Promise<boolean> {
  const turn = desk.state.turn;
  if (!turn?.waiting) return false;
  const waitingTurn: WaitingTurn = { ...turn, waiting: turn.waiting };
  return (
    (await takePresses(desk, waitingTurn, reading, options)) ||
    (await takeControl(desk, waitingTurn, reading, options)) ||
    (await takeText(desk, waitingTurn, reading, options)) ||
    (await takeExpiry(desk, waitingTurn, reading, options))
  );
}

async function takePresses(
  desk: Desk,
  turn: WaitingTurn,
  reading: Reading,
  options: SuspensionOptions,
): Promise<boolean> {
  const presses = reading.items.filter(
    (item): item is Extract<NumberedItem, { kind: 'choice' }> => item.kind === 'choice',
  );
  if (presses.length === 0) return false;
  const answers = new Map<string, CardAnswer>();
  for (const press of presses) {
    const card = openCards(turn.waiting).find(({ choice }) => choice === press.choice);
    const texts = options.texts.for(turn.locale);
    const answer = card && pressedAnswer(card, press.option, press.person, texts);
    if (answer && !answers.has(press.choice)) answers.set(press.choice, answer);
  }
  // A press of an option that does not exist used its choice up: the card is dealt anew.
  const spoilt = presses
    .map(({ choice }) => choice)
    .filter((choice) => !answers.has(choice) && openCards(turn.waiting).some((card) => card.choice === choice));
  await decide(desk, turn, reading, { answers, spoilt, ack: presses.map(({ seq }) => seq), knowsTaken: true, options });
  return true;
}

async function takeControl(
  desk: Desk,
  turn: WaitingTurn,
  reading: Reading,
  options: SuspensionOptions,
): Promise<boolean> {
  const { texts } = options;
  const aside = reading.items.find(isAside);
  if (aside) {
    await answerControl(desk, aside, { ...options, reading });
    return true;
  }
  const item = reading.items.find((one): one is ControlMessage => isNew(one, turn.stoppers));
  // An answer that came before it is one.
  if (!item || answerOf(turn, reading)) return false;
  // To begin anew is to give the question up.
  const entry = cardEntry(closedCards(turn.waiting, texts.for(item.locale)), turn, texts.for(turn.locale));
  const closing = openCards(turn.waiting).map(({ choice }) => choice);
  await cancelControl(desk, item, { texts, reading, turn: cancelledTurn(turn), card: entry, closing });
  return true;
}

async function takeText(desk: Desk, turn: WaitingTurn, reading: Reading, options: SuspensionOptions): Promise<boolean> {
  const found = answerOf(turn, reading);
  if (!found) return false;
  const { text, cards } = found;
  const texts = options.texts.for(turn.locale);
  const answers = new Map(cards.map((card) => [card.choice, writtenAnswer(card, text.text, text.person, texts)]));
  // Known from now on: an edit of it is a correction.
  const taking = withTaken(turn, [takenText(text)]);
  await decide(desk, { ...taking, waiting: turn.waiting }, reading, { answers, spoilt: [], ack: text.seqs, options });
  return true;
}

/** The first text that answers something, and what it answers. */
function answerOf(turn: WaitingTurn, reading: Reading) {
  const mayAnswer = (person: string, card: Card): boolean =>
    card.kind === 'approval' ? person === turn.starter.id : card.allowed.includes(person);
  for (const text of answeringTexts(reading, turn.waiting, turn.stoppers)) {
    const open = openCards(turn.waiting).filter((card) => mayAnswer(text.person.id, card));
    // A file alone says neither yes nor no.
    if (text.text === FILE_ALONE && open.every(({ kind }) => kind === 'approval')) continue;
    // A question goes before approvals: a text is its natural answer, while for them it can only be a no.
    const question = open.find(({ kind }) => kind !== 'approval');
    const cards = question ? [question] : open;
    if (cards.length > 0) return { text, cards };
  }
  return undefined;
}

async function takeExpiry(
  desk: Desk,
  turn: WaitingTurn,
  reading: Reading,
  options: SuspensionOptions,
): Promise<boolean> {
  const open = openCards(turn.waiting);
  const due = open.filter(({ expiresAt }) => expiresAt <= reading.now);
  if (due.length === 0) return false;
  const texts = options.texts.for(turn.locale);
  // A question without an answer ends the run: nothing else is left to decide.
  const ends = due.some(({ kind }) => kind !== 'approval');
  const given = (card: Card) => (due.includes(card) ? expiredAnswer(card, texts) : givenUp(texts));
  const answers = new Map((ends ? open : due).map((card) => [card.choice, given(card)]));
  await decide(desk, turn, reading, { answers, spoilt: [], ack: [], options });
  return true;
}

interface Decision {
  readonly answers: ReadonlyMap<string, CardAnswer>;
  readonly spoilt: readonly string[];
  readonly ack: readonly number[];
  readonly knowsTaken?: boolean;
  readonly options: SuspensionOptions;
}

/**
 * Writes decisions down: card, choices, and once nothing is open the resumed turn, in one commit. `taken` (somebody
 * was just told that his press won) leaves everything as it is; the reader looks again and finds that press.
 */
async function decide(desk: Desk, turn: WaitingTurn, reading: Reading, decision: Decision): Promise<void> {
  const { answers, spoilt, ack, knowsTaken, options } = decision;
  const texts = options.texts.for(turn.locale);
  const answered = withAnswers(turn.waiting, answers);
  const wait: Waiting = {
    ...answered,
    cards: answered.cards.map((card) => (spoilt.includes(card.choice) ? { ...card, choice: newChoiceId() } : card)),
  };
  const redealt = wait.cards.filter((card, i) => card.choice !== answered.cards[i]?.choice);
  // Only an approval can allow for good: what other cards offer is the model's or a server's own choice of words.
  const grants = answered.cards
    .filter(({ kind, choice, answer }) => kind === 'approval' && answers.has(choice) && answer?.value === 'always')
    .map(({ tool, answer }) => ({ tool, by: answer?.by ?? '' }));
  const over = openCards(wait).length === 0;
  const given = wait.cards.some(({ kind, answer }) => kind !== 'approval' && answer?.reason === 'expired');
  const next = over ? (given ? null : resumedTurn({ ...turn, waiting: wait })) : { ...turn, waiting: wait };
  const model = turn.model ?? options.choosable.defaultModel(turn.place);
  await desk.commit(
    (state) => {
      const granted: ConversationState = { ...state, grants: withGrants(state.grants, grants) };
      if (next) return { ...granted, answers: next.answer, turn: next };
      const ended = cancelledTurn({ ...turn, waiting: wait });
      return endTurn({ ...granted, turn: ended }, ended, ended.state?.loop);
    },
    {
      ack,
      closeChoices: [...answers.keys(), ...spoilt],
      openChoices: redealt.map(({ choice, allowed, expiresAt }) => ({ id: choice, allowed, till: expiresAt })),
      ...(knowsTaken ? { knowsTaken } : {}),
      outbox: [...(next && over ? withoutPlan(turn) : []), cardEntry(wait, turn, texts)],
      ...(over ? { run: runMark(turn, next ? 'running' : 'finished', model, reading.now) } : {}),
    },
  );
}

/** The turn goes on below the card: answers stand in the chain, decisions beside it. */
function resumedTurn(turn: WaitingTurn): Turn {
  const state = structuredClone(turn.state);
  if (state) {
    for (const { kind, callId, answer } of turn.waiting.cards) {
      const { value = '', reason = '' } = answer ?? {};
      if (kind === 'ask') writeResult(state.loop, callId, value === '' ? 'none' : value);
      else if (kind === 'interactive') state.answers.push({ callId, answer: value });
      else state.decisions[callId] = value === 'deny' ? { decision: 'deny', reason } : { decision: 'run', reason: '' };
    }
  }
  const answerFrom = state?.loop.produced.length ?? turn.answerFrom;
  return { ...turn, ...(state && { state }), waiting: null, answer: turn.answer + 1, answerFrom };
}

/** The checklist goes on in the message below: the one above keeps its text alone, or goes when it had none. */
function withoutPlan(turn: WaitingTurn): OutboxEntryBody[] {
  if (!turn.state?.plan?.plan) return [];
  const markdown = turn.waiting.above;
  return [{ v: 1, kind: 'answer', slot: `a${turn.answer}`, place: { ...turn.place }, state: 'final', markdown }];
}

/** Every call that still waits gets a result that says what became of it; the chain stays whole. */
export function cancelledTurn(turn: Turn): Turn {
  const state = structuredClone(turn.state);
  if (!state) return { ...turn, waiting: null };
  for (const card of turn.waiting?.cards ?? []) writeResult(state.loop, card.callId, cancelledResult(card));
  for (const { callId } of state.answers) writeResult(state.loop, callId, 'Stopped before this call went on.');
  return { ...turn, state, waiting: null };
}

function cancelledResult({ kind, answer }: Card): string {
  if (kind !== 'approval') return answer?.value || 'Cancelled: no answer was given.';
  if (answer?.value === 'deny') return `Denied: ${answer.reason ?? ''}`;
  return answer?.value ? 'Approved, but not run: cancelled before.' : 'Not run: cancelled before it was approved.';
}

/** The cards as they look when the question was given up. */
export function closedCards(wait: Waiting, texts: TextTable): Waiting {
  return withAnswers(wait, new Map(openCards(wait).map(({ choice }) => [choice, givenUp(texts)])));
}

function givenUp(texts: TextTable): CardAnswer {
  return { value: '', line: texts.cancelled, by: '' };
}

function withGrants(
  known: ConversationState['grants'],
  added: ConversationState['grants'],
): ConversationState['grants'] {
  return [...known, ...added.filter(({ tool }) => !known.some((grant) => grant.tool === tool))];
}
