import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TelegramAdapter } from '../../../src/adapters/telegram/index.js';
import { type Fixture, startFixture } from './fixture.js';

const SECRET = 'a-secret-of-our-own-0123456789';
let fixture: Fixture;
let http: Server;
let origin: string;
let adapter: TelegramAdapter | undefined;

beforeEach(async () => {
  fixture = await startFixture();
  http = createServer(async (request, response) => {
    const body = await text(request);
    const answer = await adapter?.webhook?.handle({ headers: request.headers, body });
    response.writeHead(answer?.status ?? 404).end();
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await fixture.close();
  http.closeAllConnections();
  http.close();
});

async function start(): Promise<TelegramAdapter> {
  adapter = fixture.adapter({ config: { mode: 'webhook', webhookSecret: SECRET }, deps: { publicUrl: origin } });
  await adapter.start(fixture.ports());
  return adapter;
}
const acceptedAll = (count: number) => fixture.server.waitFor(() => fixture.inbox.accepted.length >= count);
const texts = () => fixture.inbox.accepted.map(({ item }) => (item.kind === 'message' ? item.text : item.kind));

async function post(body: string, secret = SECRET): Promise<number> {
  const headers = { 'x-telegram-bot-api-secret-token': secret };
  const response = await fetch(`${origin}/telegram/webhook`, { method: 'POST', headers, body });
  return response.status;
}

describe('mode webhook', () => {
  it('sets the webhook with the secret and takes updates in, in the order of each chat', async () => {
    const { server } = fixture;
    await start();
    expect(server.webhookUrl).toBe(`${origin}/telegram/webhook`);
    expect(server.callsOf('setWebhook')[0]?.payload).toMatchObject({
      secret_token: SECRET,
      allowed_updates: ['message', 'edited_message', 'callback_query', 'my_chat_member'],
    });
    const chat = server.privateChat();
    for (const word of ['one', 'two', 'three']) chat.say(word);
    await acceptedAll(3);
    expect(texts()).toEqual(['one', 'two', 'three']);
    expect(server.callsOf('getUpdates')).toEqual([]);
  });

  it('answers 503 while the store is down; Telegram sends it again and nothing is lost', async () => {
    const { server, inbox } = fixture;
    await start();
    inbox.onAccept = () => {
      if (inbox.attempts <= 2) throw new Error('the store is down');
    };
    const chat = server.privateChat();
    chat.say('one');
    chat.say('two');
    await acceptedAll(2);
    expect(texts()).toEqual(['one', 'two']);
    await server.waitFor(() => server.pending.length === 0);
    expect(server.deliveries.map(({ status }) => status)).toEqual([503, 503, 200, 200]);
  });

  it('answers 200 only after the item is accepted', async () => {
    const { server, inbox } = fixture;
    await start();
    let release = (): void => {};
    inbox.onAccept = () => new Promise<void>((resolve) => (release = resolve));
    server.privateChat().say('one');
    await server.waitFor(() => inbox.attempts === 1);
    // Two more calls go through meanwhile: an early 200 would be here by now.
    for (const body of ['{"update_id":1}', '{"update_id":2}']) expect(await post(body)).toBe(200);
    expect(server.deliveries).toEqual([]);
    release();
    await server.waitFor(() => server.deliveries.length === 1);
  });

  it('drops what is delivered twice', async () => {
    const { server } = fixture;
    await start();
    const chat = server.privateChat();
    const message = chat.say('one');
    await acceptedAll(1);
    expect(await post(JSON.stringify({ update_id: 1, message }))).toBe(200);
    expect(texts()).toEqual(['one']);
  });

  it('refuses calls without the right secret', async () => {
    await start();
    const update = JSON.stringify({ update_id: 1, message: fixture.server.privateChat().say('x') });
    await acceptedAll(1);
    const { attempts } = fixture.inbox;
    expect(await post(update, 'a-secret-of-our-own-0123456788')).toBe(401);
    expect(await post(update, '')).toBe(401);
    expect(await post(update)).toBe(200);
    const bare = await fetch(`${origin}/telegram/webhook`, { method: 'POST', body: update });
    expect(bare.status).toBe(401);
    expect(fixture.inbox.attempts).toBe(attempts + 1);
  });

  it('refuses what is no update and what is too big', async () => {
    await start();
    for (const body of ['', '{', '[]', 'null', '{"update_id":"1"}', '"x"']) expect(await post(body)).toBe(400);
    expect(await post(`{"update_id":1,"x":"${'x'.repeat(1024 * 1024)}"}`)).toBe(413);
    expect(await post('{"update_id":1,"message":{"text":"no chat"}}')).toBe(200);
    expect(fixture.inbox.attempts).toBe(0);
  });

  it('is not ready, and keeps Telegram waiting, until the bot is known', async () => {
    const { server } = fixture;
    server.fail('getMe', { status: 500, times: 3 });
    const one = await start();
    expect(one.health().ready).toBe(false);
    expect(await post('{"update_id":1}')).toBe(503);
    await server.waitFor(() => one.health().ready);
    expect(await post('{"update_id":1}')).toBe(200);
    await one.stop();
    expect(await post('{"update_id":1}')).toBe(503);
  });

  it('ends with the fix when the token is wrong', async () => {
    adapter = fixture.adapter({
      config: { mode: 'webhook', webhookSecret: SECRET, botToken: '7000000001:wrong' },
      deps: { publicUrl: origin },
    });
    await adapter.start(fixture.ports());
    expect(adapter.health()).toMatchObject({ ready: false, hint: expect.stringContaining('botToken') });
  });

  it('leaves setting the webhook to the operator when there is no public address', async () => {
    const { server } = fixture;
    adapter = fixture.adapter({ config: { mode: 'webhook', webhookSecret: SECRET } });
    await adapter.start(fixture.ports());
    await fetch(
      `${server.apiRoot}/bot${server.token}/setWebhook?url=${origin}/telegram/webhook&secret_token=${SECRET}`,
    );
    server.privateChat().say('one');
    await acceptedAll(1);
    expect(server.callsOf('setWebhook')).toHaveLength(1);
  });

  it('has a path of its own for each account', () => {
    const config = { mode: 'webhook', webhookSecret: SECRET, account: 'second' };
    expect(fixture.adapter({ config }).webhook?.path).toBe('/telegram/webhook/second');
    expect(fixture.adapter().webhook).toBeUndefined();
  });
});
