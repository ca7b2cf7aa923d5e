import type { Message, MessageEntity, User } from 'grammy/types';
import { foundEntities } from './formatted-text.js';
import type { UpdateQueue } from './update-queue.js';
import {
  addMessage,
  chatJson,
  current,
  messageJson,
  type StoredCallback,
  type StoredChat,
  type StoredMessage,
  type World,
} from './world.js';

/** A message by id, or anything that has one. */
export type MessageRef = number | string | Pick<Message, 'message_id'> | Pick<StoredMessage, 'id'>;

export interface SayOptions {
  /** Default: the person of a private chat, else the chat's first member. */
  readonly from?: User;
  readonly replyTo?: MessageRef;
  readonly topic?: number;
  /** Default: the mentions and commands Telegram finds in the text. */
  readonly entities?: readonly MessageEntity[];
  /** Further or other fields of the message, such as `photo`, `caption`, `sender_chat`. */
  readonly extra?: Partial<Message>;
}

export interface Press {
  readonly id: string;
  /** What the bot answered; undefined until it did. */
  readonly answer: StoredCallback['answer'];
}

/** A chat seen from the people in it. What they do becomes an update for the bot. */
export interface FakeChat {
  readonly id: number;
  readonly type: StoredChat['type'];
  say(text: string, options?: SayOptions): Message;
  /** A person edits a message of their own. */
  edit(message: MessageRef, text: string, options?: SayOptions): Message;
  /** Presses the button with this label or callback data on the message as it looks now. */
  press(message: MessageRef, button: string, options?: { readonly from?: User }): Press;
  /** Sends a press with any data, as a client with an old view of the message does. */
  pressRaw(message: MessageRef, data: string, options?: { readonly from?: User; readonly accessible?: boolean }): Press;
  /** Somebody deletes a message; the bot is not told. */
  erase(message: MessageRef): void;
  topic(name: string): number;
  closeTopic(id: number): void;
  /** The person blocks the bot, or it is thrown out of the group; both queue a my_chat_member update. */
  block(): void;
  unblock(): void;
  /** Turns a basic group into a supergroup; both service messages are queued. */
  migrate(): FakeChat;
  /** What is visible, oldest first. */
  readonly messages: readonly StoredMessage[];
  readonly botMessages: readonly StoredMessage[];
  /** Visible texts of the bot, oldest first. */
  readonly botTexts: readonly string[];
  message(ref: MessageRef): StoredMessage;
}

export interface FakeChatOptions {
  readonly world: World;
  readonly queue: UpdateQueue;
  readonly members: readonly User[];
  /** Queue only what a bot in privacy mode sees. */
  readonly privacyMode: boolean;
  readonly upgrade: (chat: StoredChat) => FakeChat;
  readonly onChange: () => void;
}

/** Buttons are ordered per person, not per chat. */
const CALLBACK_LANE = 3 * 2 ** 33;

export function createFakeChat(chat: StoredChat, options: FakeChatOptions): FakeChat {
  const { world, queue } = options;
  const me = world.bot;

  function someone(): User {
    const [first] = options.members;
    if (!first) throw new Error('the chat has no member; name the sender with `from`');
    return first;
  }

  function message(ref: MessageRef): StoredMessage {
    const id = typeof ref === 'object' ? ('message_id' in ref ? ref.message_id : ref.id) : Number(ref);
    const found = chat.messages.get(id);
    if (!found) throw new Error(`no message ${id} in chat ${chat.id}`);
    return found;
  }

  /** Privacy mode: commands, mentions and replies to the bot only. */
  function isSeen(stored: StoredMessage): boolean {
    if (chat.type === 'private' || !options.privacyMode) return true;
    const { text, entities } = current(stored);
    const replied = stored.replyToId === undefined ? undefined : chat.messages.get(stored.replyToId);
    if (replied?.from.id === me.id) return true;
    return entities.some((entity) => {
      if (entity.type === 'bot_command') return true;
      const part = text.slice(entity.offset, entity.offset + entity.length);
      return entity.type === 'mention' && part.toLowerCase() === `@${me.username?.toLowerCase()}`;
    });
  }

  function announce(kind: 'message' | 'edited_message', stored: StoredMessage): Message {
    const json = messageJson(chat, stored);
    if (isSeen(stored)) queue.push({ [kind]: json }, chat.id);
    options.onChange();
    return json;
  }

  function say(text: string, { from = someone(), replyTo, topic, entities, extra }: SayOptions = {}): Message {
    const content = { text, entities: entities ?? foundEntities(text) };
    const replyToId = replyTo === undefined ? topic : message(replyTo).id;
    return announce('message', addMessage(chat, { from, content, topicId: topic, replyToId, extra }));
  }

  function membership(status: 'member' | 'kicked' | 'left', by: User): void {
    const user = me;
    const old = status === 'member' ? 'kicked' : 'member';
    const member = (of: string): object => ({ status: of, user, ...(of === 'kicked' && { until_date: 0 }) });
    const change = { chat: chatJson(chat), from: by, date: Math.floor(Date.now() / 1000) };
    const update = { ...change, old_chat_member: member(old), new_chat_member: member(status) };
    queue.push({ my_chat_member: update } as Parameters<UpdateQueue['push']>[0], chat.id);
    options.onChange();
  }

  function pressRaw(
    ref: MessageRef,
    data: string,
    { from = someone(), accessible = true }: { from?: User; accessible?: boolean } = {},
  ): Press {
    const stored = message(ref);
    const id = String(4_382_000_000_000_000 + world.callbacks.size + 1);
    const inaccessible = { chat: chatJson(chat), message_id: stored.id, date: 0 as const };
    const shown = accessible ? messageJson(chat, stored) : inaccessible;
    const query = { id, from, chat_instance: String(chat.id), data, message: shown };
    world.callbacks.set(id, { query, at: Date.now(), answer: undefined });
    queue.push({ callback_query: query }, from.id + CALLBACK_LANE);
    options.onChange();
    return {
      id,
      get answer() {
        return world.callbacks.get(id)?.answer;
      },
    };
  }

  const visible = (): StoredMessage[] => [...chat.messages.values()].filter((one) => one.deletedAt === undefined);
  const byBot = (): StoredMessage[] => visible().filter((one) => one.from.id === me.id);

  return {
    id: chat.id,
    type: chat.type,
    say,
    message,
    pressRaw,
    edit(ref, text, { entities, extra } = {}) {
      const stored = message(ref);
      const content = { text, entities: entities ?? foundEntities(text) };
      stored.versions.push({ at: Date.now(), ...content, keyboard: undefined });
      if (extra) Object.assign(stored.extra, extra);
      return announce('edited_message', stored);
    },
    press(ref, button, opts = {}) {
      const rows = current(message(ref)).keyboard?.inline_keyboard ?? [];
      const found = rows
        .flat()
        .find((one) => one.text === button || ('callback_data' in one && one.callback_data === button));
      if (!found || !('callback_data' in found)) throw new Error(`no button "${button}" on this message`);
      return pressRaw(ref, found.callback_data, opts);
    },
    erase(ref) {
      message(ref).deletedAt = Date.now();
      options.onChange();
    },
    topic(name) {
      if (!chat.forum) throw new Error('only a forum has topics');
      const content = { text: '', entities: [] };
      const extra = { forum_topic_created: { name, icon_color: 7322096 } } as Partial<Message>;
      const id = addMessage(chat, { from: someone(), content, extra }).id;
      chat.topics.set(id, { name, closed: false });
      return id;
    },
    closeTopic(id) {
      const topic = chat.topics.get(id);
      if (topic) topic.closed = true;
    },
    block() {
      chat.access = chat.type === 'private' ? 'blocked' : 'kicked';
      membership('kicked', someone());
    },
    unblock() {
      chat.access = 'open';
      membership('member', someone());
    },
    migrate() {
      if (chat.type !== 'group') throw new Error('only a basic group can be upgraded');
      const next = options.upgrade(chat);
      chat.migratedTo = next.id;
      const extra = { migrate_to_chat_id: next.id } as Partial<Message>;
      say('', { extra });
      next.say('', { extra: { migrate_from_chat_id: chat.id } as Partial<Message> });
      return next;
    },
    get messages() {
      return visible();
    },
    get botMessages() {
      return byBot();
    },
    get botTexts() {
      return byBot().map((one) => current(one).text);
    },
  };
}
