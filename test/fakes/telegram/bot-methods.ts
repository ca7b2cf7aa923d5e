import type { Message } from 'grammy/types';
import { badRequest } from './bot-api-error.js';
import { formattedText } from './formatted-text.js';
import { inlineKeyboard } from './inline-keyboard.js';
import {
  addMessage,
  chatJson,
  current,
  messageJson,
  openTopic,
  type StoredChat,
  type StoredMessage,
  type World,
  writableChat,
} from './world.js';

export type Payload = Readonly<Record<string, unknown>>;
export type BotMethod = (payload: Payload) => unknown;

export interface BotMethodOptions {
  readonly world: World;
  /** Throws 429 when the chat gets too many calls; called for sends and edits. */
  readonly limit: (chat: StoredChat) => void;
  /** Buttons older than this can no longer be answered, ms. */
  readonly callbackMaxAgeMs: number;
}

const CHAT_ACTIONS = new Set(['typing', 'upload_photo', 'upload_document', 'upload_voice', 'choose_sticker']);
/** A part of Telegram's list is enough: what is not on it is refused, as the real server does. */
const REACTIONS = new Set('👍 👎 ❤ 🔥 👏 😁 🤔 🎉 🙏 👌 💯 ⚡ 👀 🤝 ✍ 🫡 😢 🤯'.split(' '));
const REPLY_FIELDS = new Set(['message_id', 'allow_sending_without_reply', 'quote']);

/** The methods that change chats; getUpdates and the webhook methods live with the server. */
export function createBotMethods(options: BotMethodOptions): Record<string, BotMethod> {
  const { world, limit } = options;

  function ownMessage(chat: StoredChat, rawId: unknown, verb: 'edit' | 'delete'): StoredMessage {
    const message = chat.messages.get(Number(rawId));
    if (!message || message.deletedAt !== undefined) throw badRequest(`message to ${verb} not found`);
    const foreign = message.from.id !== world.bot.id;
    if (foreign && (verb === 'edit' || chat.type !== 'private'))
      throw badRequest(`message can't be ${verb === 'edit' ? 'edited' : 'deleted'}`);
    return message;
  }

  function sendMessage(payload: Payload): Message {
    refuseParseMode(payload);
    const chat = writableChat(world, payload.chat_id);
    const topicId = openTopic(chat, payload.message_thread_id);
    const content = formattedText(payload.text, payload.entities);
    const keyboard = inlineKeyboard(payload.reply_markup);
    const replyToId = repliedId(chat, payload.reply_parameters);
    limit(chat);
    const silent = payload.disable_notification === true;
    return messageJson(chat, addMessage(chat, { from: world.bot, content, topicId, replyToId, keyboard, silent }));
  }

  function editMessageText(payload: Payload): Message {
    refuseParseMode(payload);
    const chat = writableChat(world, payload.chat_id);
    const message = ownMessage(chat, payload.message_id, 'edit');
    const content = formattedText(payload.text, payload.entities);
    const keyboard = inlineKeyboard(payload.reply_markup);
    const before = current(message);
    const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
    if (before.text === content.text && same(before.entities, content.entities) && same(before.keyboard, keyboard)) {
      throw badRequest(
        'message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
      );
    }
    limit(chat);
    message.versions.push({ at: Date.now(), ...content, keyboard });
    return messageJson(chat, message);
  }

  function answerCallbackQuery(payload: Payload): true {
    const callback = world.callbacks.get(String(payload.callback_query_id));
    if (!callback || Date.now() - callback.at > options.callbackMaxAgeMs) {
      throw badRequest('query is too old and response timeout expired or query ID is invalid');
    }
    const text = payload.text === undefined ? undefined : String(payload.text);
    if (text !== undefined && text.length > 200) throw badRequest('MESSAGE_TOO_LONG');
    callback.answer ??= { at: Date.now(), text, alert: payload.show_alert === true };
    return true;
  }

  return {
    getMe: () => world.bot,
    sendMessage,
    editMessageText,
    answerCallbackQuery,
    deleteMessage(payload) {
      const chat = writableChat(world, payload.chat_id);
      ownMessage(chat, payload.message_id, 'delete').deletedAt = Date.now();
      return true;
    },
    sendChatAction(payload) {
      openTopic(writableChat(world, payload.chat_id), payload.message_thread_id);
      if (!CHAT_ACTIONS.has(String(payload.action))) throw badRequest('wrong parameter action in request');
      return true;
    },
    setMessageReaction(payload) {
      const chat = writableChat(world, payload.chat_id);
      const message = chat.messages.get(Number(payload.message_id));
      if (!message || message.deletedAt !== undefined) throw badRequest('message to react not found');
      const list = (payload.reaction ?? []) as { type: string; emoji?: string }[];
      if (list.length > 1) throw badRequest('REACTIONS_TOO_MANY');
      const [reaction] = list;
      if (reaction && !(reaction.type === 'emoji' && REACTIONS.has(reaction.emoji ?? ''))) {
        throw badRequest('REACTION_INVALID');
      }
      message.reaction = reaction?.emoji;
      return true;
    },
    getChat: (payload) => chatJson(writableChat(world, payload.chat_id)),
    setMyCommands(payload) {
      const commands = (payload.commands ?? []) as { command: string; description: string }[];
      if (commands.length > 100) throw badRequest('too many bot commands');
      for (const { command, description } of commands) {
        if (!/^[a-z0-9_]{1,32}$/.test(command)) throw badRequest('BOT_COMMAND_INVALID');
        if (description.length < 1 || description.length > 256) throw badRequest('BOT_COMMAND_DESCRIPTION_INVALID');
      }
      world.commands.set(String(payload.language_code ?? ''), commands);
      return true;
    },
    getMyCommands: (payload) => world.commands.get(String(payload.language_code ?? '')) ?? [],
  };
}

/** Formatting goes by entities; a parse mode in a call is a mistake of ours that the real server would hide. */
function refuseParseMode(payload: Payload): void {
  if (payload.parse_mode !== undefined) throw badRequest("can't parse entities: parse_mode is not supported here");
}

function repliedId(chat: StoredChat, raw: unknown): number | undefined {
  if (raw === undefined) return undefined;
  const reply = raw as Record<string, unknown>;
  const unknown = Object.keys(reply).find((key) => !REPLY_FIELDS.has(key));
  if (unknown) throw badRequest(`unexpected field ${unknown} in reply parameters`);
  const message = chat.messages.get(Number(reply.message_id));
  if (message && message.deletedAt === undefined) return message.id;
  if (reply.allow_sending_without_reply === true) return undefined;
  throw badRequest('message to be replied not found');
}
