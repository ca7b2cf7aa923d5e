import { Api, GrammyError } from 'grammy';
import type { MessageEntity, Update } from 'grammy/types';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTelegramServer, type TelegramServer } from './telegram-server.js';

let server: TelegramServer;
let api: Api;

beforeEach(async () => {
  server = await startTelegramServer({ conflictDelayMs: 30 });
  api = new Api(server.token, { apiRoot: server.apiRoot });
});
afterEach(() => server.close());

async function refusal(call: Promise<unknown>): Promise<GrammyError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof GrammyError) return error;
  throw new Error(`expected a refusal, got ${String(error)}`);
}

const ids = (updates: readonly Update[]): number[] => updates.map((update) => update.update_id);

describe('getUpdates', () => {
  it('holds an empty answer back and returns as soon as something happens', async () => {
    const chat = server.privateChat();
    const waiting = api.getUpdates({ timeout: 20 });
    await server.waitFor(() => server.polling);
    chat.say('hello');
    expect((await waiting)[0]?.message?.text).toBe('hello');
  });

  it('repeats updates until a higher offset confirms them', async () => {
    const chat = server.privateChat();
    chat.say('one');
    chat.say('two');
    const [one, two] = ids(await api.getUpdates());
    expect(ids(await api.getUpdates())).toEqual([one, two]);
    expect(ids(await api.getUpdates({ offset: two ?? 0 }))).toEqual([two]);
    expect(ids(await api.getUpdates())).toEqual([two]);
    expect(server.pending).toHaveLength(1);
  });

  it('ends the waiting poll with 409 when a second one comes', async () => {
    const first = refusal(api.getUpdates({ timeout: 20 }));
    await server.waitFor(() => server.polling);
    const second = api.getUpdates({ timeout: 20 });
    expect((await first).error_code).toBe(409);
    server.privateChat().say('hello');
    expect(await second).toHaveLength(1);
  });

  it('is refused while a webhook is set', async () => {
    await api.setWebhook('http://127.0.0.1:9/hook');
    const error = await refusal(api.getUpdates());
    expect(error.error_code).toBe(409);
    expect(error.description).toContain('webhook is active');
    await api.deleteWebhook();
    expect(await api.getUpdates()).toEqual([]);
  });

  it('gives only the kinds asked for', async () => {
    const chat = server.privateChat();
    await api.getUpdates({ allowed_updates: ['edited_message'] });
    const message = chat.say('one');
    chat.edit(message, 'two');
    expect((await api.getUpdates()).map((update) => Object.keys(update))).toEqual([['edited_message', 'update_id']]);
  });
});

describe('tokens and methods', () => {
  it('refuses a wrong token with 401, a malformed one and an unknown method with 404', async () => {
    const wrong = new Api('7000000001:another', { apiRoot: server.apiRoot });
    expect((await refusal(wrong.getMe())).error_code).toBe(401);
    const malformed = new Api('nonsense', { apiRoot: server.apiRoot });
    expect((await refusal(malformed.getMe())).error_code).toBe(404);
    expect((await refusal(api.close())).error_code).toBe(404);
  });
});

describe('sending', () => {
  const send = (text: string, entities: MessageEntity[] = []) =>
    api.sendMessage(server.privateChat().id, text, { entities });

  it('counts 4,096 UTF-16 units and refuses more, and nothing', async () => {
    expect((await send('x'.repeat(4096))).text).toHaveLength(4096);
    expect((await refusal(send('x'.repeat(4097)))).description).toBe('Bad Request: message is too long');
    expect((await refusal(send('😀'.repeat(2049)))).description).toBe('Bad Request: message is too long');
    expect((await refusal(send(' \n '))).description).toBe('Bad Request: message text is empty');
  });

  it.each<[string, string, MessageEntity[]]>([
    ['out of bounds', 'abc', [{ type: 'bold', offset: 1, length: 3 }]],
    ['empty', 'abc', [{ type: 'bold', offset: 1, length: 0 }]],
    ['cutting a surrogate pair', '😀', [{ type: 'bold', offset: 0, length: 1 }]],
    [
      'crossing',
      'abcdef',
      [
        { type: 'bold', offset: 0, length: 3 },
        { type: 'italic', offset: 2, length: 3 },
      ],
    ],
    [
      'code inside bold',
      'abcdef',
      [
        { type: 'bold', offset: 0, length: 6 },
        { type: 'code', offset: 2, length: 2 },
      ],
    ],
    [
      'quote inside quote',
      'abcdef',
      [
        { type: 'blockquote', offset: 0, length: 6 },
        { type: 'blockquote', offset: 2, length: 2 },
      ],
    ],
    [
      'a link with a dangerous scheme',
      'abc',
      [{ type: 'text_link', offset: 0, length: 3, url: 'javascript:alert(1)' }],
    ],
    [
      'a hundred and one',
      'a'.repeat(101),
      [...Array(101).keys()].map((at) => ({ type: 'bold', offset: at, length: 1 })),
    ],
  ])('refuses entities: %s', async (_name, text, entities) => {
    expect((await refusal(send(text, entities))).error_code).toBe(400);
  });

  it('stores nested entities, trims the ends and turns control characters into spaces', async () => {
    const message = await send(' \u0001a\tb\u202ec ', [{ type: 'bold', offset: 2, length: 5 }]);
    expect(message.text).toBe('a bc');
    expect(message.entities).toEqual([{ type: 'bold', offset: 0, length: 4 }]);
  });

  it('refuses callback data above 64 bytes and keyboards of another shape', async () => {
    const chat = server.privateChat();
    const withData = (callback_data: string) =>
      api.sendMessage(chat.id, 'x', { reply_markup: { inline_keyboard: [[{ text: 'a', callback_data }]] } });
    await withData('é'.repeat(32));
    expect((await refusal(withData('é'.repeat(33)))).description).toBe('Bad Request: BUTTON_DATA_INVALID');
    const odd = { inline_keyboard: [{ text: 'a', callback_data: 'x' }] } as never;
    expect((await refusal(api.sendMessage(chat.id, 'x', { reply_markup: odd }))).error_code).toBe(400);
  });

  it('refuses topics that do not exist and messages to chats that are closed to the bot', async () => {
    const chat = server.privateChat();
    const wrongTopic = api.sendMessage(chat.id, 'x', { message_thread_id: 7 });
    expect((await refusal(wrongTopic)).description).toBe('Bad Request: message thread not found');
    expect((await refusal(api.sendMessage(1, 'x'))).description).toBe('Bad Request: chat not found');
    chat.block();
    expect((await refusal(api.sendMessage(chat.id, 'x'))).error_code).toBe(403);
    const group = server.group();
    const next = group.migrate();
    expect((await refusal(api.sendMessage(group.id, 'x'))).parameters).toEqual({ migrate_to_chat_id: next.id });
  });
});

describe('editing and deleting', () => {
  it('keeps every version, and refuses the same again, foreign and deleted messages', async () => {
    const chat = server.privateChat();
    const { message_id } = await api.sendMessage(chat.id, 'one');
    await api.editMessageText(chat.id, message_id, 'two');
    expect(chat.message(message_id).versions.map((version) => version.text)).toEqual(['one', 'two']);
    const same = await refusal(api.editMessageText(chat.id, message_id, 'two'));
    expect(same.description).toContain('message is not modified');
    const foreign = await refusal(api.editMessageText(chat.id, chat.say('mine').message_id, 'x'));
    expect(foreign.description).toBe("Bad Request: message can't be edited");
    await api.deleteMessage(chat.id, message_id);
    const gone = await refusal(api.editMessageText(chat.id, message_id, 'three'));
    expect(gone.description).toBe('Bad Request: message to edit not found');
    expect(chat.botTexts).toEqual([]);
  });
});

describe('pressing', () => {
  it('queues a callback query that can be answered for a while', async () => {
    const chat = server.privateChat();
    const keyboard = { inline_keyboard: [[{ text: 'Yes', callback_data: 'q.yes' }]] };
    const { message_id } = await api.sendMessage(chat.id, 'Sure?', { reply_markup: keyboard });
    const press = chat.press(message_id, 'Yes');
    const [update] = await api.getUpdates();
    expect(update?.callback_query?.data).toBe('q.yes');
    await api.answerCallbackQuery(press.id, { text: 'Thanks' });
    expect(press.answer?.text).toBe('Thanks');
    const unknown = await refusal(api.answerCallbackQuery('1'));
    expect(unknown.description).toContain('query is too old');
  });
});

describe('limits and faults', () => {
  it('answers 429 with the wait when the real limits are on', async () => {
    const strict = await startTelegramServer({ limits: { chatBurst: 2 } });
    const strictApi = new Api(strict.token, { apiRoot: strict.apiRoot });
    const chat = strict.privateChat();
    await strictApi.sendMessage(chat.id, '1');
    await strictApi.sendMessage(chat.id, '2');
    const error = await refusal(strictApi.sendMessage(chat.id, '3'));
    expect(error.parameters.retry_after).toBe(1);
    await strict.close();
  });

  it('counts twenty a minute for a group', async () => {
    const strict = await startTelegramServer({ limits: { chatPerSecond: 1000, overallPerSecond: 1000 } });
    const strictApi = new Api(strict.token, { apiRoot: strict.apiRoot });
    const group = strict.group();
    for (let i = 0; i < 20; i++) await strictApi.sendMessage(group.id, String(i));
    const error = await refusal(strictApi.sendMessage(group.id, 'x'));
    expect(error.parameters.retry_after).toBeGreaterThan(55);
    await strict.close();
  });

  it('hits exactly the scripted calls, and can lose an answer after the effect', async () => {
    const chat = server.privateChat();
    server.fail('sendMessage', { nth: 2, status: 500 });
    await api.sendMessage(chat.id, 'one');
    expect((await refusal(api.sendMessage(chat.id, 'two'))).error_code).toBe(500);
    server.fail('sendMessage', { drop: 'after' });
    await expect(api.sendMessage(chat.id, 'three')).rejects.toThrow('Network request');
    server.fail('sendMessage', { drop: 'before' });
    await expect(api.sendMessage(chat.id, 'four')).rejects.toThrow('Network request');
    expect(chat.botTexts).toEqual(['one', 'three']);
    expect(server.writes(chat).map((call) => call.status)).toEqual([200, 500, 0, 0]);
  });
});
