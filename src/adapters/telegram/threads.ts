import type { ConversationKey } from '../../core/chat/message.js';
import type { Records } from '../../core/ports/store.js';

const DAY_MS = 24 * 60 * 60 * 1000;
/** A reply to something older begins a new conversation. */
const MESSAGE_TTL_MS = 30 * DAY_MS;
/** A question may stay open for a year, and its buttons must be told until then. */
const BUTTONS_TTL_MS = 370 * DAY_MS;
const LATEST_TTL_MS = DAY_MS;
const MIGRATION_TTL_MS = 365 * DAY_MS;
const HIGHEST_SUPERGROUP = -1_000_000_000_000;
/** Chats whose new id is kept in memory; a forgotten one costs one look into the records. */
const MAX_CACHED_CHATS = 1_000;

/**
 * What Telegram does not tell: which conversation a message of a group belongs to (an update shows only the message
 * replied to, not the chain), and where a group went that became a supergroup.
 */
export interface Threads {
  /** The conversation of a message, if the bot took it in or wrote it. */
  conversationOf(chat: string, message: string): Promise<ConversationKey | undefined>;
  remember(chat: string, message: string, key: ConversationKey, kind?: 'plain' | 'buttons'): Promise<void>;
  /** Where a person last wrote to the bot in this chat; an unaddressed `/stop` means that conversation. */
  latestOf(chat: string, person: string): Promise<ConversationKey | undefined>;
  rememberLatest(chat: string, person: string, key: ConversationKey): Promise<void>;
  /** The id a chat has now. */
  currentChat(chat: string): Promise<string>;
  rememberMigration(from: string, to: string): Promise<void>;
}

export function createThreads(records: Records, account: string): Threads {
  const moved = new Map<string, string>();
  const keyOf = (...parts: string[]): string => [account, ...parts].join(':');

  function cache(from: string, to: string): void {
    if (moved.size >= MAX_CACHED_CHATS) moved.clear();
    moved.set(from, to);
  }

  return {
    conversationOf: (chat, message) => records.get('telegram-message', keyOf(chat, message)),
    async remember(chat, message, key, kind = 'plain') {
      const ttlMs = kind === 'buttons' ? BUTTONS_TTL_MS : MESSAGE_TTL_MS;
      await records.set('telegram-message', keyOf(chat, message), key, ttlMs);
    },
    latestOf: (chat, person) => records.get('telegram-latest', keyOf(chat, person)),
    rememberLatest: (chat, person, key) => records.set('telegram-latest', keyOf(chat, person), key, LATEST_TTL_MS),
    async currentChat(chat) {
      // Only a basic group can migrate: people have positive ids, supergroups huge negative ones.
      if (Number(chat) >= 0 || Number(chat) <= HIGHEST_SUPERGROUP) return chat;
      const known = moved.get(chat);
      if (known !== undefined) return known;
      const now = (await records.get('telegram-migrated', keyOf(chat))) ?? chat;
      cache(chat, now);
      return now;
    },
    async rememberMigration(from, to) {
      cache(from, to);
      await records.set('telegram-migrated', keyOf(from), to, MIGRATION_TTL_MS);
    },
  };
}
