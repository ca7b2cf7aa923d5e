import { randomBytes } from 'node:crypto';
import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { SuspendedCall } from '../core/agent/tool-calls.js';
import type { TurnState } from '../core/agent/turn-state.js';
import type { Button } from '../core/chat/adapter.js';
import type { Person } from '../core/chat/message.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import { parseAsk } from '../core/plan/ask-agent.js';
import { describeCall } from '../core/policy/describe-call.js';
import type { ChoiceRow } from '../core/ports/store.js';
import type { TextTable } from '../core/ports/texts.js';
import type { ToolQuestion } from '../core/tools/tool.js';
import { cutText } from '../core/tools/untrusted-text.js';
import type { Turn } from './conversation-state.js';
import { type Card, type CardAnswer, openCards, type Waiting } from './waiting.js';

/** Above this a label no longer fits a button; the card then lists the options and the button has the number. */
const LABEL_CHARACTERS = 36;
const ARGUMENT_CHARACTERS = 600;

/** Longest denial reason or answer a card repeats. */
const SHOWN_ANSWER_CHARACTERS = 200;
const NAME_CHARACTERS = 60;

export interface CardContext {
  readonly turn: Turn;
  readonly agent: AgentSpec;
  readonly texts: TextTable;
  /** The store's clock, ms. */
  readonly now: number;
  /** Number of the last inbox item. */
  readonly seen: number;
}

/** The cards for the calls that wait, all together in one message below the answer so far. */
export function waitFor(
  calls: readonly SuspendedCall[],
  { state, above }: { state: TurnState; above: string },
  context: CardContext,
): Waiting {
  const { turn, now, seen } = context;
  const cards = calls.map(({ call, kind }): Card => {
    const shared = { kind, callId: call.id, tool: call.name, choice: newChoiceId(), answer: null };
    if (kind === 'ask') return { ...shared, ...askCard(call.arguments, context) };
    if (kind === 'approval') return { ...shared, ...approvalCard(call, state.ruled.includes(call.id), context) };
    return { ...shared, ...questionCard(state.interactive[call.id], context) };
  });
  return { slot: `q${turn.answer}`, since: now, after: seen, above, cards };
}

/** The card of a question whose call stays open; it has a message of its own. */
export function heldQuestion(
  { callId, question }: { callId: string; question: ToolQuestion },
  context: CardContext,
): Waiting {
  const choice = newChoiceId();
  const asked = { text: question.text, options: [...(question.options ?? [])], resumeData: undefined };
  const card: Card = {
    ...{ kind: 'interactive', callId, tool: '', choice, answer: null },
    ...questionCard(asked, context),
  };
  return { slot: `h${choice}`, since: context.now, after: context.seen, above: '', cards: [card] };
}

/** Short enough for every platform's button data, and not to be guessed. */
export function newChoiceId(): string {
  return randomBytes(9).toString('base64url');
}

/** The store's rows of cards that were just opened. */
export function choiceRows(wait: Waiting): ChoiceRow[] {
  return openCards(wait).map(({ choice, allowed, expiresAt }) => ({ id: choice, allowed, till: expiresAt }));
}

/** The message that shows the cards: open ones with buttons, decided ones with what was decided. */
export function cardEntry(wait: Waiting, turn: Turn, texts: TextTable): OutboxEntryBody {
  const open = openCards(wait);
  const numbered = wait.cards.length > 1;
  const blocks = wait.cards.map((card, index) => {
    const head = numbered ? `**${index + 1}.** ` : '';
    return [`${head}${card.markdown}`, card.answer && `_${card.answer.line}_`].filter(Boolean).join('\n\n');
  });
  const hint = open.some(({ kind }) => kind !== 'approval') ? texts.orWrite : '';
  return {
    v: 1,
    kind: 'note',
    slot: wait.slot,
    place: { ...turn.place },
    state: 'final',
    markdown: blocks.join('\n\n'),
    buttons: open.flatMap((card) => buttonsOf(card, numbered ? wait.cards.indexOf(card) + 1 : undefined)),
    ...(hint ? { footer: hint } : {}),
  };
}

/** What a press means, or undefined when the card has no such option. */
export function pressedAnswer(card: Card, optionId: string, person: Person, texts: TextTable): CardAnswer | undefined {
  const option = card.options.find(({ id }) => id === optionId);
  if (!option) return undefined;
  if (card.kind === 'approval') return approvalAnswer(option.value, person, texts);
  return { value: option.value, line: texts.answeredBy(nameOf(person), quoted(option.label)), by: person.id };
}

/** What a text means: an answer, or for an approval a denial with the text as its reason; it never approves. */
export function writtenAnswer(card: Card, text: string, person: Person, texts: TextTable): CardAnswer {
  const by = person.id;
  if (card.kind === 'approval') {
    return { value: 'deny', reason: text, line: texts.deniedBy(nameOf(person), quoted(text)), by };
  }
  const named = optionNamed(card, text);
  const line = texts.answeredBy(nameOf(person), quoted(named?.label ?? text));
  return { value: named?.value ?? text, line, by };
}

/** Nothing came in time: an approval is denied, a question stays without an answer. */
export function expiredAnswer(card: Card, texts: TextTable): CardAnswer {
  if (card.kind !== 'approval') return { value: '', reason: 'expired', line: texts.askExpired, by: '' };
  return { value: 'deny', reason: 'nobody approved it in time', line: texts.approvalExpired, by: '' };
}

function askCard(argumentsJson: string, { turn, agent, texts, now }: CardContext) {
  const parsed = parseAsk(argumentsJson);
  const { question, reason, options } = parsed.ok ? parsed.ask : { question: '', reason: '', options: [] };
  const lines = [`**${question}**`, reason, listed(options)].filter(Boolean);
  return {
    markdown: `${texts.question} ${lines.join('\n\n')}`,
    options: options.map((label, index) => ({ id: String(index + 1), label, value: label })),
    allowed: allowed(turn, agent),
    expiresAt: now + agent.askExpiresMs,
  };
}

function approvalCard(call: SuspendedCall['call'], ruled: boolean, { turn, agent, texts, now }: CardContext) {
  const given = describeCall(call, { maxLength: ARGUMENT_CHARACTERS });
  return {
    markdown: [texts.approvalFor(call.name), given && `\`\`\`\n${given}\n\`\`\``].filter(Boolean).join('\n\n'),
    options: [
      { id: 'once', value: 'once', label: texts.allowOnce, style: 'primary' as const },
      ...(ruled ? [] : [{ id: 'always', value: 'always', label: texts.allowAlways }]),
      { id: 'deny', value: 'deny', label: texts.deny, style: 'danger' as const },
    ],
    allowed: allowed(turn, agent),
    expiresAt: now + agent.approvalExpiresMs,
  };
}

function questionCard(asked: TurnState['interactive'][string] | undefined, { turn, agent, texts, now }: CardContext) {
  const { text = '', options = [] } = asked ?? {};
  return {
    markdown: [`${texts.question} ${text}`, listed(options.map(({ label }) => label))].filter(Boolean).join('\n\n'),
    options: options.map(({ id, label }, index) => ({ id: String(index + 1), label, value: id })),
    allowed: allowed(turn, agent),
    expiresAt: now + agent.askExpiresMs,
  };
}

/** The person who asked, and the configured approvers. */
function allowed(turn: Turn, agent: AgentSpec): string[] {
  return [...new Set([turn.starter.id, ...agent.approvers])];
}

function approvalAnswer(value: string, person: Person, texts: TextTable): CardAnswer {
  const by = person.id;
  const name = nameOf(person);
  if (value === 'deny') return { value, reason: 'the person said no', line: texts.deniedBy(name, ''), by };
  return { value, line: (value === 'always' ? texts.allowedAlwaysBy : texts.allowedOnceBy)(name), by };
}

/** An option named by its label or its number. */
function optionNamed({ kind, options }: Card, text: string): Card['options'][number] | undefined {
  const wanted = text.trim().toLowerCase();
  const labels = options.map(({ label }) => label.toLowerCase());
  const named = options[labels.indexOf(wanted)];
  // A number names an option where people see numbers, or where it can mean nothing else: an answer may be one.
  const numbered = listed(labels) !== '' || (kind === 'ask' && !labels.some((label) => /\p{N}/u.test(label)));
  return named ?? (numbered ? options.find(({ id }) => id === wanted) : undefined);
}

function listed(labels: readonly string[]): string {
  if (labels.every((label) => label.length <= LABEL_CHARACTERS)) return '';
  return labels.map((label, index) => `${index + 1}. ${label}`).join('\n');
}

function buttonsOf(card: Card, number: number | undefined): Button[] {
  const prefix = number === undefined ? '' : `${number}: `;
  const long = card.options.some(({ label }) => label.length > LABEL_CHARACTERS);
  return card.options.map(({ id, label, style }, index) => ({
    id: `${card.choice}.${id}`,
    label: `${prefix}${long ? `${index + 1}. ${startOf(label, LABEL_CHARACTERS)}` : label}`,
    ...(style && { style }),
  }));
}

function nameOf({ name }: Person): string {
  return plain(startOf(name, NAME_CHARACTERS));
}

function quoted(text: string): string {
  return plain(startOf(text, SHOWN_ANSWER_CHARACTERS));
}

/** What people are called or wrote is no markup of a card: it could forge another decision, or a link. */
function plain(text: string): string {
  return text.replace(/[\\`*_~[\]<>|]/g, '\\$&');
}

function startOf(text: string, characters: number): string {
  return cutText(text.replace(/\s+/g, ' ').trim(), characters);
}
