import type { Message, Update, User } from 'grammy/types';
import { createAccess } from '../../../src/adapters/telegram/access.js';
import { type Inbound, type Known, readUpdate } from '../../../src/adapters/telegram/inbound.js';
import { conversationKey } from '../../../src/core/chat/message.js';
import { foundEntities } from '../../fakes/telegram/formatted-text.js';

export const bot = { id: 99, username: 'loop_bot' };
export const alice: User = { id: 7, is_bot: false, first_name: 'Alice', last_name: 'Li', language_code: 'zh-hans' };
export const botUser: User = { id: 99, is_bot: true, first_name: 'Loop', username: 'loop_bot' };
export const everyone = createAccess({ users: ['*'], channels: ['*'] });
export const context = { bot, account: 'default', access: everyone };

export type Fields = Partial<Omit<Message, 'chat'>> & { chat?: Partial<Message['chat']> };

export function message(text: string, fields: Fields = {}): Message {
  const entities = foundEntities(text);
  return {
    message_id: 20,
    date: 1,
    from: alice,
    chat: { id: 7, type: 'private', first_name: 'Alice' },
    ...(text && { text }),
    ...(entities.length > 0 && { entities }),
    ...fields,
  } as Message;
}

export const group = { id: -500, type: 'group', title: 'G' } as const;
export const forum = { id: -1001000000001, type: 'supergroup', title: 'F', is_forum: true } as const;
export const inGroup = (text: string, fields: Fields = {}): Message => message(text, { chat: group, ...fields });
export const replyTo = (fields: Fields): Partial<Message> =>
  ({ reply_to_message: inGroup('earlier', { message_id: 10, ...fields }) }) as Partial<Message>;

export function read(fields: Partial<Update>, known: Known = {}, access = everyone): Inbound {
  return readUpdate({ update_id: 1, ...fields } as Update, { ...context, access }, known);
}
export const readText = (one: Message, known: Known = {}): Inbound => read({ message: one } as Partial<Update>, known);
export const key = (chat: number, root: number | string): string =>
  conversationKey('telegram', 'default', String(chat), String(root));
