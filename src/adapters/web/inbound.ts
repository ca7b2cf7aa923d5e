import { createHash } from 'node:crypto';
import { cleanText, isBlank } from '../../core/chat/clean-text.js';
import { readControl, readQueuePrefix } from '../../core/chat/control-words.js';
import type { Attachment, ChoiceItem, ControlItem, MessageItem, Person, Place } from '../../core/chat/message.js';
import { conversationKey } from '../../core/chat/message.js';
import { Refusal } from './refusal.js';

export const PLATFORM = 'web';

/** The account in the keys of web conversations; there is one console. */
export const WEB_ACCOUNT = 'default';

/** Longest text of one message, in UTF-16 code units after cleaning. */
export const MAX_TEXT = 100_000;

/** Everything about a call that is the same for each kind of item. */
export interface Caller {
  /** Conversation id of the URL. */
  readonly conversation: string;
  readonly person: Person;
  readonly locale?: string | undefined;
}

/** Conversations are named by the caller; ids made by the console are random, so knowing one is the right to open it. */
export function checkConversationId(id: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(id)) return id;
  throw new Refusal(400, {
    code: 'invalid_conversation_id',
    message: 'This is not a conversation id.',
    hint: 'Use 1 to 64 letters, digits, "_" and "-".',
  });
}

/** Key of a web conversation; also its name on the board and its relay topic. */
export function webConversation(conversation: string): string {
  return conversationKey(PLATFORM, WEB_ACCOUNT, '', conversation);
}

function placeOf(caller: Caller): Place {
  return { platform: PLATFORM, account: WEB_ACCOUNT, space: caller.conversation, direct: true };
}

/**
 * A person's text as it is stored: clean, without surrounding blank lines. Throws a Refusal when nothing visible or too
 * much is left.
 */
export function checkText(raw: string): string {
  const text = cleanText(raw)
    .replace(/^\s*\n/, '')
    .trimEnd();
  if (isBlank(text)) throw emptyMessage();
  if (text.length > MAX_TEXT) {
    throw new Refusal(413, {
      code: 'message_too_long',
      message: `The message has ${text.length} characters; the limit is ${MAX_TEXT}.`,
      hint: 'Shorten it or send it in several messages.',
    });
  }
  return text;
}

function emptyMessage(): Refusal {
  return new Refusal(400, {
    code: 'empty_message',
    message: 'The message is empty.',
    hint: 'Send a text with at least one visible character.',
  });
}

/** A person's name on one line, at most 100 characters. */
export function cleanName(raw: string): string {
  return cleanText(raw).replace(/\s+/g, ' ').trim().slice(0, 100) || 'Guest';
}

/**
 * Board id of a person's message. The same `clientMessageId` of the same person gives the same id, so a repeated call
 * is the same message; nobody can take another person's id.
 */
export function userMessageId(caller: Caller, clientMessageId: string): string {
  return `u${digest(`${caller.conversation}\n${caller.person.id}\n${clientMessageId}`)}`;
}

/** Short, URL-safe, collision-free name for any text. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 24);
}

/**
 * A typed message as an inbox item: a control when the text is a control word, otherwise a message. Throws a Refusal
 * when nothing stands behind `queue:`.
 */
export function textItem(
  caller: Caller,
  message: { id: string; text: string; attachments?: readonly Attachment[] | undefined },
): MessageItem | ControlItem {
  const base = itemBase(caller, message.id);
  const control = readControl(message.text);
  if (control) return { ...base, kind: 'control', ...control };
  const { text, queue } = readQueuePrefix(message.text);
  if (isBlank(text)) throw emptyMessage();
  return {
    ...base,
    kind: 'message',
    text,
    ...(queue ? { queue } : {}),
    ...(message.attachments?.length ? { attachments: message.attachments } : {}),
  };
}

/** A pressed button, named `choice.option`, on a message. Presses are single use, so each one is an event of its own. */
export function choiceItem(caller: Caller, press: { choiceId: string; messageId: string; event: string }): ChoiceItem {
  const dot = press.choiceId.lastIndexOf('.');
  if (dot <= 0 || dot === press.choiceId.length - 1) {
    throw new Refusal(400, {
      code: 'invalid_choice_id',
      message: 'This is not the id of a button.',
      hint: 'Send the id of a button exactly as the message shows it.',
    });
  }
  return {
    ...itemBase(caller, press.event),
    messageId: press.messageId,
    kind: 'choice',
    choice: press.choiceId.slice(0, dot),
    option: press.choiceId.slice(dot + 1),
  };
}

/** A press of the stop button; with a run id it counts only while that run is the stored one. */
export function stopItem(caller: Caller, press: { runId?: string | undefined; event: string }): ControlItem {
  return {
    ...itemBase(caller, press.event),
    kind: 'control',
    control: 'stop',
    ...(press.runId && { runId: press.runId }),
  };
}

function itemBase(caller: Caller, event: string) {
  return {
    v: 1 as const,
    dedupe: `web:${caller.conversation}:${event}`,
    person: caller.person,
    place: placeOf(caller),
    messageId: event,
    ...(caller.locale ? { locale: caller.locale } : {}),
  };
}
