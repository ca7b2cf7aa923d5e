import { afterEach, describe, expect, it, vi } from 'vitest';
import { openEventStream } from '../../fakes/event-stream.js';
import { createMemoryRecords } from '../../fakes/memory-ports.js';
import {
  cookiesOf,
  errorOf,
  rawCall,
  startWebServer,
  type WebServer,
  type WebServerOptions,
} from '../../fakes/web-server.js';

const TOKEN = 'a-token-of-the-test-suite';
const servers: WebServer[] = [];

async function start(options: WebServerOptions = {}): Promise<WebServer> {
  const server = await startWebServer(options);
  servers.push(server);
  return server;
}

async function signIn(server: WebServer): Promise<string> {
  const response = await server.post('/api/session', { token: TOKEN });
  expect(response.status).toBe(204);
  return cookiesOf(response);
}

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

describe('with a token', () => {
  it('the page of a browser without session is the sign-in page', async () => {
    const server = await start({ token: TOKEN });
    const response = await server.get('/');
    expect(response.status).toBe(401);
    expect(await response.text()).toContain('id="login"');
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it('a token with spaces opens the API too', async () => {
    const server = await start({ token: 'correct horse  battery' });
    const status = async (authorization: string) => (await server.get('/api/runs', { authorization })).status;
    expect(await status('Bearer correct horse  battery')).toBe(200);
    expect(await status('bearer correct horse  battery')).toBe(200);
    expect(await status('Bearer correct')).toBe(401);
    expect(await status('Bearer ')).toBe(401);
  });

  it('a wrong token gives no session', async () => {
    const server = await start({ token: TOKEN });
    const response = await server.post('/api/session', { token: 'wrong' });
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(await errorOf(response)).toMatchObject({ status: 401, code: 'wrong_token' });
    expect((await server.post('/api/session', { token: TOKEN, user: 'x' })).status).toBe(400);
    expect((await server.post('/api/session', { token: TOKEN }, { origin: 'https://evil.example' })).status).toBe(403);
  });

  it('the right token gives a cookie that opens page, API and event stream, and does not hold the token', async () => {
    const server = await start({ token: TOKEN });
    const response = await server.post('/api/session', { token: TOKEN });
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Strict/);
    expect(cookie).not.toContain(TOKEN);
    const headers = { cookie: cookiesOf(response) };
    expect(await (await server.get('/', headers)).text()).toContain('id="composer"');
    expect((await server.get('/api/conversations/a', headers)).status).toBe(200);
    expect((await server.get('/metrics', headers)).status).toBe(200);
    const stream = await openEventStream(`${server.url}/api/conversations/a/events`, headers);
    await stream.next('run');
    await stream.close();
  });

  it('every call of the API asks for it', async () => {
    const server = await start({ token: TOKEN });
    for (const path of ['/api/conversations/a', '/api/conversations/a/events', '/api/runs', '/api/usage']) {
      expect(await errorOf(await server.get(path)), path).toMatchObject({ status: 401, code: 'unauthorized' });
    }
    for (const call of ['messages', 'choices', 'stop']) {
      expect((await server.post(`/api/conversations/a/${call}`, {})).status, call).toBe(401);
    }
    expect(server.inbox.attempts).toBe(0);
  });

  it('a wrong Bearer token is refused although the cookie is right', async () => {
    const server = await start({ token: TOKEN });
    const cookie = await signIn(server);
    expect((await server.get('/api/runs', { cookie, authorization: 'Bearer wrong' })).status).toBe(401);
  });

  it('a changed or self-made cookie opens nothing', async () => {
    const server = await start({ token: TOKEN });
    const cookie = await signIn(server);
    const [name = '', value = ''] = cookie.split('=');
    const [, signature = ''] = value.split('.');
    const later = String(Date.now() + 1e12);
    for (const forged of [`${later}.${signature}`, `${later}.`, later, `${value}x`, '.', '']) {
      expect((await server.get('/api/runs', { cookie: `${name}=${forged}` })).status, forged).toBe(401);
    }
  });

  it('a session of one kind of cookie is not valid as the other', async () => {
    const server = await start({ token: TOKEN });
    const page = await server.get('/', { cookie: await signIn(server) });
    const person = cookiesOf(page);
    expect(person).toMatch(/^threadloop_person_/);
    const asSession = person.replace('threadloop_person_', 'threadloop_session_');
    expect((await server.get('/api/runs', { cookie: asSession })).status).toBe(401);
  });

  it('sessions outlive a restart and are known to every gateway on the store', async () => {
    const records = createMemoryRecords();
    const first = await start({ token: TOKEN, records });
    const cookie = await signIn(first);
    const second = await start({ token: TOKEN, records });
    expect((await second.get('/api/runs', { cookie })).status).toBe(200);
  });

  it('a new token ends the sessions of the old one', async () => {
    const records = createMemoryRecords();
    const cookie = await signIn(await start({ token: TOKEN, records }));
    const changed = await start({ token: 'another-token', records });
    expect((await changed.get('/api/runs', { cookie })).status).toBe(401);
  });

  it('a session ends after thirty days', async () => {
    const server = await start({ token: TOKEN });
    const cookie = await signIn(server);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 29 * 86_400_000 });
    expect((await server.get('/api/runs', { cookie })).status).toBe(200);
    vi.setSystemTime(Date.now() + 2 * 86_400_000);
    expect((await server.get('/api/runs', { cookie })).status).toBe(401);
  });

  it('the cookie is for https only when the public address is', async () => {
    const server = await start({ token: TOKEN, publicUrl: 'https://bot.example.com' });
    const call = { method: 'POST', path: '/api/session', body: JSON.stringify({ token: TOKEN }) };
    const plain = await rawCall(server.port, call);
    expect(plain.headers['set-cookie']?.[0]).not.toContain('Secure');
    const secure = await rawCall(server.port, { ...call, headers: { host: 'bot.example.com' } });
    expect(secure.headers['set-cookie']?.[0]).toContain('Secure');
  });

  it('a store that is down is told as such, not as a wrong token', async () => {
    const server = await start({ token: TOKEN });
    server.records.down = new Error('connection refused');
    const response = await server.post('/api/session', { token: TOKEN });
    expect(await errorOf(response)).toMatchObject({ status: 503, code: 'store_unavailable' });
  });

  it('a gateway that made its own secret at the same time finds the one that stayed', async () => {
    const records = createMemoryRecords();
    const first = await start({ token: TOKEN, records });
    await signIn(first);
    await records.set('web', 'secret', 'the-secret-of-another-gateway', 1e9);
    const second = await start({ token: TOKEN, records });
    const cookie = await signIn(second);
    expect((await first.get('/api/runs', { cookie })).status).toBe(401);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10_000 });
    expect((await first.get('/api/runs', { cookie })).status).toBe(200);
  });
});

describe('without a token', () => {
  it('the page is the console, and nobody can sign in', async () => {
    const server = await start();
    expect(await (await server.get('/')).text()).toContain('id="composer"');
    expect(await errorOf(await server.post('/api/session', { token: '' }))).toMatchObject({ status: 401 });
  });
});

describe('a person', () => {
  const send = (server: WebServer, headers: Record<string, string>, body = {}) =>
    server.post('/api/conversations/a/messages', { text: 'hello', ...body }, headers);
  const personOf = (server: WebServer, index: number) => server.inbox.accepted[index]?.item;

  it('is a random signed cookie in a browser, the same on every call', async () => {
    const server = await start();
    const page = await server.get('/');
    const cookie = cookiesOf(page);
    expect(page.headers.getSetCookie()[0]).toMatch(/HttpOnly; SameSite=Strict/);
    await send(server, { cookie });
    await send(server, { cookie });
    await send(server, {});
    const [one, two, other] = [0, 1, 2].map(
      (index) => (personOf(server, index) as { person: { id: string } }).person.id,
    );
    expect(one).toMatch(/^web:[\w-]{16}$/);
    expect(two).toBe(one);
    expect(other).not.toBe(one);
    const { you } = (await (await server.get('/api/conversations/a', { cookie })).json()) as { you: { id: string } };
    expect(you.id).toBe(one);
  });

  it('cannot be taken over by changing the cookie', async () => {
    const server = await start();
    const cookie = cookiesOf(await server.get('/'));
    await send(server, { cookie });
    await send(server, { cookie: cookie.replace(/=[\w-]{16}\./, '=AAAAAAAAAAAAAAAA.') });
    const ids = server.inbox.accepted.map(({ item }) => (item as { person: { id: string } }).person.id);
    expect(ids[1]).not.toBe(ids[0]);
    expect(ids[1]).not.toBe('web:AAAAAAAAAAAAAAAA');
  });

  it('is named by a call with the Bearer token', async () => {
    const server = await start({ token: TOKEN });
    const headers = { authorization: `Bearer ${TOKEN}` };
    await send(server, headers, { user: { id: 'u-17', name: ' Ada\nLovelace\u0007 ' } });
    await send(server, headers);
    expect(personOf(server, 0)).toMatchObject({ person: { id: 'web:u-17', name: 'Ada Lovelace' } });
    expect(personOf(server, 1)).toMatchObject({ person: { id: 'web:api' } });
  });

  it('cannot be named by a browser', async () => {
    const open = await start();
    const user = { id: 'u-17', name: 'Ada' };
    expect(await errorOf(await send(open, {}, { user }))).toMatchObject({ status: 403, code: 'user_not_allowed' });
    const guarded = await start({ token: TOKEN });
    expect((await send(guarded, { cookie: await signIn(guarded) }, { user })).status).toBe(403);
    for (const id of ['', 'two words', 'x'.repeat(129), 'a\u0000b']) {
      const refused = await send(guarded, { authorization: `Bearer ${TOKEN}` }, { user: { id, name: 'Ada' } });
      expect(refused.status, id).toBe(400);
    }
  });
});
