import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ConfigError, ThreadloopError } from '../src/core/errors.js';
import type { Readiness } from '../src/http.js';
import { openEventStream } from './fakes/event-stream.js';
import { errorOf, rawCall, startWebServer, type WebServer, type WebServerOptions } from './fakes/web-server.js';

const TOKEN = 'a-token-of-the-test-suite';
const bearer = { authorization: `Bearer ${TOKEN}` };
const servers: WebServer[] = [];

async function start(options: WebServerOptions = {}): Promise<WebServer> {
  const server = await startWebServer(options);
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

describe('health', () => {
  it('answers /healthz without a token', async () => {
    const server = await start({ token: TOKEN, role: 'gateway' });
    const response = await server.get('/healthz');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true, role: 'gateway' });
  });

  it('answers /readyz with 503 and the reasons while a part is not ready', async () => {
    let readiness: Readiness = {
      ready: false,
      reasons: [{ part: 'store', reason: 'connection refused', hint: 'start Redis' }],
    };
    const server = await start({ token: TOKEN, readiness: async () => readiness });
    const down = await server.get('/readyz');
    expect(down.status).toBe(503);
    expect(await down.json()).toEqual({ ready: false, role: 'all', reasons: readiness.reasons });
    readiness = { ready: true, reasons: [] };
    expect((await server.get('/readyz')).status).toBe(200);
  });

  it('answers /readyz with 503 when the check itself fails', async () => {
    const server = await start({ readiness: () => Promise.reject(new Error('redis://user:secret@host')) });
    const response = await server.get('/readyz');
    expect(response.status).toBe(503);
    expect(await response.text()).not.toContain('secret');
  });

  it('keeps the reasons from pages that reach it under a foreign name', async () => {
    const server = await start({
      readiness: async () => ({ ready: false, reasons: [{ part: 'store', reason: 'down' }] }),
    });
    const { status, text } = await rawCall(server.port, { path: '/readyz', headers: { host: 'rebound.example' } });
    expect(status).toBe(503);
    expect(JSON.parse(text)).toEqual({ ready: false, role: 'all', reasons: [] });
  });
});

describe('metrics', () => {
  it('asks for the Bearer token', async () => {
    const server = await start({ token: TOKEN });
    expect(await errorOf(await server.get('/metrics'))).toMatchObject({ status: 401, code: 'unauthorized' });
    expect((await server.get('/metrics', { authorization: `Bearer ${TOKEN}x` })).status).toBe(401);
    expect((await server.get('/metrics', { authorization: `Basic ${TOKEN}` })).status).toBe(401);
    const response = await server.get('/metrics', bearer);
    expect(await response.text()).toBe('threadloop_up 1\n');
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it('are open on the loopback address when there is no token', async () => {
    expect((await (await start()).get('/metrics')).status).toBe(200);
  });
});

describe('a worker', () => {
  it('serves health and metrics, but no console and no API', async () => {
    const server = await start({ role: 'worker', web: undefined, token: TOKEN });
    expect((await server.get('/healthz')).status).toBe(200);
    expect((await server.get('/metrics', bearer)).status).toBe(200);
    expect((await server.get('/', bearer)).status).toBe(404);
    expect((await server.get('/api/conversations/a', bearer)).status).toBe(404);
  });
});

describe('listening', () => {
  it('refuses an address that others can reach without a token, and names the fix', async () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.5', 'bot.example.com']) {
      const refused = await start({ host }).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(ConfigError);
      expect((refused as ConfigError).hint).toContain('http.token');
    }
  });

  it('says which port is taken and what to do', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const refused = await start({ port }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ThreadloopError);
    expect(refused).toMatchObject({ code: 'port_taken', hint: expect.stringContaining('--port') });
    other.close();
  });

  it('closes at once although event streams are open', async () => {
    const server = await startWebServer();
    const stream = await openEventStream(`${server.url}/api/conversations/a/events`);
    await stream.next('run');
    const begun = Date.now();
    await server.close();
    expect(Date.now() - begun).toBeLessThan(1_500);
    await stream.close();
    expect(server.relay.subscribers()).toBe(0);
  });
});

describe('Host', () => {
  const hosts = (server: WebServer, host: string, headers = {}) =>
    rawCall(server.port, { path: '/api/conversations/a', headers: { host, ...headers } });

  it('lets only loopback names in when there is no token', async () => {
    const server = await start({ publicUrl: 'https://bot.example.com', allowedHosts: ['intranet'] });
    for (const host of ['localhost', `localhost:${server.port}`, '127.0.0.1', '[::1]:8787', 'LocalHost']) {
      expect((await hosts(server, host)).status, host).toBe(200);
    }
    for (const host of ['rebound.example', 'bot.example.com', 'intranet', '10.0.0.1', 'localhost.evil.example']) {
      const { status, text } = await hosts(server, host);
      expect(status, host).toBe(403);
      expect(JSON.parse(text).error).toMatchObject({
        code: 'host_not_allowed',
        hint: expect.stringContaining('http.'),
      });
    }
  });

  it('lets the configured names and plain addresses in when there is a token', async () => {
    const server = await start({ token: TOKEN, publicUrl: 'https://bot.example.com', allowedHosts: ['intranet:81'] });
    for (const host of ['bot.example.com', 'BOT.example.com:443', 'intranet:81', '10.0.0.1:8787', 'localhost']) {
      expect((await hosts(server, host, bearer)).status, host).toBe(200);
    }
    for (const host of ['rebound.example', 'intranet:82', 'bot.example.com.evil.example']) {
      expect((await hosts(server, host, bearer)).status, host).toBe(403);
    }
  });

  it('refuses what came through a proxy when no token protects the console', async () => {
    const open = await start();
    const { status, text } = await hosts(open, 'localhost', { 'x-forwarded-for': '203.0.113.9' });
    expect(status).toBe(403);
    expect(JSON.parse(text).error).toMatchObject({ code: 'token_needed' });
    const guarded = await start({ token: TOKEN });
    expect((await hosts(guarded, 'localhost', { 'x-forwarded-for': '203.0.113.9', ...bearer })).status).toBe(200);
  });
});

describe('Origin', () => {
  const send = (server: WebServer, headers: Record<string, string>) =>
    server.post('/api/conversations/a/messages', { text: 'hello' }, headers);

  it('takes calls of its own page and of programs', async () => {
    const server = await start();
    expect((await send(server, {})).status).toBe(202);
    expect((await send(server, { origin: server.url })).status).toBe(202);
  });

  it('refuses calls of other pages, also of other programs on this machine', async () => {
    const server = await start();
    for (const origin of ['https://evil.example', 'null', 'http://localhost:3000', `http://localhost:${server.port}`]) {
      expect(await errorOf(await send(server, { origin })), origin).toMatchObject({
        status: 403,
        code: 'origin_not_allowed',
      });
    }
    expect(server.inbox.accepted).toHaveLength(0);
  });

  it('takes calls from the public address although a proxy replaced the Host header', async () => {
    const server = await start({ token: TOKEN, publicUrl: 'https://bot.example.com' });
    expect((await send(server, { origin: 'https://bot.example.com', ...bearer })).status).toBe(202);
    expect((await send(server, { origin: 'https://bot.example.com.evil.example', ...bearer })).status).toBe(403);
  });

  it('lets a link lead to the console but nothing be loaded from another site', async () => {
    const server = await start();
    const foreign = { 'sec-fetch-site': 'cross-site' };
    expect((await rawCall(server.port, { path: '/', headers: foreign })).status).toBe(200);
    expect((await rawCall(server.port, { path: '/api/conversations/a', headers: foreign })).status).toBe(403);
    expect((await rawCall(server.port, { path: '/console/console.js', headers: foreign })).status).toBe(403);
    const sameSite = { 'sec-fetch-site': 'same-site' };
    expect((await rawCall(server.port, { path: '/api/runs', headers: sameSite })).status).toBe(403);
  });
});

describe('bad requests', () => {
  const path = '/api/conversations/a/messages';

  it('answers 413 to a body above 1 MiB, with and without a length', async () => {
    const server = await start();
    const piece = 'x'.repeat(512 * 1024);
    const known = await server.post(path, { text: piece.repeat(3) });
    expect(await errorOf(known)).toMatchObject({ status: 413, code: 'body_too_large' });
    const unknown = await rawCall(server.port, { method: 'POST', path, body: [piece, piece, piece] });
    expect(unknown.status).toBe(413);
  });

  it('takes a body without a length', async () => {
    const server = await start();
    const call = await rawCall(server.port, { method: 'POST', path, body: ['{"text":', '"in pieces"}'] });
    expect(call.status).toBe(202);
    expect(server.inbox.accepted[0]?.item).toMatchObject({ text: 'in pieces' });
  });

  it('answers 400 to what is not JSON, and to unknown or mistyped fields by name', async () => {
    const server = await start();
    expect(await errorOf(await server.post(path, '{"text": '))).toMatchObject({ status: 400, code: 'invalid_json' });
    for (const [body, named] of [
      [{ text: 'a', colour: 'red' }, 'colour'],
      [{ text: 7 }, 'text'],
      [[], 'body'],
      [{ text: 'a', attachments: [{ kind: 'image', ref: 'x', url: 'y' }] }, 'attachments.0'],
    ] as const) {
      const error = await errorOf(await server.post(path, body));
      expect(error).toMatchObject({ status: 400, code: 'invalid_request' });
      expect(error.message).toContain(named);
    }
  });

  it('answers 404 and 405 as errors too', async () => {
    const server = await start();
    expect(await errorOf(await server.get('/nothing'))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await errorOf(await server.get('/api/nothing'))).toMatchObject({ status: 404, code: 'not_found' });
    const wrong = await server.get(path);
    expect(wrong.headers.get('allow')).toBe('POST');
    expect(await errorOf(wrong)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect((await server.post('/healthz', {})).status).toBe(405);
  });

  it.each([
    ['with a length', 'Content-Length: 100\r\n\r\n{"te'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n4\r\n{"te\r\n'],
  ])('logs nothing when the client goes away in the middle of a body %s', async (_, rest) => {
    const server = await start();
    const socket = connect(server.port, '127.0.0.1').resume();
    socket.end(`POST /api/conversations/a/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n${rest}`);
    await once(socket, 'close');
    // Answered after whatever the cut call led to.
    expect((await server.get('/healthz')).status).toBe(200);
    expect(server.logger.lines).toEqual([]);
  });

  it('hides what went wrong inside, and logs it', async () => {
    const server = await start({
      metrics: { text: () => Promise.reject(new Error('secret detail')), contentType: 'text/plain' },
    });
    const error = await errorOf(await server.get('/metrics'));
    expect(error).toMatchObject({ status: 500, code: 'internal' });
    expect(JSON.stringify(error)).not.toContain('secret detail');
    expect(server.logger.text()).toContain('secret detail');
  });
});

describe('every answer', () => {
  it('carries the security headers', async () => {
    const server = await start();
    for (const path of [
      '/',
      '/healthz',
      '/console/console.js',
      '/api/conversations/a',
      '/nothing',
      '/api/usage?by=x',
    ]) {
      const { headers } = await server.get(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy, path).toContain("default-src 'none'");
      expect(policy, path).toContain("script-src 'self'");
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect(policy, path).not.toContain('unsafe');
      expect(headers.get('x-content-type-options'), path).toBe('nosniff');
      expect(headers.get('referrer-policy'), path).toBe('no-referrer');
      expect(headers.get('access-control-allow-origin'), path).toBeNull();
    }
  });
});

describe('webhooks', () => {
  it('get the raw body without token and Host check', async () => {
    const bodies: string[] = [];
    const server = await start({
      token: TOKEN,
      webhooks: [
        {
          path: '/telegram/webhook',
          async handle(request) {
            bodies.push(`${request.headers.get('x-secret')} ${await request.text()}`);
            return new Response('ok');
          },
        },
      ],
    });
    const call = { method: 'POST', path: '/telegram/webhook', body: '{"update_id":1}' };
    const { status, text } = await rawCall(server.port, { ...call, headers: { host: 'any.example', 'x-secret': 's' } });
    expect({ status, text }).toEqual({ status: 200, text: 'ok' });
    expect(bodies).toEqual(['s {"update_id":1}']);
    expect((await server.get('/telegram/webhook')).status).toBe(405);
  });

  it('answer 503 when the update could not be stored, so that it is sent again', async () => {
    const server = await start({
      webhooks: [{ path: '/slack/events', handle: () => Promise.reject(new Error('store down')) }],
    });
    expect(await errorOf(await server.post('/slack/events', {}))).toMatchObject({ status: 503, code: 'not_stored' });
  });
});
