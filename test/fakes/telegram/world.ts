import type { CallbackQuery, Chat, InlineKeyboardMarkup, Message, MessageEntity, User } from 'grammy/types';
import { BotApiError, badRequest, forbidden } from './bot-api-error.js';
import type { FormattedText } from './formatted-text.js';

/** One state a message has been in; the first is how it was sent. */
export interface Version {
  /** `Date.now()` when the server stored it. */
  readonly at: number;
  readonly text: string;
  readonly entities: readonly MessageEntity[];
  readonly keyboard: InlineKeyboardMarkup | undefined;
}

export interface StoredMessage {
  readonly id: number;
  readonly chatId: number;
  readonly from: User;
  readonly topicId: number | undefined;
  readonly replyToId: number | undefined;
  readonly silent: boolean;
  /** Media and service fields, merged into the JSON form. */
  readonly extra: Partial<Message>;
  readonly versions: Version[];
  /** Emoji the bot reacted with. */
  reaction: string | undefined;
  deletedAt: number | undefined;
}

export interface StoredChat {
  readonly id: number;
  readonly type: 'private' | 'group' | 'supergroup';
  readonly title: string;
  /** The person of a private chat. */
  readonly user: User | undefined;
  readonly forum: boolean;
  readonly topics: Map<number, { readonly name: string; closed: boolean }>;
  readonly messages: Map<number, StoredMessage>;
  access: 'open' | 'blocked' | 'kicked';
  migratedTo: number | undefined;
  lastMessageId: number;
}

export interface StoredCallback {
  readonly query: CallbackQuery;
  readonly at: number;
  answer: { readonly at: number; readonly text: string | undefined; readonly alert: boolean } | undefined;
}

/** Everything the fake server knows; shared by the Bot API methods and by what people do in the chats. */
export interface World {
  readonly bot: User;
  readonly chats: Map<number, StoredChat>;
  readonly callbacks: Map<string, StoredCallback>;
  readonly commands: Map<string, readonly { readonly command: string; readonly description: string }[]>;
}

export interface NewMessage {
  readonly from: User;
  readonly content: FormattedText;
  readonly topicId?: number | undefined;
  readonly replyToId?: number | undefined;
  readonly keyboard?: InlineKeyboardMarkup | undefined;
  readonly silent?: boolean | undefined;
  readonly extra?: Partial<Message> | undefined;
}

export function addMessage(chat: StoredChat, message: NewMessage): StoredMessage {
  const id = ++chat.lastMessageId;
  const stored: StoredMessage = {
    id,
    chatId: chat.id,
    from: message.from,
    topicId: message.topicId,
    replyToId: message.replyToId,
    silent: message.silent ?? false,
    extra: message.extra ?? {},
    versions: [{ at: Date.now(), ...message.content, keyboard: message.keyboard }],
    reaction: undefined,
    deletedAt: undefined,
  };
  chat.messages.set(id, stored);
  return stored;
}

/** The version people see now. */
export function current(message: StoredMessage): Version {
  const version = message.versions.at(-1);
  if (!version) throw new Error(`message ${message.id} has no version`);
  return version;
}

export function chatJson(chat: StoredChat): Chat {
  if (chat.type === 'private') {
    const { first_name = chat.title, last_name, username } = chat.user ?? {};
    return { id: chat.id, type: 'private', first_name, ...(last_name && { last_name }), ...(username && { username }) };
  }
  if (chat.type === 'group') return { id: chat.id, type: 'group', title: chat.title };
  return { id: chat.id, type: 'supergroup', title: chat.title, ...(chat.forum && { is_forum: true as const }) };
}

/** A message as the Bot API shows it, with the message it replies to one level deep. */
export function messageJson(chat: StoredChat, message: StoredMessage, nested = false): Message {
  const { text, entities, keyboard } = current(message);
  const replied = message.replyToId === undefined ? undefined : chat.messages.get(message.replyToId);
  const edited = message.versions.length > 1 ? { edit_date: seconds(current(message).at) } : {};
  const json = {
    message_id: message.id,
    date: seconds(message.versions[0]?.at ?? 0),
    chat: chatJson(chat),
    from: message.from,
    ...edited,
    ...(message.topicId !== undefined && { message_thread_id: message.topicId, is_topic_message: true as const }),
    ...(text !== '' && { text }),
    ...(entities.length > 0 && { entities: [...entities] }),
    ...(keyboard && { reply_markup: keyboard }),
    ...(replied &&
      !nested &&
      replied.deletedAt === undefined && { reply_to_message: messageJson(chat, replied, true) }),
    ...message.extra,
  };
  return json as Message;
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** The chat a bot call is about; throws what Telegram answers when the bot cannot write there. */
export function writableChat(world: World, rawId: unknown): StoredChat {
  const chat = world.chats.get(Number(rawId));
  if (!chat) throw badRequest('chat not found');
  if (chat.migratedTo !== undefined) {
    throw new BotApiError(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
      migrate_to_chat_id: chat.migratedTo,
    });
  }
  if (chat.access === 'blocked') throw forbidden('bot was blocked by the user');
  if (chat.access === 'kicked') throw forbidden(`bot was kicked from the ${chat.type} chat`);
  return chat;
}

/** The topic a message is sent to; undefined without one. */
export function openTopic(chat: StoredChat, rawId: unknown): number | undefined {
  if (rawId === undefined) return undefined;
  const topic = chat.topics.get(Number(rawId));
  if (!topic) throw badRequest('message thread not found');
  if (topic.closed) throw badRequest('TOPIC_CLOSED');
  return Number(rawId);
}
