import type { CallbackQuery, Message, Update, User } from 'grammy/types';
import { cleanText, isBlank } from '../../core/chat/clean-text.js';
import { readControl, readQueuePrefix } from '../../core/chat/control-words.js';
import {
  type ConversationKey,
  conversationKey,
  type InboxItem,
  type Person,
  type Place,
} from '../../core/chat/message.js';
import type { Access } from './access.js';
import { type BotIdentity, type MessageContent, readContent } from './message-content.js';

/** Telegram's own limit is 4,096; another Bot API server may let more through. */
export const MAX_TEXT = 100_000;
const MAX_NAME = 64;

export interface InboundContext {
  readonly bot: BotIdentity;
  readonly account: string;
  readonly access: Access;
}

/** What the records should be asked before an update can be read; absent: nothing. */
export interface Lookup {
  readonly chat: string;
  /** The message replied to. */
  readonly replied?: string | undefined;
  /** The message itself: edited, pressed, or a control word that may have been read before. */
  readonly self?: string | undefined;
  /** Asks for this person's latest conversation in the chat. */
  readonly person?: string | undefined;
}

/** What the records know; see {@link Lookup}. */
export interface Known {
  readonly replied?: ConversationKey | undefined;
  readonly self?: ConversationKey | undefined;
  readonly latest?: ConversationKey | undefined;
}

/** What an update means for the gateway. */
export type Inbound =
  | { readonly kind: 'item'; readonly key: ConversationKey; readonly item: InboxItem; readonly callbackId?: string }
  | { readonly kind: 'ignore'; readonly reason: string }
  /** Access says no. `tell`: the person is waiting for a word about it. */
  | {
      readonly kind: 'refuse';
      readonly list: 'users' | 'channels';
      readonly id: string;
      readonly person: Person;
      readonly place: Place;
      readonly tell: boolean;
      readonly locale: string | undefined;
      readonly callbackId?: string;
    }
  /** Addressed to the bot, but nothing it can take. */
  | {
      readonly kind: 'notice';
      readonly notice: 'empty' | 'tooLong';
      readonly person: Person;
      readonly place: Place;
      readonly locale: string | undefined;
    }
  /** A press on a button nothing is known about. */
  | { readonly kind: 'stale'; readonly callbackId: string; readonly locale: string | undefined }
  | { readonly kind: 'migrated'; readonly from: string; readonly to: string }
  | { readonly kind: 'membership'; readonly chat: string; readonly status: string };

const ignore = (reason: string): Inbound => ({ kind: 'ignore', reason });

/** Pure. Which records {@link readUpdate} needs for this update; only groups need any. */
export function lookupOf(update: Update, bot: BotIdentity): Lookup | undefined {
  const press = update.callback_query?.message;
  if (press) {
    // A press may arrive before the record of the message it is on; the message that one answers was recorded long ago.
    const answers = 'reply_to_message' in press ? repliedMessage(press) : undefined;
    return {
      chat: String(press.chat.id),
      self: String(press.message_id),
      replied: answers && String(answers.message_id),
    };
  }
  const message = update.message ?? update.edited_message;
  if (!message || message.chat.type === 'private') return undefined;
  const replied = repliedMessage(message);
  const isControl = update.message !== undefined && controlOf(readContent(message, bot).text) !== undefined;
  return {
    chat: String(message.chat.id),
    replied: replied && String(replied.message_id),
    self: update.edited_message || isControl ? String(message.message_id) : undefined,
    person: isControl && message.from ? String(message.from.id) : undefined,
  };
}

/** Pure. Reads an update; `known` answers {@link lookupOf}. */
export function readUpdate(update: Update, context: InboundContext, known: Known): Inbound {
  if (update.message) return readMessage(update.message, context, known);
  if (update.edited_message) return readEdit(update, update.edited_message, context, known);
  if (update.callback_query) return readPress(update.callback_query, context, known);
  if (update.my_chat_member) {
    const { chat, new_chat_member } = update.my_chat_member;
    return { kind: 'membership', chat: String(chat.id), status: new_chat_member.status };
  }
  return ignore('not a kind of update the gateway reads');
}

function readMessage(message: Message, context: InboundContext, known: Known): Inbound {
  if (message.migrate_to_chat_id !== undefined) {
    return { kind: 'migrated', from: String(message.chat.id), to: String(message.migrate_to_chat_id) };
  }
  const read = addressed(message, context, known);
  if ('kind' in read) return read;
  const { content, person, place, locale } = read;
  const base = {
    v: 1,
    // Not the update_id: the same message is the same item however and however often it arrives. With the chat,
    // because a conversation that moved to a supergroup sees message ids begin again.
    dedupe: `message:${message.chat.id}:${message.message_id}`,
    person,
    place,
    messageId: String(message.message_id),
    locale,
  } as const;
  const key = keyOf(message, context, known);
  const control = controlOf(content.text);
  if (control) return { kind: 'item', key, item: { ...base, kind: 'control', ...control } };
  const { queue, text } = readQueuePrefix(content.text);
  if (text.length > MAX_TEXT) return { kind: 'notice', notice: 'tooLong', person, place, locale };
  if (isBlank(text) && content.attachments.length === 0)
    return { kind: 'notice', notice: 'empty', person, place, locale };
  const attachments = content.attachments.length > 0 ? { attachments: content.attachments } : {};
  return { kind: 'item', key, item: { ...base, kind: 'message', text, ...(queue && { queue }), ...attachments } };
}

/** An edit corrects a message the bot took in; one that first mentions the bot now is a new message. */
function readEdit(update: Update, message: Message, context: InboundContext, known: Known): Inbound {
  const isKnown = message.chat.type === 'private' || known.self !== undefined;
  const content = readContent(message, context.bot);
  if (!isKnown)
    return content.mentioned
      ? readMessage(message, context, known)
      : ignore('edit of a message that was not for the bot');
  const from = message.from;
  if (!from || from.is_bot) return ignore('written by a bot');
  if (context.access(from.id, message.chat.id) !== 'ok') return ignore('not allowed');
  const { text } = readQueuePrefix(content.text);
  if (isBlank(text) || text.length > MAX_TEXT) return ignore('an edit to nothing, or to too much');
  return {
    kind: 'item',
    key: known.self ?? keyOf(message, context, known),
    item: {
      v: 1,
      kind: 'edit',
      // Several edits of one message are several items, also within the second `edit_date` counts in.
      dedupe: `edit:${message.chat.id}:${message.message_id}:${update.update_id}`,
      person: personOf(from),
      place: placeOf(message, context),
      messageId: String(message.message_id),
      locale: localeOf(from),
      text,
    },
  };
}

interface Addressed {
  readonly content: MessageContent;
  readonly person: Person;
  readonly place: Place;
  readonly locale: string | undefined;
}

/** Whether a person who may speaks to the bot; if not, what becomes of the message. */
function addressed(message: Message, context: InboundContext, known: Known): Addressed | Inbound {
  const { from, chat } = message;
  if (!from || from.is_bot) return ignore('written by a bot');
  if (message.sender_chat) return ignore('written in the name of a chat');
  const content = readContent(message, context.bot);
  if (!content.isPersonal) return ignore('service message');
  if (content.forOtherBot) return ignore('command for another bot');
  if (chat.type === 'channel') return ignore('channel post');
  const isPrivate = chat.type === 'private';
  const repliesToBot = repliedMessage(message)?.from?.id === context.bot.id;
  if (!isPrivate && !content.mentioned && !repliesToBot && !known.replied) return ignore('not addressed to the bot');
  const person = personOf(from);
  const place = placeOf(message, context);
  const locale = localeOf(from);
  const list = context.access(from.id, chat.id);
  if (list === 'ok') return { content, person, place, locale };
  const id = String(list === 'users' ? from.id : chat.id);
  return { kind: 'refuse', list, id, person, place, locale, tell: isPrivate || content.mentioned };
}

function readPress(press: CallbackQuery, context: InboundContext, known: Known): Inbound {
  const { message, data, from, id: callbackId } = press;
  const locale = localeOf(from);
  const stale: Inbound = { kind: 'stale', callbackId, locale };
  // Clients may send any data, not only that of a button that exists.
  if (!message || data === undefined || data !== cleanText(data)) return stale;
  const key = known.self ?? pressKey(message, context) ?? known.replied;
  const place = placeOf(message, context);
  const person = personOf(from);
  const list = context.access(from.id, message.chat.id);
  if (list !== 'ok') {
    const id = String(list === 'users' ? from.id : message.chat.id);
    return { kind: 'refuse', list, id, person, place, locale, tell: true, callbackId };
  }
  if (key === undefined) return stale;
  const dedupe = `press:${callbackId}`;
  const base = { v: 1, dedupe, person, place, messageId: String(message.message_id), locale } as const;
  if (data.startsWith('stop.')) {
    return { kind: 'item', key, callbackId, item: { ...base, kind: 'control', control: 'stop', runId: data.slice(5) } };
  }
  const dot = data.lastIndexOf('.');
  if (dot <= 0) return stale;
  const choice = { choice: data.slice(0, dot), option: data.slice(dot + 1) };
  return { kind: 'item', key, callbackId, item: { ...base, kind: 'choice', ...choice } };
}

/** `/start` is what Telegram's button for a new chat sends, sometimes with a parameter. */
function controlOf(text: string): ReturnType<typeof readControl> {
  return /^\/start(\s|$)/.test(text) ? { control: 'help' } : readControl(text);
}

/** In a topic every message "replies" to the service message that made the topic. */
function repliedMessage(message: Message): Message | undefined {
  const replied = message.reply_to_message;
  return replied?.forum_topic_created || replied?.message_id === topicOf(message) ? undefined : replied;
}

/** `message_thread_id` alone also marks reply chains of plain groups, which are no topics. */
function topicOf(message: Pick<Message, 'is_topic_message' | 'message_thread_id'>): number | undefined {
  return message.is_topic_message ? message.message_thread_id : undefined;
}

/** Design 2: a private chat or a topic is one conversation; in plain groups each reply chain is. */
function keyOf(message: Message, context: InboundContext, known: Known): ConversationKey {
  const keyFor = (root: number | string): ConversationKey =>
    conversationKey('telegram', context.account, String(message.chat.id), String(root));
  const topic = topicOf(message);
  if (message.chat.type === 'private' || topic !== undefined) return keyFor(topic ?? '');
  const replied = repliedMessage(message);
  // Without a record the bot's own message is the oldest known one of the chain; a person's was never part of one.
  const root = replied?.from?.id === context.bot.id ? replied.message_id : message.message_id;
  return known.replied ?? known.self ?? known.latest ?? keyFor(root);
}

function pressKey(
  message: NonNullable<CallbackQuery['message']>,
  context: InboundContext,
): ConversationKey | undefined {
  const topic = 'is_topic_message' in message ? topicOf(message) : undefined;
  if (message.chat.type !== 'private' && topic === undefined) return undefined;
  return conversationKey('telegram', context.account, String(message.chat.id), String(topic ?? ''));
}

function placeOf(message: NonNullable<CallbackQuery['message']>, context: InboundContext): Place {
  const topic = 'is_topic_message' in message ? topicOf(message) : undefined;
  const isPrivate = message.chat.type === 'private';
  return {
    platform: 'telegram',
    account: context.account,
    space: String(message.chat.id),
    ...(topic !== undefined && { thread: String(topic) }),
    ...(isPrivate ? { direct: true } : { replyTo: String(message.message_id) }),
  };
}

function localeOf(user: User): string | undefined {
  return user.language_code && /^[A-Za-z0-9-]{1,35}$/.test(user.language_code) ? user.language_code : undefined;
}

function personOf(user: User): Person {
  const full = [user.first_name, user.last_name].filter(Boolean).join(' ');
  const name = cleanText(full.replace(/\s+/g, ' ').slice(0, MAX_NAME)).trim();
  return { id: `telegram:${user.id}`, name: name || user.username || String(user.id) };
}
