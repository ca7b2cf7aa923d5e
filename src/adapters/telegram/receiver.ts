import type { Update } from 'grammy/types';
import type { AcceptResult, GatewayPorts } from '../../core/chat/adapter.js';
import type { InboxItem, Person, Place } from '../../core/chat/message.js';
import { toError } from '../../core/errors.js';
import type { Logger } from '../../core/ports/logger.js';
import type { TextTable } from '../../core/ports/texts.js';
import type { TelegramApi } from './api.js';
import type { Background } from './background.js';
import {
  type Inbound,
  type InboundContext,
  type Known,
  type Lookup,
  lookupOf,
  MAX_TEXT,
  readUpdate,
} from './inbound.js';
import type { Threads } from './threads.js';

const HOUR_MS = 60 * 60 * 1000;
/** Longest text Telegram shows in answer to a press. */
const MAX_ANSWER = 200;

export interface ReceiverOptions {
  readonly context: InboundContext;
  readonly ports: Pick<GatewayPorts, 'inbox' | 'records' | 'texts'>;
  readonly api: TelegramApi;
  readonly threads: Threads;
  readonly background: Background;
  readonly logger: Logger;
}

/**
 * Takes one update in. Resolves once everything it means is durable; rejects when the store is down, and then the
 * update must not be confirmed. An update nobody can read is logged and counts as taken.
 */
export type Receiver = (update: Update) => Promise<void>;

/** Refusals and other lines to people go out in the background: this path never waits for Telegram. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { context, ports, api, threads, background, logger } = options;
  const { records, texts, inbox } = ports;

  return async (update) => {
    const lookup = guarded(update, () => lookupOf(update, context.bot));
    const known = lookup ? await lookUp(lookup) : {};
    const inbound = guarded(update, () => readUpdate(update, context, known));
    if (inbound) await act(inbound);
  };

  /** Reading is pure; what it throws at is an update of a shape nobody expected, and it would throw every time. */
  function guarded<T>(update: Update, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      const kinds = Object.keys(update).filter((key) => key !== 'update_id');
      const fields = { updateId: update.update_id, kinds, err: toError(error) };
      logger.error(fields, 'telegram: unreadable update skipped; please report its shape');
      return undefined;
    }
  }

  async function lookUp({ chat, replied, self, person }: Lookup): Promise<Known> {
    const [repliedKey, selfKey, latest] = await Promise.all([
      replied === undefined ? undefined : threads.conversationOf(chat, replied),
      self === undefined ? undefined : threads.conversationOf(chat, self),
      person === undefined ? undefined : threads.latestOf(chat, `telegram:${person}`),
    ]);
    return { replied: repliedKey, self: selfKey, latest };
  }

  async function act(inbound: Inbound): Promise<void> {
    switch (inbound.kind) {
      case 'item':
        return take(inbound);
      case 'refuse':
        return refuse(inbound);
      case 'notice':
        return notice(inbound);
      case 'stale':
        return answerPress(inbound.callbackId, texts.for(inbound.locale).closed);
      case 'migrated':
        logger.warn(
          inbound,
          'telegram: group became a supergroup; if access.channels or routes name it, use the new id',
        );
        return threads.rememberMigration(inbound.from, inbound.to);
      case 'membership':
        return logger.info(inbound, 'telegram: membership of the bot changed');
      case 'ignore':
        return logger.debug({ reason: inbound.reason }, 'telegram: update ignored');
    }
  }

  async function take({ key, item, callbackId }: Inbound & { kind: 'item' }): Promise<void> {
    const isWritten = (item.kind === 'message' || item.kind === 'control') && callbackId === undefined;
    const inGroup = isWritten && !item.place.direct;
    // Before accept: the answer may be posted right after it, and that post looks this record up.
    if (inGroup) await threads.remember(item.place.space, item.messageId, key);
    const result = await inbox.accept(key, item);
    if (inGroup && item.kind === 'message') await threads.rememberLatest(item.place.space, item.person.id, key);
    tellResult(item, result, callbackId);
  }

  function tellResult(item: InboxItem, { result }: AcceptResult, callbackId: string | undefined): void {
    if (item.kind === 'stray') return;
    const table = texts.for(item.locale);
    const text = item.kind === 'control' && result === 'foreign' ? table.notYourRun : resultText(result, table);
    if (callbackId !== undefined) answerPress(callbackId, text);
    else if (text !== undefined) say(item.place, item.person, text);
  }

  async function refuse(refusal: Inbound & { kind: 'refuse' }): Promise<void> {
    const { list, id, person, place, locale, tell, callbackId } = refusal;
    const table = texts.for(locale);
    const text = list === 'users' ? table.notAllowed(id) : table.chatNotAllowed(id);
    if (callbackId !== undefined) answerPress(callbackId, text);
    if (!tell || !(await onceAnHour(`refused:${list}`, person))) return;
    const fix = `add "${id}" to adapters.telegram.access.${list} to allow it`;
    logger.warn({ account: context.account, person, chat: place.space, fix }, 'telegram: message refused');
    if (callbackId === undefined) say(place, person, text);
  }

  async function notice({ notice: which, person, place, locale }: Inbound & { kind: 'notice' }): Promise<void> {
    if (!(await onceAnHour(`${which}:${place.space}`, person))) return;
    const table = texts.for(locale);
    say(place, person, which === 'empty' ? table.emptyMessage : table.tooLong(MAX_TEXT));
  }

  /** True for the first time within an hour, whichever gateway asks. */
  async function onceAnHour(what: string, person: Person): Promise<boolean> {
    const key = `${context.account}:${what}:${person.id}`;
    if ((await records.get('telegram-notice', key)) !== undefined) return false;
    await records.set('telegram-notice', key, 'told', HOUR_MS);
    return true;
  }

  function answerPress(callbackId: string, text: string | undefined): void {
    background.run('the answer to a press', async () => {
      const shown = text === undefined ? {} : { text: text.slice(0, MAX_ANSWER) };
      await api.call((raw) => raw.answerCallbackQuery({ callback_query_id: callbackId, ...shown }));
    });
  }

  function say(place: Place, person: Person, text: string): void {
    background.run(`a line to ${person.id}`, async () => {
      const reply = place.replyTo === undefined ? undefined : Number(place.replyTo);
      await api.call((raw) =>
        raw.sendMessage({
          chat_id: Number(place.space),
          text,
          link_preview_options: { is_disabled: true },
          ...(place.thread !== undefined && { message_thread_id: Number(place.thread) }),
          ...(reply !== undefined && { reply_parameters: { message_id: reply, allow_sending_without_reply: true } }),
        }),
      );
    });
  }
}

function resultText(result: AcceptResult['result'], table: TextTable): string | undefined {
  switch (result) {
    case 'accepted':
    case 'duplicate':
      return undefined;
    case 'foreign':
      return table.notYours;
    case 'already':
      return table.alreadyAnswered;
    case 'expired':
      return table.expired;
    case 'closed':
      return table.closed;
  }
}
