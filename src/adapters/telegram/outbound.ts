import type { RawApi } from 'grammy';
import type { Adapter, CallBudget, PostOptions, Rendered } from '../../core/chat/adapter.js';
import { type ConversationKey, conversationKey, type Place } from '../../core/chat/message.js';
import { PlatformError, toError } from '../../core/errors.js';
import type { Logger } from '../../core/ports/logger.js';
import { type CallOptions, refusalOf, type TelegramApi } from './api.js';
import type { TelegramPayload } from './render.js';
import type { Threads } from './threads.js';

/**
 * Telegram's figures (its FAQ; the real ones are not published): about one call a second to a chat, 20 a minute to a
 * group, 30 a second in all; edits count. A minute never sees more than `burst + 60 s / everyMs` calls.
 */
const RATES = {
  private: { everyMs: 1_050, burst: 2 },
  group: { everyMs: 3_200, burst: 2 },
  overall: { everyMs: 36, burst: 3 },
} as const;

const EDIT_INTERVAL_MS = { private: 1_100, group: 3_100 } as const;
/** Telegram shows "typing" for 5 s. */
const STATUS_EVERY_MS = 4_000;
/** Bots may only use emoji of Telegram's list; a clock is not on it. */
const MARKS = { seen: '👀', queued: '✍' } as const;

type Outbound = Pick<
  Adapter<TelegramPayload>,
  'editIntervalMs' | 'budgets' | 'post' | 'edit' | 'remove' | 'statusEveryMs'
> &
  Required<Pick<Adapter<TelegramPayload>, 'status' | 'react'>>;

export interface OutboundOptions {
  readonly api: TelegramApi;
  readonly botId: string;
  readonly account: string;
  readonly threads: Threads;
  readonly logger: Logger;
}

/** Everything the bot writes. In plain groups, pass the place of the person's message for every part of an answer. */
export function createOutbound({ api, botId, account, threads, logger }: OutboundOptions): Outbound {
  type Call<T> = (raw: RawApi, chatId: number, signal: Parameters<RawApi['sendMessage']>[1]) => Promise<T>;

  /** Calls with the chat's present id; learns it when Telegram says that the group became a supergroup. */
  async function inChat<T>(place: Place, call: Call<T>, options: CallOptions = {}): Promise<T> {
    const attempt = (chat: string): Promise<T> => api.call((raw, signal) => call(raw, Number(chat), signal), options);
    // Without the record the call itself tells the new id.
    const chat = await threads.currentChat(place.space).catch(() => place.space);
    try {
      return await attempt(chat);
    } catch (error) {
      const next = refusalOf(error)?.migrateToChatId;
      if (next === undefined) throw error;
      await threads.rememberMigration(place.space, String(next)).catch(logLost('the new id of a chat'));
      return attempt(String(next));
    }
  }

  async function post(place: Place, rendered: Rendered<TelegramPayload>, options: PostOptions): Promise<string> {
    const reply = place.replyTo === undefined ? undefined : Number(place.replyTo);
    const sent = await inChat(
      place,
      (raw, chatId, signal) =>
        raw.sendMessage(
          {
            chat_id: chatId,
            ...rendered.payload,
            link_preview_options: { is_disabled: true },
            ...threadOf(place),
            ...(reply !== undefined && { reply_parameters: { message_id: reply, allow_sending_without_reply: true } }),
            ...(options.notify === false && { disable_notification: true }),
          },
          signal,
        ),
      { signal: options.signal, creates: true },
    );
    const messageId = String(sent.message_id);
    // The message stands whatever happens here; without its record a reply to it begins a new conversation.
    const kind = rendered.payload.reply_markup ? 'buttons' : 'plain';
    const remembered = rememberPost(place, { chat: String(sent.chat.id), messageId, kind });
    await remembered.catch(logLost('the conversation of a message'));
    return messageId;
  }

  async function rememberPost(
    place: Place,
    { chat, messageId, kind }: { chat: string; messageId: string; kind: 'plain' | 'buttons' },
  ): Promise<void> {
    const key = await conversationOf(place);
    if (key !== undefined) await threads.remember(chat, messageId, key, kind);
  }

  async function conversationOf(place: Place): Promise<ConversationKey | undefined> {
    const keyFor = (root: string): ConversationKey => conversationKey('telegram', account, place.space, root);
    if (place.thread !== undefined) return keyFor(place.thread);
    if (place.direct || place.replyTo === undefined) return undefined;
    return (await threads.conversationOf(place.space, place.replyTo)) ?? keyFor(place.replyTo);
  }

  async function edit(
    place: Place,
    messageId: string,
    rendered: Rendered<TelegramPayload>,
    signal?: AbortSignal,
  ): Promise<void> {
    const body = { message_id: Number(messageId), ...rendered.payload, link_preview_options: { is_disabled: true } };
    await inChat(place, (raw, chatId, s) => raw.editMessageText({ chat_id: chatId, ...body }, s), { signal }).catch(
      (error: unknown) => {
        if (!refusalOf(error)?.description.includes('message is not modified')) throw error;
      },
    );
  }

  async function remove(place: Place, messageId: string): Promise<void> {
    await inChat(place, (raw, chatId) => raw.deleteMessage({ chat_id: chatId, message_id: Number(messageId) })).catch(
      (error: unknown) => {
        if (!(error instanceof PlatformError && error.kind === 'gone')) throw error;
      },
    );
  }

  function logLost(what: string): (error: unknown) => void {
    return (error) => logger.warn({ err: toError(error) }, `telegram: ${what} could not be recorded`);
  }

  function budgets(place: Place): readonly CallBudget[] {
    const kind = place.direct ? 'private' : 'group';
    return [
      { bucket: `telegram:${botId}:chat:${place.space}`, ...RATES[kind] },
      { bucket: `telegram:${botId}:all`, ...RATES.overall },
    ];
  }

  return {
    post,
    edit,
    remove,
    budgets,
    statusEveryMs: STATUS_EVERY_MS,
    editIntervalMs: (place) => (place.direct ? EDIT_INTERVAL_MS.private : EDIT_INTERVAL_MS.group),
    async status(place) {
      await inChat(place, (raw, chatId) =>
        raw.sendChatAction({ chat_id: chatId, action: 'typing', ...threadOf(place) }),
      );
    },
    async react(place, messageId, mark) {
      const reaction = [{ type: 'emoji' as const, emoji: MARKS[mark] }];
      await inChat(place, (raw, chatId) =>
        raw.setMessageReaction({ chat_id: chatId, message_id: Number(messageId), reaction }),
      );
    },
  };
}

function threadOf(place: Place): { message_thread_id?: number } {
  return place.thread === undefined ? {} : { message_thread_id: Number(place.thread) };
}
