import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TelegramAdapter } from '../../../src/adapters/telegram/index.js';
import type { Place } from '../../../src/core/chat/message.js';
import { AbortedError, PlatformError } from '../../../src/core/errors.js';
import type { FakeChat } from '../../fakes/telegram-server.js';
import { type Fixture, rendered, startFixture } from './fixture.js';

let fixture: Fixture;
let adapter: TelegramAdapter;
let chat: FakeChat;
let place: Place;

beforeEach(async () => {
  fixture = await startFixture();
  adapter = fixture.adapter();
  chat = fixture.server.privateChat();
  place = placeIn(chat);
});
afterEach(() => fixture.close());

function placeIn(where: FakeChat, more: Partial<Place> = {}): Place {
  const direct = where.type === 'private' ? { direct: true } : {};
  return { platform: 'telegram', account: 'default', space: String(where.id), ...direct, ...more };
}

const post = (text: string, where = place): Promise<string> => adapter.post(where, rendered(text), { nonce: text });

async function failure(call: Promise<unknown>): Promise<PlatformError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof PlatformError) return error;
  throw new Error(`expected a PlatformError, got ${String(error)}`);
}

describe('posting', () => {
  it('works without start, previews no links and lets the worker choose silence', async () => {
    const payload = {
      entities: [{ type: 'bold' as const, offset: 0, length: 2 }],
      reply_markup: { inline_keyboard: [[{ text: 'Go', callback_data: 'a.b' }]] },
    };
    const id = await adapter.post(place, rendered('hi there', payload), { nonce: 'n', notify: false });
    const [call] = fixture.server.callsOf('sendMessage');
    expect(call?.payload).toMatchObject({ link_preview_options: { is_disabled: true }, disable_notification: true });
    expect(call?.payload).not.toHaveProperty('message_thread_id');
    expect(chat.message(id).versions[0]).toMatchObject({ text: 'hi there', entities: payload.entities });
    await post('loud');
    expect(chat.botMessages.at(-1)?.silent).toBe(false);
  });

  it('replies in groups, also when the message is gone, and names topics', async () => {
    const forum = fixture.server.forum();
    const topic = forum.topic('Ideas');
    const asked = forum.say('question', { topic });
    const where = placeIn(forum, { thread: String(topic), replyTo: String(asked.message_id) });
    const first = forum.message(await post('one', where));
    expect(first).toMatchObject({ topicId: topic, replyToId: asked.message_id });
    forum.erase(asked);
    expect(forum.message(await post('two', where)).replyToId).toBeUndefined();
  });

  it.each([
    ['a blocked bot', (one: FakeChat) => one.block(), 'refused'],
    ['a chat nobody knows', () => {}, 'refused'],
  ])('is refused: %s', async (_name, prepare, kind) => {
    prepare(chat);
    const where = _name.startsWith('a chat') ? { ...place, space: '1' } : place;
    expect(await failure(post('x', where))).toMatchObject({ kind, outcomeUnknown: false });
  });

  it('is refused in a closed or unknown topic and in a group the bot was thrown out of', async () => {
    const forum = fixture.server.forum();
    const topic = forum.topic('Ideas');
    expect((await failure(post('x', placeIn(forum, { thread: '999' })))).kind).toBe('refused');
    forum.closeTopic(topic);
    expect((await failure(post('x', placeIn(forum, { thread: String(topic) })))).kind).toBe('refused');
    forum.block();
    expect((await failure(post('x', placeIn(forum)))).kind).toBe('refused');
  });

  it('says what cannot be sent in this form', async () => {
    expect((await failure(post('x'.repeat(4097)))).kind).toBe('invalid');
    expect((await failure(post(''))).kind).toBe('invalid');
    const broken = rendered('x', { entities: [{ type: 'bold', offset: 0, length: 9 }] });
    expect((await failure(adapter.post(place, broken, { nonce: 'n' }))).kind).toBe('invalid');
  });

  it('passes on how long Telegram asks to wait', async () => {
    fixture.server.fail('sendMessage', { status: 429, retryAfter: 7 });
    expect(await failure(post('x'))).toMatchObject({ kind: 'rate_limited', retryAfterMs: 7_000 });
  });

  it.each([
    ['a 502', { status: 502 }],
    ['a 500', { status: 500 }],
    ['a lost answer', { drop: 'after' }],
    ['a cut connection', { drop: 'before' }],
  ] as const)('does not know the outcome after %s', async (_name, fault) => {
    fixture.server.fail('sendMessage', fault);
    expect(await failure(post('x'))).toMatchObject({ kind: 'temporary', outcomeUnknown: true });
  });

  it('knows that nothing was sent when there was no connection', async () => {
    const { server } = fixture;
    const lonely = fixture.adapter({ config: { apiRoot: 'http://127.0.0.1:9' } });
    const error = await failure(lonely.post(place, rendered('x'), { nonce: 'n' }));
    expect(error).toMatchObject({ kind: 'temporary', outcomeUnknown: false });
    expect(error.message).toContain('ECONNREFUSED');
    expect(server.calls).toEqual([]);
  });

  it('follows a group that became a supergroup, and asks the old one only once', async () => {
    const group = fixture.server.group();
    const next = group.migrate();
    await post('one', placeIn(group));
    await post('two', placeIn(group));
    expect(next.botTexts).toEqual(['one', 'two']);
    expect(fixture.server.writes(group)).toHaveLength(1);
    // Another process learns it from the records.
    await fixture.adapter().post(placeIn(group), rendered('three'), { nonce: 'n' });
    expect(fixture.server.writes(group)).toHaveLength(1);
  });

  it('stands when its record cannot be written', async () => {
    const group = fixture.server.group();
    const where = placeIn(group, { replyTo: String(group.say('x').message_id) });
    fixture.records.down = new Error('the store is down');
    expect(await post('one', where)).toBeTruthy();
    expect(fixture.logger.text()).toContain('could not be recorded');
  });

  it('ends when the caller gives up', async () => {
    fixture.server.fail('sendMessage', { hang: 'before' });
    const controller = new AbortController();
    const call = adapter.post(place, rendered('x'), { nonce: 'n', signal: controller.signal });
    await fixture.server.waitFor(() => fixture.server.calls.length === 1);
    controller.abort();
    await expect(call).rejects.toBeInstanceOf(AbortedError);
  });
});

describe('editing and removing', () => {
  it('replaces text and buttons; the same again is a success', async () => {
    const id = await post('one');
    await adapter.edit(place, id, rendered('two'));
    await adapter.edit(place, id, rendered('two'));
    expect(chat.message(id).versions.map(({ text }) => text)).toEqual(['one', 'two']);
  });

  it('says that a message is gone, or not ours', async () => {
    const id = await post('one');
    chat.erase(id);
    expect((await failure(adapter.edit(place, id, rendered('two')))).kind).toBe('gone');
    const foreign = String(chat.say('mine').message_id);
    expect((await failure(adapter.edit(place, foreign, rendered('two')))).kind).toBe('gone');
    chat.block();
    expect((await failure(adapter.edit(place, id, rendered('two')))).kind).toBe('refused');
  });

  it('knows that repeating an edit is harmless', async () => {
    const id = await post('one');
    fixture.server.fail('editMessageText', { status: 502 });
    expect(await failure(adapter.edit(place, id, rendered('two')))).toMatchObject({
      kind: 'temporary',
      outcomeUnknown: false,
    });
  });

  it('removes once, and again without complaint', async () => {
    const id = await post('one');
    await adapter.remove(place, id);
    await adapter.remove(place, id);
    expect(chat.botTexts).toEqual([]);
  });
});

describe('signs of life', () => {
  it('shows typing in the topic, and marks messages with emoji Telegram allows', async () => {
    const forum = fixture.server.forum();
    const topic = forum.topic('Ideas');
    await adapter.status?.(placeIn(forum, { thread: String(topic) }));
    expect(fixture.server.callsOf('sendChatAction')[0]?.payload).toMatchObject({
      action: 'typing',
      message_thread_id: topic,
    });
    const message = forum.say('x', { topic });
    await adapter.react?.(placeIn(forum), String(message.message_id), 'queued');
    expect(forum.message(message).reaction).toBe('✍');
    await adapter.react?.(placeIn(forum), String(message.message_id), 'seen');
    expect(forum.message(message).reaction).toBe('👀');
  });

  it('is slower in groups, and no minute of a group sees more than twenty calls', () => {
    const group = placeIn(fixture.server.group());
    expect(adapter.editIntervalMs(place)).toBe(1_100);
    expect(adapter.editIntervalMs(group)).toBe(3_100);
    const perWindow = (where: Place, index: number, ms: number): number => {
      const budget = adapter.budgets(where)[index];
      return budget ? budget.burst + Math.floor(ms / budget.everyMs) : Number.POSITIVE_INFINITY;
    };
    expect(perWindow(group, 0, 60_000)).toBeLessThanOrEqual(20);
    expect(perWindow(place, 1, 1_000)).toBeLessThanOrEqual(30);
    expect(adapter.budgets(place)[0]?.bucket).not.toBe(adapter.budgets(group)[0]?.bucket);
    expect(adapter.budgets(place)[1]?.bucket).toBe(adapter.budgets(group)[1]?.bucket);
  });
});

describe('the token', () => {
  it('is in no error and no log line, whatever goes wrong', async () => {
    const { server, logger } = fixture;
    const secret = server.token.split(':')[1] ?? '';
    const errors: unknown[] = [];
    const keep = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => errors.push(error));
    const lonely = fixture.adapter({ config: { apiRoot: 'http://127.0.0.1:9' } });
    await keep(lonely.post(place, rendered('x'), { nonce: 'n' }));
    await lonely.start(fixture.ports({ leases: { acquire: async () => true, release: async () => {} } }));
    for (const fault of [{ status: 502 }, { status: 400 }, { drop: 'before' }, { status: 401 }] as const) {
      server.fail('sendMessage', fault);
      await keep(post('x'));
    }
    await lonely.stop();
    const shown = errors.map((error) => {
      if (!(error instanceof PlatformError)) throw error;
      return `${error.message} ${error.stack} ${error.hint} ${JSON.stringify(error)} ${String(error.cause)}`;
    });
    expect(shown).toHaveLength(5);
    expect(shown.join('\n')).toContain('Telegram did not answer');
    expect(shown.join('\n')).not.toContain(secret);
    expect(logger.lines.length).toBeGreaterThan(0);
    expect(logger.text()).not.toContain(secret);
  });
});
