import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TelegramAdapter } from '../../../src/adapters/telegram/index.js';
import { english } from '../../../src/core/chat/texts/en.js';
import type { FakeChat } from '../../fakes/telegram-server.js';
import { type Fixture, rendered, startFixture } from './fixture.js';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.close());

const accepted = () => fixture.inbox.accepted;
const acceptedAll = (count: number) => fixture.server.waitFor(() => accepted().length >= count);
const confirmedAll = () => fixture.server.waitFor(() => fixture.server.pending.length === 0);
const keys = () => accepted().map(({ key }) => key);

/** Answers the last accepted item in its place, as a worker does. */
async function answer(adapter: TelegramAdapter, text: string): Promise<string> {
  const item = accepted().at(-1)?.item;
  if (!item || item.kind === 'stray') throw new Error('nothing to answer');
  return adapter.post(item.place, rendered(text), { nonce: text });
}

describe('plain groups', () => {
  it('follow the reply chain through the posts of the bot and the messages it took in', async () => {
    const { server } = fixture;
    const adapter = await fixture.start();
    const [ann, ben] = [server.user(), server.user()];
    const group = server.group({ members: [ann, ben] });
    const question = group.say('@threadloop_bot hi', { from: ann });
    await acceptedAll(1);
    const first = await answer(adapter, 'hello');
    group.say('and more', { from: ben, replyTo: first });
    await acceptedAll(2);
    const second = await answer(adapter, 'more');
    group.say('still more', { from: ann, replyTo: second });
    group.say('to the question', { from: ben, replyTo: question });
    group.say('@threadloop_bot something else', { from: ben });
    await acceptedAll(5);
    const root = `telegram:default:${group.id}:${question.message_id}`;
    expect(keys().slice(0, 4)).toEqual([root, root, root, root]);
    expect(keys()[4]).not.toBe(root);
    expect(group.botMessages.map((one) => one.replyToId)).toEqual([question.message_id, question.message_id + 2]);
  });

  it('hear nothing else', async () => {
    const { server } = fixture;
    await fixture.start();
    const group = server.group();
    const other = group.say('hello everybody');
    group.say('hello you', { replyTo: other });
    group.say('/stop');
    group.say('@threadloop_bot hi');
    await acceptedAll(1);
    await confirmedAll();
    expect(accepted()).toHaveLength(1);
  });

  it('take a stop that replies to nothing for the latest conversation of that person, also when it comes again', async () => {
    const { server } = fixture;
    await fixture.start();
    const [ann, ben] = [server.user(), server.user()];
    const group = server.group({ members: [ann, ben] });
    const mine = group.say('@threadloop_bot mine', { from: ann });
    group.say('@threadloop_bot theirs', { from: ben });
    await acceptedAll(2);
    server.fail('getUpdates', { status: 500, times: 2 });
    group.say('@threadloop_bot stop', { from: ann });
    group.say('@threadloop_bot a new one', { from: ann });
    await acceptedAll(4);
    await confirmedAll();
    const stops = accepted().filter(({ item }) => item.kind === 'control');
    expect(stops.map(({ key }) => key)).toEqual([`telegram:default:${group.id}:${mine.message_id}`]);
  });

  it('tell a person who may not stop the run that it is not theirs', async () => {
    const { server, inbox } = fixture;
    await fixture.start();
    inbox.verdict = (_key, item) => (item.kind === 'control' ? 'foreign' : undefined);
    const group = server.group();
    const stop = group.say('@threadloop_bot stop');
    await server.waitFor(() => group.botTexts.length === 1);
    expect(group.botMessages[0]?.replyToId).toBe(stop.message_id);
    expect(group.botTexts).toEqual([english.notYourRun]);
  });

  it('in privacy mode work through mentions and replies', async () => {
    await fixture.close();
    fixture = await startFixture({ privacyMode: true });
    const adapter = await fixture.start();
    const group = fixture.server.group();
    group.say('unseen');
    group.say('@threadloop_bot hi');
    await acceptedAll(1);
    const id = await answer(adapter, 'hello');
    group.say('more', { replyTo: id });
    await acceptedAll(2);
    expect(keys()[1]).toBe(keys()[0]);
  });

  it('keep their conversations when they become supergroups', async () => {
    const { server, logger } = fixture;
    const adapter = await fixture.start();
    const group = server.group();
    group.say('@threadloop_bot hi');
    await acceptedAll(1);
    const next = group.migrate();
    await confirmedAll();
    const id = await answer(adapter, 'hello');
    expect(next.botTexts).toEqual(['hello']);
    next.say('more', { replyTo: id });
    await acceptedAll(2);
    expect(keys()[1]).toBe(keys()[0]);
    expect(logger.text()).toContain('became a supergroup');
  });
});

describe('forums', () => {
  it('answer in the topic they were asked in', async () => {
    const { server } = fixture;
    const adapter = await fixture.start();
    const forum = server.forum();
    const topic = forum.topic('Ideas');
    forum.say('unrelated', { topic });
    forum.say('@threadloop_bot hi', { topic });
    await acceptedAll(1);
    const id = await answer(adapter, 'hello');
    expect(forum.message(id).topicId).toBe(topic);
    forum.say('more', { topic, replyTo: id });
    await acceptedAll(2);
    expect(keys()).toEqual([`telegram:default:${forum.id}:${topic}`, `telegram:default:${forum.id}:${topic}`]);
  });
});

describe('presses', () => {
  async function withButton(chat: FakeChat, adapter: TelegramAdapter, data: string): Promise<string> {
    const buttons = { reply_markup: { inline_keyboard: [[{ text: 'Yes', callback_data: data }]] } };
    const place = { platform: 'telegram', account: 'default', space: String(chat.id), direct: true };
    return adapter.post(place, rendered('Sure?', buttons), { nonce: 'n' });
  }

  it('are accepted and answered without a text', async () => {
    const { server } = fixture;
    const adapter = await fixture.start();
    const chat = server.privateChat();
    const press = chat.press(await withButton(chat, adapter, 'ask.1.yes'), 'Yes');
    await server.waitFor(() => press.answer);
    expect(press.answer?.text).toBeUndefined();
    expect(accepted()[0]).toMatchObject({
      key: `telegram:default:${chat.id}:`,
      item: { kind: 'choice', choice: 'ask.1' },
    });
  });

  const choice = 'Ab_-Cd12Ef34.2';

  it.each([
    [choice, 'foreign', english.notYours],
    [choice, 'already', english.alreadyAnswered],
    [choice, 'expired', english.expired],
    [choice, 'closed', english.closed],
    ['stop.run1', 'foreign', english.notYourRun],
    ['stop.run1', 'closed', english.closed],
  ] as const)('on %s that are %s are answered so, to the person alone', async (data, result, text) => {
    const { server, inbox } = fixture;
    const adapter = await fixture.start();
    inbox.verdict = () => result;
    const chat = server.privateChat();
    const press = chat.press(await withButton(chat, adapter, data), 'Yes');
    await server.waitFor(() => press.answer);
    expect(press.answer?.text).toBe(text);
    expect(chat.botTexts).toEqual(['Sure?']);
  });

  it('on a card in a group lead to its conversation and name the card; a decided card has no buttons', async () => {
    const { server, records } = fixture;
    const adapter = await fixture.start();
    const [ann, ben] = [server.user(), server.user({ first_name: 'Ben', language_code: 'zh-hans' })];
    const group = server.group({ members: [ann, ben] });
    group.say('@threadloop_bot hi', { from: ann });
    await acceptedAll(1);
    const item = accepted()[0]?.item;
    if (item?.kind !== 'message') throw new Error('expected a message');
    const options = ['Small', 'Medium', 'Large', 'None'];
    const buttons = options.map((label, index) => ({ id: `Ab_-Cd12Ef34.${index + 1}`, label }));
    const card = adapter.render({ state: 'final', markdown: '❓ **Which size?**', buttons, footer: 'Or write.' });
    await adapter.post(item.place, adapter.render({ state: 'final', markdown: 'So far.' }), { nonce: 'n1' });
    const id = await adapter.post(item.place, card, { nonce: 'n2' });
    const press = group.press(id, 'Large', { from: ben });
    await server.waitFor(() => press.answer);
    expect(press.answer?.text).toBeUndefined();
    expect(accepted()[1]).toMatchObject({
      key: keys()[0],
      item: {
        ...{ kind: 'choice', choice: 'Ab_-Cd12Ef34', option: '3', messageId: id, locale: 'zh-hans' },
        person: { id: `telegram:${ben.id}`, name: 'Ben' },
        place: { space: String(group.id), replyTo: id },
      },
    });
    await adapter.edit(item.place, id, adapter.render({ state: 'final', markdown: '❓ **Which size?**', buttons: [] }));
    expect(() => group.press(id, 'Large')).toThrow();
    // A question may stay open for a year.
    const known = records.values.get(`telegram-message/default:${group.id}:${id}`);
    expect((known?.until ?? 0) - Date.now()).toBeGreaterThan(366 * 24 * 3_600_000);
  });

  it('in a group belong to the conversation of the message', async () => {
    const { server } = fixture;
    const adapter = await fixture.start();
    const group = server.group();
    group.say('@threadloop_bot hi');
    await acceptedAll(1);
    const item = accepted()[0]?.item;
    if (item?.kind !== 'message') throw new Error('expected a message');
    const buttons = { reply_markup: { inline_keyboard: [[{ text: 'Stop', callback_data: 'stop.run1' }]] } };
    const id = await adapter.post(item.place, rendered('Working', buttons), { nonce: 'n' });
    group.press(id, 'Stop');
    await acceptedAll(2);
    expect(accepted()[1]).toMatchObject({ key: keys()[0], item: { kind: 'control', control: 'stop', runId: 'run1' } });
  });

  it('nobody knows anything about are told that it is over, and too late an answer hurts nobody', async () => {
    await fixture.close();
    fixture = await startFixture({ callbackMaxAgeMs: -1 });
    const { server, logger } = fixture;
    await fixture.start();
    const group = server.group();
    group.pressRaw(group.say('x'), 'ask.yes');
    await server.waitFor(() => logger.text().includes('query is too old'));
    expect(server.callsOf('answerCallbackQuery')[0]?.payload.text).toBe(english.closed);
    expect(accepted()).toEqual([]);
  });
});

describe('other things people do', () => {
  it('edits reach the conversation; the person who sends a sticker is told once that there is nothing to answer', async () => {
    const { server } = fixture;
    await fixture.start();
    const chat = server.privateChat();
    const message = chat.say('helo');
    chat.edit(message, 'hello');
    const sticker = { file_id: 's', file_unique_id: 's', type: 'regular', width: 1, height: 1 } as const;
    const extra = { sticker: { ...sticker, is_animated: false, is_video: false } };
    chat.say('', { extra });
    chat.say('', { extra });
    await server.waitFor(() => chat.botTexts.length === 1);
    await confirmedAll();
    expect(accepted().map(({ item }) => item.kind)).toEqual(['message', 'edit']);
    expect(chat.botTexts).toEqual([english.emptyMessage]);
  });

  it('a message of 150,000 characters is refused with the limit, one of 20,000 in one word is taken', async () => {
    const { server } = fixture;
    await fixture.start();
    const chat = server.privateChat();
    chat.say('x'.repeat(150_000));
    chat.say('x'.repeat(20_000));
    await acceptedAll(1);
    await server.waitFor(() => chat.botTexts.length === 1);
    expect(chat.botTexts).toEqual([english.tooLong(100_000)]);
  });

  it('a bot that is thrown out goes on with the others', async () => {
    const { server, logger } = fixture;
    await fixture.start();
    server.privateChat().block();
    server.privateChat().say('hello');
    await acceptedAll(1);
    expect(logger.text()).toContain('membership of the bot changed');
  });

  it('the menu offers the control words in both languages', async () => {
    const { server } = fixture;
    await fixture.start();
    await server.waitFor(() => server.commands.size === 2);
    const names = server.commands.get('')?.map(({ command }) => command);
    expect(names).toEqual(['stop', 'new', 'status', 'queue', 'model', 'mcp', 'usage', 'help']);
    expect(server.commands.get('zh')?.[0]?.description).toBe('停止当前任务');
  });
});
