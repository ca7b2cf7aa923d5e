import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Update, User } from 'grammy/types';
import { createBotMethods } from './telegram/bot-methods.js';
import { createFakeChat, type FakeChat } from './telegram/fake-chat.js';
import { createFaults, type Fault, type PlacedFault } from './telegram/faults.js';
import { type ApiCall, createHttpHandler } from './telegram/http-handler.js';
import { createRateLimiter, type RateLimits, TELEGRAM_RATES } from './telegram/rate-limits.js';
import { createUpdateMethods } from './telegram/update-methods.js';
import { createUpdateQueue, type NewUpdate } from './telegram/update-queue.js';
import { createWebhookSender, type WebhookDelivery } from './telegram/webhook-sender.js';
import type { StoredChat, World } from './telegram/world.js';
import { type WaitOptions, waitFor } from './wait-for.js';

export type { FakeChat, Press } from './telegram/fake-chat.js';
export type { ApiCall } from './telegram/http-handler.js';
export type { StoredMessage, Version } from './telegram/world.js';

export interface TelegramServerOptions {
  readonly token?: string;
  readonly username?: string;
  /** 0, the default, takes a free one; a test that restarts the server names the old one. */
  readonly port?: number;
  /** Every call is answered this much later, ms. */
  readonly latencyMs?: number;
  /** Telegram's own rate limits, or other figures; off by default. */
  readonly limits?: boolean | Partial<RateLimits>;
  /** In groups the bot gets commands, mentions and replies to it only; off by default. */
  readonly privacyMode?: boolean;
  /** Pause before the second 409 within three seconds; 3,000 as on the real server. */
  readonly conflictDelayMs?: number;
  /** First pause before a webhook call is repeated, ms; 50 by default (the real server waits a second). */
  readonly webhookRetryMs?: number;
  /** After this a press cannot be answered any more, ms; 15,000 by default. */
  readonly callbackMaxAgeMs?: number;
}

/** A Bot API server on loopback with people, chats and a log of every call. */
export interface TelegramServer {
  readonly apiRoot: string;
  readonly token: string;
  readonly port: number;
  readonly bot: User;
  /** A new person; ids count up from 5001. */
  user(fields?: Partial<User>): User;
  /** The private chat with a person (a new one by default), who has pressed "start". */
  privateChat(user?: User): FakeChat;
  group(options?: GroupOptions): FakeChat;
  supergroup(options?: GroupOptions): FakeChat;
  /** A supergroup with topics. */
  forum(options?: GroupOptions): FakeChat;
  chat(id: number | string): FakeChat;
  /** Queues any update; `lane` is what Telegram orders by (a chat id). */
  push(update: NewUpdate, lane?: number): number | undefined;
  /** Updates neither confirmed by offset nor taken by the webhook. */
  readonly pending: readonly Update[];
  /** True while a long poll waits. */
  readonly polling: boolean;
  /** Every call in order of arrival. */
  readonly calls: readonly ApiCall[];
  callsOf(method: string): readonly ApiCall[];
  /** Sends, edits and deletions, also refused ones; of one chat when given. */
  writes(chat?: FakeChat): readonly ApiCall[];
  readonly deliveries: readonly WebhookDelivery[];
  readonly webhookUrl: string;
  readonly commands: World['commands'];
  /** Scripts a failure; `*` for every method. */
  fail(method: string, fault: Fault): PlacedFault;
  waitFor<T>(condition: () => T | undefined | false, options?: Omit<WaitOptions, 'onChange'>): Promise<T>;
  close(): Promise<void>;
}

export interface GroupOptions {
  readonly title?: string;
  readonly members?: readonly User[];
}

/** Starts the server; every option has a default, `close()` ends it and every open connection. */
export async function startTelegramServer(options: TelegramServerOptions = {}): Promise<TelegramServer> {
  const token = options.token ?? '7000000001:AAfake-token_of-a-bot-that-does-not-exist';
  const bot = {
    id: Number(token.split(':', 1)[0]),
    is_bot: true,
    first_name: 'Loop',
    username: options.username ?? 'threadloop_bot',
    can_join_groups: true,
    can_read_all_group_messages: options.privacyMode !== true,
    supports_inline_queries: false,
  } satisfies User & Record<string, unknown>;
  const world: World = { bot, chats: new Map(), callbacks: new Map(), commands: new Map() };
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };

  const rates = options.limits && { ...TELEGRAM_RATES, ...(options.limits === true ? {} : options.limits) };
  const limit = rates ? createRateLimiter(rates) : () => {};
  const queue = createUpdateQueue(811_000_001, options.conflictDelayMs ?? 3_000);
  const faults = createFaults();
  const botMethods = createBotMethods({ world, limit, callbackMaxAgeMs: options.callbackMaxAgeMs ?? 15_000 });
  const webhooks = createWebhookSender({
    queue,
    retryMs: options.webhookRetryMs ?? 50,
    execute: (method, payload) => botMethods[method]?.(payload),
    onChange: changed,
  });
  const calls: ApiCall[] = [];
  const http = createServer(
    createHttpHandler({
      token,
      methods: { ...botMethods, ...createUpdateMethods({ queue, webhooks }) },
      faults,
      latencyMs: options.latencyMs ?? 0,
      calls,
      onChange: changed,
    }),
  );
  http.listen(options.port ?? 0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;

  const people = createPeople();
  const fakes = new Map<number, FakeChat>();
  let nextGroup = 0;

  function open(
    chat: Pick<StoredChat, 'id' | 'type' | 'title' | 'user' | 'forum'>,
    members: readonly User[],
  ): FakeChat {
    const stored: StoredChat = {
      ...chat,
      topics: new Map(),
      messages: new Map(),
      access: 'open',
      migratedTo: undefined,
      lastMessageId: 0,
    };
    world.chats.set(chat.id, stored);
    const fake = createFakeChat(stored, {
      world,
      queue,
      members,
      privacyMode: options.privacyMode ?? false,
      upgrade: (old) => openGroup({ title: old.title, members }, true, false),
      onChange: changed,
    });
    fakes.set(chat.id, fake);
    return fake;
  }

  function openGroup(
    { title = 'A group', members = [people.next()] }: GroupOptions,
    big: boolean,
    forum: boolean,
  ): FakeChat {
    nextGroup += 1;
    const id = big ? -1_001_000_000_000 - nextGroup : -4_000_000 - nextGroup;
    return open({ id, type: big ? 'supergroup' : 'group', title, user: undefined, forum }, members);
  }

  return {
    apiRoot: `http://127.0.0.1:${port}`,
    token,
    port,
    bot,
    user: (fields) => people.next(fields),
    privateChat(user = people.next()) {
      return open({ id: user.id, type: 'private', title: user.first_name, user, forum: false }, [user]);
    },
    group: (group = {}) => openGroup(group, false, false),
    supergroup: (group = {}) => openGroup(group, true, false),
    forum: (group = {}) => openGroup(group, true, true),
    chat(id) {
      const fake = fakes.get(Number(id));
      if (!fake) throw new Error(`no chat ${id}`);
      return fake;
    },
    push: (update, lane = 0) => queue.push(update, lane),
    get pending() {
      return queue.pending;
    },
    get polling() {
      return queue.polling;
    },
    calls,
    callsOf: (method) => calls.filter((call) => call.method === method),
    writes(chat) {
      const methods = new Set(['sendMessage', 'editMessageText', 'deleteMessage']);
      return calls.filter(({ method, payload }) => {
        return methods.has(method) && (!chat || Number(payload.chat_id) === chat.id);
      });
    },
    deliveries: webhooks.deliveries,
    get webhookUrl() {
      return webhooks.current?.url ?? '';
    },
    commands: world.commands,
    fail: (method, fault) => faults.place(method, fault),
    waitFor: (condition, waitOptions = {}) =>
      waitFor(condition, {
        ...waitOptions,
        onChange(look) {
          listeners.add(look);
          return () => listeners.delete(look);
        },
      }),
    async close() {
      await webhooks.close();
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

function createPeople(): { next(fields?: Partial<User>): User } {
  let count = 0;
  return {
    next(fields = {}) {
      count += 1;
      return { id: 5000 + count, is_bot: false, first_name: `Person ${count}`, language_code: 'en', ...fields };
    },
  };
}
