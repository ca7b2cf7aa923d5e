import type { Message, Update } from 'grammy/types';
import { describe, expect, it } from 'vitest';
import { createAccess } from '../../../src/adapters/telegram/access.js';
import { type Inbound, type Known, lookupOf } from '../../../src/adapters/telegram/inbound.js';
import {
  alice,
  bot,
  botUser,
  everyone,
  type Fields,
  forum,
  group,
  inGroup,
  key,
  message,
  read,
  readText,
  replyTo,
} from './update-builder.js';

describe('a private chat', () => {
  it('is one conversation, whatever is replied to', () => {
    expect(readText(message('hello', replyTo({ from: botUser })))).toEqual({
      kind: 'item',
      key: 'telegram:default:7:',
      item: {
        v: 1,
        kind: 'message',
        dedupe: 'message:7:20',
        person: { id: 'telegram:7', name: 'Alice Li' },
        place: { platform: 'telegram', account: 'default', space: '7', direct: true },
        messageId: '20',
        locale: 'zh-hans',
        text: 'hello',
      },
    });
  });

  it('has one conversation per topic when the bot has topics', () => {
    const inbound = readText(message('hello', { message_thread_id: 4, is_topic_message: true }));
    expect(inbound).toMatchObject({ key: key(7, 4), item: { place: { thread: '4', direct: true } } });
  });

  it('asks no records', () => {
    expect(lookupOf({ update_id: 1, message: message('/stop') } as Update, bot)).toBeUndefined();
  });
});

describe('a group', () => {
  it('is heard only when the bot is addressed', () => {
    expect(readText(inGroup('hello all'))).toMatchObject({ kind: 'ignore' });
    expect(readText(inGroup('hello @other_bot'))).toMatchObject({ kind: 'ignore' });
    expect(readText(inGroup('me@loop_bot.com'))).toMatchObject({ kind: 'ignore' });
    expect(readText(inGroup('reply', replyTo({ from: alice })))).toMatchObject({ kind: 'ignore' });
  });

  it.each([
    ['@loop_bot, what is up?', 'what is up?'],
    ['@Loop_Bot：你好', '你好'],
    ['hey @loop_bot do it', 'hey do it'],
    ['do it @loop_bot', 'do it'],
    ['@loop_bot 😀 twice @loop_bot', '😀 twice'],
    ['/ask@loop_bot me', '/ask me'],
  ])('reads %j without the mention', (text, expected) => {
    expect(readText(inGroup(text))).toMatchObject({ kind: 'item', item: { text: expected } });
  });

  it('knows a mention of the account that has no @name in it', () => {
    const entities = [{ type: 'text_mention' as const, offset: 0, length: 4, user: botUser }];
    expect(readText(inGroup('Loop, hi', { entities }))).toMatchObject({ kind: 'item', item: { text: 'hi' } });
  });

  it('begins a conversation at the message, and answers as a reply to it', () => {
    expect(readText(inGroup('@loop_bot hi'))).toMatchObject({
      key: key(-500, 20),
      item: { place: { space: '-500', replyTo: '20' } },
    });
    expect(readText(inGroup('@loop_bot look', replyTo({ from: alice })))).toMatchObject({ key: key(-500, 20) });
  });

  it("goes on in the conversation of the message replied to, the bot's or a person's", () => {
    const known = { replied: key(-500, 3) };
    expect(readText(inGroup('more', replyTo({ from: botUser })), known)).toMatchObject({ key: key(-500, 3) });
    expect(readText(inGroup('more', replyTo({ from: alice })), known)).toMatchObject({ key: key(-500, 3) });
    expect(lookupOf({ update_id: 1, message: inGroup('more', replyTo({})) } as Update, bot)).toEqual({
      chat: '-500',
      replied: '10',
    });
  });

  it("takes a reply to the bot's message as the root when no record is left", () => {
    expect(readText(inGroup('more', replyTo({ from: botUser })))).toMatchObject({ key: key(-500, 10) });
  });

  it("does not take the thread ids of a plain group's reply chains for topics", () => {
    const inbound = readText(inGroup('@loop_bot hi', { message_thread_id: 3 }));
    expect(inbound).toMatchObject({ key: key(-500, 20) });
    expect(inbound).not.toHaveProperty('item.place.thread');
  });

  it('leaves commands for other bots alone, also in reply to this one', () => {
    expect(readText(inGroup('/stop@other_bot', replyTo({ from: botUser })))).toMatchObject({ kind: 'ignore' });
  });

  it('means the latest conversation of the person by a stop that replies to nothing', () => {
    const stop = inGroup('/stop@loop_bot');
    expect(readText(stop, { latest: key(-500, 3) })).toMatchObject({ key: key(-500, 3), item: { control: 'stop' } });
    expect(lookupOf({ update_id: 1, message: stop } as Update, bot)).toEqual({ chat: '-500', self: '20', person: '7' });
  });

  it('means the conversation a stop meant the first time when it is delivered again', () => {
    const known = { self: key(-500, 3), latest: key(-500, 8) };
    expect(readText(inGroup('/stop@loop_bot'), known)).toMatchObject({ key: key(-500, 3) });
  });
});

describe('a forum topic', () => {
  const inTopic = { chat: forum, message_thread_id: 4, is_topic_message: true } as const;
  const service = { reply_to_message: message('', { message_id: 4, chat: forum, from: botUser }) } as Fields;

  it('is one conversation', () => {
    expect(readText(message('@loop_bot hi', inTopic))).toMatchObject({
      key: key(forum.id, 4),
      item: { place: { thread: '4', replyTo: '20' } },
    });
  });

  it("is not addressed to the bot only because the topic's first message is the bot's", () => {
    expect(readText(message('hi', { ...inTopic, ...service }))).toMatchObject({ kind: 'ignore' });
  });
});

describe('control words', () => {
  it.each([
    ['/stop', 'stop'],
    ['/stop@loop_bot', 'stop'],
    ['停止', 'stop'],
    ['/new', 'new'],
    ['/status', 'status'],
    ['/help', 'help'],
    ['/start', 'help'],
    ['/start ref_123', 'help'],
  ])('reads %s', (text, control) => {
    expect(readText(message(text))).toMatchObject({ kind: 'item', item: { kind: 'control', control } });
  });

  it('reads a word after a mention', () => {
    expect(readText(inGroup('@loop_bot stop'))).toMatchObject({ item: { kind: 'control', control: 'stop' } });
  });

  it('takes the queue prefix off', () => {
    expect(readText(inGroup('@loop_bot queue: and then this'))).toMatchObject({
      item: { kind: 'message', text: 'and then this', queue: true },
    });
  });
});

describe('edits', () => {
  const edit = (one: Message, known: Known = {}): Inbound =>
    read({ update_id: 77, edited_message: one } as Partial<Update>, known);

  it('are edit items, each of its own', () => {
    expect(edit(message('hello again'))).toMatchObject({
      key: key(7, ''),
      item: { kind: 'edit', text: 'hello again', messageId: '20', dedupe: 'edit:7:20:77' },
    });
  });

  it('go to the conversation that took the message in', () => {
    const known = { self: key(-500, 3) };
    expect(edit(inGroup('@loop_bot hello again'), known)).toMatchObject({
      key: key(-500, 3),
      item: { kind: 'edit', text: 'hello again' },
    });
    expect(lookupOf({ update_id: 1, edited_message: inGroup('x') } as Update, bot)).toMatchObject({ self: '20' });
  });

  it('that first mention the bot now are new messages; others in groups are ignored', () => {
    expect(edit(inGroup('@loop_bot hi'))).toMatchObject({ item: { kind: 'message', dedupe: 'message:-500:20' } });
    expect(edit(inGroup('hi'))).toMatchObject({ kind: 'ignore' });
  });
});

describe('presses', () => {
  const press = (data: string | undefined, shown: object, known: Known = {}, access = everyone): Inbound =>
    read(
      {
        callback_query: { id: 'c1', from: alice, chat_instance: '1', message: shown, ...(data && { data }) },
      } as Partial<Update>,
      known,
      access,
    );

  it('are split at the last dot', () => {
    expect(press('ask.1.yes', message('Sure?'))).toMatchObject({
      key: key(7, ''),
      callbackId: 'c1',
      item: { kind: 'choice', choice: 'ask.1', option: 'yes', dedupe: 'press:c1', messageId: '20' },
    });
  });

  it('of a stop button carry the run', () => {
    expect(press('stop.run.7', message('x'))).toMatchObject({
      item: { kind: 'control', control: 'stop', runId: 'run.7' },
    });
  });

  it('go to the conversation of the message, in topics also without a record', () => {
    const topic = message('Sure?', { chat: forum, message_thread_id: 4, is_topic_message: true });
    expect(press('a.b', inGroup('Sure?'), { self: key(-500, 3) })).toMatchObject({ key: key(-500, 3) });
    expect(press('a.b', topic)).toMatchObject({ key: key(forum.id, 4) });
    // Before the message has a record of its own: that of the message it answers.
    const answer = inGroup('Sure?', replyTo({}));
    expect(press('a.b', answer, { replied: key(-500, 3) })).toMatchObject({ key: key(-500, 3) });
    expect(lookupOf({ update_id: 1, callback_query: { message: answer } } as Update, bot)).toEqual({
      ...{ chat: '-500', self: '20', replied: '10' },
    });
  });

  it('nothing is known about are stale', () => {
    expect(press('a.b', inGroup('Sure?'))).toMatchObject({ kind: 'stale', callbackId: 'c1' });
    expect(press('nonsense', message('x'))).toMatchObject({ kind: 'stale' });
    expect(press('ask.\u0000', message('x'))).toMatchObject({ kind: 'stale' });
    expect(press(undefined, message('x'))).toMatchObject({ kind: 'stale' });
  });

  it('work on messages too old to be shown', () => {
    const inaccessible = { chat: { id: 7, type: 'private', first_name: 'A' }, message_id: 20, date: 0 };
    expect(press('a.b', inaccessible)).toMatchObject({ key: key(7, ''), item: { kind: 'choice' } });
  });

  it('of people who may not use the bot are refused', () => {
    const nobody = createAccess({ users: [], channels: ['*'] });
    expect(press('a.b', message('x'), {}, nobody)).toMatchObject({ kind: 'refuse', callbackId: 'c1', id: '7' });
  });
});

describe('access', () => {
  const say = (one: Message, users: string[], channels: (string | number)[] = ['*']): Inbound =>
    read({ message: one } as Partial<Update>, {}, createAccess({ users, channels }));

  it('lets nobody in by default and names the id to add', () => {
    expect(say(message('hi'), [])).toMatchObject({ kind: 'refuse', list: 'users', id: '7', tell: true });
  });

  it('wants the person and the chat', () => {
    expect(say(message('hi'), ['7'])).toMatchObject({ kind: 'item' });
    expect(say(message('hi'), ['telegram:7'])).toMatchObject({ kind: 'item' });
    expect(say(message('hi'), ['70'])).toMatchObject({ kind: 'refuse', list: 'users' });
    expect(say(inGroup('@loop_bot hi'), ['7'], [-500])).toMatchObject({ kind: 'item' });
    expect(say(inGroup('@loop_bot hi'), ['7'], ['-501'])).toMatchObject({
      kind: 'refuse',
      list: 'channels',
      id: '-500',
    });
  });

  it('stays silent in groups unless the bot was mentioned', () => {
    expect(say(inGroup('@loop_bot hi'), [])).toMatchObject({ kind: 'refuse', tell: true });
    expect(say(inGroup('hi', replyTo({ from: botUser })), [])).toMatchObject({ kind: 'refuse', tell: false });
    expect(say(inGroup('hi'), [])).toMatchObject({ kind: 'ignore' });
  });
});

describe('the rest', () => {
  it('reads where a group went', () => {
    expect(readText(inGroup('', { migrate_to_chat_id: -1001 }))).toEqual({
      kind: 'migrated',
      from: '-500',
      to: '-1001',
    });
  });

  it('reads changes of the membership', () => {
    const my_chat_member = { chat: group, from: alice, date: 1, new_chat_member: { status: 'kicked' } };
    expect(read({ my_chat_member } as Partial<Update>)).toEqual({ kind: 'membership', chat: '-500', status: 'kicked' });
  });
});
