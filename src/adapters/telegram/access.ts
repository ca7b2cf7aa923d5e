import type { TelegramConfig } from './config.js';

/** Which list refuses; both must hold. */
export type AccessVerdict = 'ok' | 'users' | 'channels';

export type Access = (userId: number, chatId: number) => AccessVerdict;

/** Judges people and chats by the configured lists. */
export function createAccess(lists: TelegramConfig['access']): Access {
  const users = idsOf(lists.users);
  const channels = idsOf(lists.channels);
  const holds = (ids: ReadonlySet<string>, id: number): boolean => ids.has('*') || ids.has(String(id));
  return (userId, chatId) => {
    if (!holds(users, userId)) return 'users';
    return holds(channels, chatId) ? 'ok' : 'channels';
  };
}

/** `telegram:12345`, as other lists write people, means 12345 here. */
function idsOf(entries: readonly (string | number)[]): ReadonlySet<string> {
  return new Set(entries.map((entry) => String(entry).replace(/^telegram:/, '')));
}
