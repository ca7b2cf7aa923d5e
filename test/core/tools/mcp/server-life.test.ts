import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMcpServers } from '../../../../src/core/tools/mcp/mcp-servers.js';
import { mcpServerConfig } from '../../../../src/core/tools/mcp/server-config.js';
import { type FakeMcpHttpServer, startFakeMcpHttpServer } from '../../../fakes/mcp-http-server.js';
import { createCountingMetrics } from '../../../fakes/quiet.js';
import { createRecordingLogger } from '../../../fakes/recording-logger.js';
import { waitFor } from '../../../fakes/wait-for.js';
import { contextOf, endpoint, held, type OpenServers, openServers } from './fixture.js';

const signal = new AbortController().signal;

let remote: FakeMcpHttpServer;
let open: OpenServers[];
let time: number;
const clock = { now: () => time };

beforeEach(async () => {
  remote = await startFakeMcpHttpServer('legacy');
  open = [];
  time = 1_000_000;
});

afterEach(async () => {
  await Promise.all(open.map(({ servers }) => servers.close()));
  await remote.close();
});

function use(...given: Parameters<typeof openServers>): OpenServers {
  const opened = openServers(...given);
  open.push(opened);
  return opened;
}

const methods = () => remote.bodies.map(({ method }) => method);
const count = (method: string) => methods().filter((one) => one === method).length;
const unavailable = () => new Response('gone fishing', { status: 503 });

describe('a server that works', () => {
  it('is not touched before somebody needs it', () => {
    const { servers } = use(endpoint(remote.url));
    expect(servers.status()).toEqual([{ server: 'fake', state: 'idle', tools: 0 }]);
    expect(remote.bodies).toEqual([]);
  });

  it('is connected and listed once for everybody', async () => {
    const { servers } = use(endpoint(remote.url));
    const loads = [servers.tools(['fake', 'fake'], signal), servers.tools(['fake'], signal)];
    expect(servers.status()).toMatchObject([{ state: 'connecting' }]);
    const [first, second] = await Promise.all(loads);
    await servers.tools(['fake'], signal);
    expect(first?.tools.map(({ name }) => name)).toEqual(second?.tools.map(({ name }) => name));
    expect([count('initialize'), count('tools/list')]).toEqual([1, 1]);
    expect(servers.status()).toEqual([{ server: 'fake', state: 'ready', tools: first?.tools.length }]);
  });

  it('is sent the configured headers with every request', async () => {
    const mcp = use(endpoint(remote.url, { headers: { Authorization: 'Bearer sesame', 'X-Team': 'blue' } }));
    await mcp.run('echo', { text: 'x' });
    const others = remote.seen.filter((h) => h.authorization !== 'Bearer sesame' || h['x-team'] !== 'blue');
    expect(others).toEqual([]);
  });

  it('is disconnected after a while without use, and is back for the next call', async () => {
    const mcp = use(endpoint(remote.url), { idleCloseMs: 50 });
    const echo = await mcp.tool('echo');
    await waitFor(() => mcp.servers.status()[0]?.state === 'idle');
    expect(await echo.run('{"text":"again"}', contextOf())).toEqual({ content: 'again' });
    expect(count('initialize')).toBe(2);
  });

  it('keeps its connection as long as a call runs', async () => {
    const mcp = use(endpoint(remote.url), { idleCloseMs: 20 });
    expect(await mcp.run('wait', { ms: 200 })).toEqual({ content: 'waited' });
  });

  it('offers the tools it had at once after an idle time, while it is connected beside the run', async () => {
    const mcp = use(endpoint(remote.url), { idleCloseMs: 20 });
    await mcp.tool('echo');
    await waitFor(() => mcp.servers.status()[0]?.state === 'idle');
    const pause = held<undefined>();
    remote.intercept = () => pause.promise;
    await mcp.tool('echo');
    remote.intercept = undefined;
    pause.resolve(undefined);
    await waitFor(() => count('tools/list') === 2);
  });

  it('has its tools read anew when they are ten minutes old, and not used when they are an hour old', async () => {
    const mcp = use(endpoint(remote.url), clock);
    await mcp.tool('echo');
    time += 599_000;
    await mcp.tool('echo');
    expect(count('tools/list')).toBe(1);
    time += 2_000;
    await mcp.tool('echo');
    await waitFor(() => count('tools/list') === 2 && mcp.servers.status()[0]?.state === 'ready');
    time += 3_601_000;
    remote.intercept = unavailable;
    expect((await mcp.servers.tools(['fake'], signal)).skipped).toMatchObject([{ reason: 'failed' }]);
  });

  it('is greeted in the older protocol straight away once it is known to speak that one', async () => {
    const mcp = use(endpoint(remote.url), { idleCloseMs: 20 });
    await mcp.tool('echo');
    await waitFor(() => mcp.servers.status()[0]?.state === 'idle');
    await mcp.run('echo', { text: 'x' });
    expect([count('server/discover'), count('initialize')]).toEqual([1, 2]);
  });

  it('ends a session it was asked to end', async () => {
    const mcp = use(endpoint(remote.url));
    await mcp.tool('echo');
    await mcp.servers.close();
    expect(remote.sessions).toBe(0);
  });

  it('is not used any more after close', async () => {
    const mcp = use(endpoint(remote.url));
    const echo = await mcp.tool('echo');
    await mcp.servers.close();
    expect(await echo.run('{"text":"x"}', contextOf())).toMatchObject({ failed: true });
    expect((await mcp.servers.tools(['fake'], signal)).tools).toEqual([]);
  });

  it('counts connecting for the metrics', async () => {
    const metrics = createCountingMetrics();
    const mcp = use(endpoint(remote.url), { metrics, ...clock });
    remote.intercept = unavailable;
    await mcp.servers.tools(['fake'], signal);
    expect(metrics.counts.get('mcp_failures')).toBe(1);
  });
});

describe('a server whose tools change', () => {
  it.each(['modern', 'legacy'] as const)('is listed once more for changes in a row (%s protocol)', async (era) => {
    const own = await startFakeMcpHttpServer(era);
    const mcp = use(endpoint(own.url));
    try {
      const listed = () => own.bodies.filter(({ method }) => method === 'tools/list').length;
      await mcp.tool('echo');
      // The stream that tells of changes opens beside the first list.
      await waitFor(() => own.streams === 1);
      for (const tool of ['fresh', 'fresher']) {
        await mcp.run('add', { tool });
        own.toolsChanged();
      }
      await waitFor(() => listed() === 2 && mcp.servers.status()[0]?.state === 'ready');
      await mcp.tool('fresh');
      await mcp.tool('fresher');
      expect(listed()).toBe(2);
      for (const tool of ['fresh', 'fresher']) await mcp.run('remove', { tool });
    } finally {
      await mcp.servers.close();
      await own.close();
    }
  });
});

describe('a server that fails', () => {
  it('is skipped with an error in the log, and the others are loaded', async () => {
    const dead = await startFakeMcpHttpServer('modern');
    await dead.close();
    const logger = createRecordingLogger();
    const servers = createMcpServers({
      servers: { fake: endpoint(remote.url), dead: endpoint(dead.url) },
      logger,
    });
    open.push({ ...use(endpoint(remote.url)), servers });
    const { tools, skipped } = await servers.tools(['dead', 'fake'], signal);
    expect(tools.length).toBeGreaterThan(5);
    expect(skipped).toEqual([{ server: 'dead', reason: 'failed', detail: 'the connection was refused' }]);
    const errors = logger.lines.filter(({ level }) => level === 'error');
    expect(errors).toMatchObject([{ message: 'MCP server failed', fields: { server: 'dead', failures: 1 } }]);
  });

  it('is tried again after 1, 2, 4 and 8 s, and not in between', async () => {
    const mcp = use(endpoint(remote.url), clock);
    remote.intercept = unavailable;
    const tries: number[] = [];
    for (const pause of [0, 999, 1, 1_999, 1, 3_999, 1, 7_999, 1]) {
      time += pause;
      const before = remote.bodies.length;
      const { skipped } = await mcp.servers.tools(['fake'], signal);
      expect(skipped).toMatchObject([
        { server: 'fake', reason: 'failed', detail: expect.stringContaining('HTTP 503') },
      ]);
      tries.push(remote.bodies.length > before ? 1 : 0);
    }
    expect(tries).toEqual([1, 0, 1, 0, 1, 0, 1, 0, 1]);
    expect(mcp.servers.status()).toMatchObject([{ state: 'open' }]);
  });

  it('costs a run no time once it failed five times, is tried once a minute beside the runs, and comes back', async () => {
    const mcp = use(endpoint(remote.url), clock);
    remote.intercept = unavailable;
    for (const pause of [0, 1_000, 2_000, 4_000, 8_000]) {
      time += pause;
      await mcp.servers.tools(['fake'], signal);
    }
    expect(mcp.servers.status()).toMatchObject([{ state: 'open', detail: expect.stringContaining('HTTP 503') }]);
    const tried = remote.bodies.length;
    time += 59_999;
    await mcp.servers.tools(['fake'], signal);
    expect(remote.bodies.length).toBe(tried);
    // The attempt of the next minute hangs, and nobody waits for it.
    const hanging = held();
    remote.intercept = () => hanging.promise;
    time += 1;
    expect((await mcp.servers.tools(['fake'], signal)).skipped).toMatchObject([{ reason: 'failed' }]);
    await waitFor(() => remote.bodies.length > tried);
    remote.intercept = undefined;
    hanging.resolve(undefined);
    await waitFor(() => mcp.servers.status()[0]?.state === 'ready');
    expect(await mcp.run('echo', { text: 'back' })).toEqual({ content: 'back' });
  });

  it('is not waited for longer than its time to connect', async () => {
    const hanging = held<Response>();
    remote.intercept = () => hanging.promise;
    const mcp = use(endpoint(remote.url, { connectTimeoutMs: 100 }), clock);
    const { skipped } = await mcp.servers.tools(['fake'], signal);
    expect(skipped).toEqual([{ server: 'fake', reason: 'failed', detail: 'it was not ready within 0.1 s' }]);
    hanging.resolve(unavailable());
  });

  it('is not waited for longer than its time to list', async () => {
    const hanging = held<Response>();
    remote.intercept = (request) =>
      request.headers.get('mcp-session-id') && count('tools/list') ? hanging.promise : undefined;
    const mcp = use(endpoint(remote.url, { listTimeoutMs: 100 }), clock);
    const { skipped } = await mcp.servers.tools(['fake'], signal);
    expect(skipped).toEqual([{ server: 'fake', reason: 'failed', detail: 'it did not list its tools in time' }]);
    hanging.resolve(unavailable());
  });

  it('lets an aborted run go at once while others wait on', async () => {
    const hanging = held();
    remote.intercept = () => hanging.promise;
    const mcp = use(endpoint(remote.url));
    const stop = new AbortController();
    const stopped = mcp.servers.tools(['fake'], stop.signal);
    const waiting = mcp.servers.tools(['fake'], signal);
    stop.abort();
    await expect(stopped).rejects.toMatchObject({ code: 'aborted' });
    remote.intercept = undefined;
    hanging.resolve(undefined);
    expect((await waiting).tools.length).toBeGreaterThan(5);
  });

  it('can be closed while it is being connected', async () => {
    const hanging = held<Response>();
    remote.intercept = () => hanging.promise;
    const mcp = use(endpoint(remote.url));
    const waiting = mcp.servers.tools(['fake'], signal);
    await waitFor(() => remote.bodies.length > 0);
    await mcp.servers.close();
    expect((await waiting).skipped).toMatchObject([{ server: 'fake', reason: 'failed' }]);
    expect(mcp.lines.filter(({ level }) => level === 'error')).toEqual([]);
    hanging.resolve(unavailable());
  });

  it('says during a call that its answer is lost, and serves the next call', async () => {
    const mcp = use(endpoint(remote.url));
    const call = mcp.run('wait', { ms: 30_000 });
    await waitFor(() => count('tools/call') === 1);
    remote.cut();
    expect(await call).toEqual({
      content: expect.stringMatching(/was interrupted: the connection ended\. Its outcome is unknown/),
      failed: true,
    });
    expect(await mcp.run('echo', { text: 'next' })).toEqual({ content: 'next' });
  });

  it('is not called while its next attempt is further away than a call can wait', async () => {
    const mcp = use(endpoint(remote.url), clock);
    const wait = await mcp.tool('wait');
    for (const pause of [1_000, 2_000, 4_000, 0]) {
      const calls = count('tools/call');
      const call = wait.run('{"ms":30000}', contextOf());
      await waitFor(() => count('tools/call') > calls);
      remote.cut();
      await call;
      time += pause;
    }
    expect(await wait.run('{"ms":1}', contextOf())).toEqual({
      content:
        'Error: fake/wait was not called, its server is not available: the connection ended; next attempt in 8 s',
      failed: true,
    });
  });

  it('is called anew when it lost its session, for the request was not looked at', async () => {
    const mcp = use(endpoint(remote.url), clock);
    const echo = await mcp.tool('echo');
    remote.forgetSessions();
    const call = echo.run('{"text":"once"}', contextOf());
    expect(await call).toEqual({ content: 'once' });
    expect(count('initialize')).toBe(2);
  });

  it('is restarted after three calls in a row timed out', async () => {
    const mcp = use(endpoint(remote.url, { callTimeoutMs: 500 }), clock);
    const wait = await mcp.tool('wait');
    for (let calls = 0; calls < 3; calls += 1) {
      expect(mcp.servers.status()).toMatchObject([{ state: 'ready' }]);
      await wait.run('{"ms":30000}', contextOf());
    }
    expect(mcp.servers.status()).toMatchObject([{ state: 'failed' }]);
    time += 1_000;
    await mcp.tool('wait');
    await waitFor(() => count('initialize') === 2);
  });

  it('needs a token: the reason says so, and no text or log line holds the wrong one', async () => {
    remote.intercept = (request) => new Response(`bad: ${request.headers.get('authorization')}`, { status: 401 });
    const mcp = use(endpoint(remote.url, { headers: { Authorization: 'Bearer wrong-secret' } }));
    const { skipped } = await mcp.servers.tools(['fake'], signal);
    expect(skipped).toEqual([{ server: 'fake', reason: 'failed', detail: 'server fake needs a token' }]);
    expect(JSON.stringify([mcp.lines, mcp.servers.status()])).not.toContain('wrong-secret');
  });

  it('repeats its secrets in an error: they are masked', async () => {
    const mcp = use(endpoint(remote.url, { headers: { Authorization: 'Bearer my-secret' } }));
    const echo = await mcp.tool('echo');
    remote.intercept = () => new Response('refused: Bearer my-secret', { status: 500 });
    const outcome = await echo.run('{"text":"x"}', contextOf());
    expect(outcome).toEqual({
      content: 'Error: fake/echo failed: HTTP 500: Error POSTing to endpoint: refused: ***',
      failed: true,
    });
  });

  it('redirects elsewhere: the headers do not follow', async () => {
    const other = await startFakeMcpHttpServer('legacy');
    try {
      remote.intercept = () => new Response(null, { status: 307, headers: { location: other.url } });
      const mcp = use(endpoint(remote.url, { headers: { Authorization: 'Bearer my-secret' } }));
      const { skipped } = await mcp.servers.tools(['fake'], signal);
      expect(skipped).toMatchObject([{ server: 'fake', reason: 'failed' }]);
      expect(other.seen).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('answers with more than can be held: the call fails and the process does not grow', async () => {
    const mcp = use(endpoint(remote.url));
    const echo = await mcp.tool('echo');
    const chunk = new Uint8Array(1024 * 1024).fill(32);
    let sent = 0;
    remote.intercept = () => {
      const body = new ReadableStream({
        pull(controller) {
          sent += 1;
          controller.enqueue(chunk);
        },
      });
      return new Response(body, { headers: { 'content-type': 'application/json' } });
    };
    const outcome = await echo.run('{"text":"x"}', contextOf());
    expect(outcome).toMatchObject({ content: expect.stringContaining('larger than 10485760 bytes'), failed: true });
    expect(sent).toBeLessThan(40);
  });
});

describe('a server that cannot be used', () => {
  it('is skipped with one warning in the log', async () => {
    const logger = createRecordingLogger();
    const servers = createMcpServers({
      servers: {
        off: endpoint(remote.url, { enabled: false }),
        old: mcpServerConfig.parse({ transport: 'sse', url: 'https://example.com/sse' }),
      },
      logger,
    });
    for (let runs = 0; runs < 2; runs += 1) {
      const { tools, skipped } = await servers.tools(['off', 'old', 'nowhere'], signal);
      expect(tools).toEqual([]);
      expect(skipped).toEqual([
        { server: 'off', reason: 'disabled', detail: 'it is disabled in the configuration' },
        { server: 'old', reason: 'unsupported', detail: 'its transport sse is not supported' },
        { server: 'nowhere', reason: 'unknown', detail: 'it is not in the configuration' },
      ]);
    }
    expect(logger.lines.map(({ level, message }) => [level, message])).toEqual(
      Array.from({ length: 3 }, () => ['warn', 'MCP server skipped']),
    );
    expect(servers.status()).toEqual([
      { server: 'off', state: 'idle', tools: 0, detail: 'disabled' },
      { server: 'old', state: 'failed', tools: 0, detail: 'transport sse is not supported' },
    ]);
    expect(remote.bodies).toEqual([]);
    await servers.close();
  });
});
