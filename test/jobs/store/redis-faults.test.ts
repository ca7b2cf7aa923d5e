import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { conversationKey } from '../../../src/core/chat/message.js';
import { StoreError } from '../../../src/core/errors.js';
import type { Store } from '../../../src/core/ports/store.js';
import { createRedisStore } from '../../../src/jobs/store/redis/store.js';
import { lostAnswerContract } from '../../contracts/store/lost-answers.js';
import { look, message, startSenders } from '../../contracts/store/samples.js';
import { type FaultyProxy, startFaultyProxy } from '../../fakes/faulty-proxy.js';
import { quietLogger } from '../../fakes/quiet.js';
import { createRecordingLogger } from '../../fakes/recording-logger.js';
import { type Server, startRedis } from '../../services.js';

const key = () => conversationKey('test', 'account', 'space', randomUUID());

async function refusal(opening: Promise<unknown>): Promise<StoreError> {
  const thrown = await opening.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof StoreError) return thrown;
  throw new Error(`no StoreError but ${inspect(thrown)}`);
}

const available = inject('redis');

if ('missing' in available) it.skip(available.missing, () => undefined);
else describe('the store on a Redis with faults', faults);

function faults(): void {
  let server: Server;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    admin.on('error', () => undefined);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });
  const open = (url = server.url, timeoutMs?: number) => createRedisStore({ url, logger: quietLogger, timeoutMs });

  describe('when answers are lost', () => {
    let proxy: FaultyProxy;
    let store: Store;
    beforeAll(async () => {
      proxy = await startFaultyProxy(server.port);
      store = await open(`redis://127.0.0.1:${proxy.port}`);
    });
    afterAll(async () => {
      await store.close();
      await proxy.close();
    });
    lostAnswerContract({
      get store() {
        return store;
      },
      get proxy() {
        return proxy;
      },
      key,
    });
  });

  it('loses nothing it accepted when Redis is killed, and goes on when it is back', async () => {
    const logger = createRecordingLogger();
    const store = await createRedisStore({ url: server.url, logger });
    const { conversations } = store;
    const name = key();
    const { sending, halfway, accepted } = startSenders(conversations, name);
    await halfway;
    await server.kill('SIGKILL');
    expect(accepted.length).toBeLessThan(200);
    const claiming = conversations.claim(name);
    server = await startRedis({ again: server });
    await sending;
    const { epoch } = await claiming;
    const { items, seen } = await look(conversations, name, epoch);
    expect(seen).toBe(200);
    expect(items.map((item) => (item.kind === 'message' ? item.text : '')).sort()).toEqual(accepted.sort());
    expect(logger.lines.map((line) => line.level)).toEqual(['warn', 'info']);
    await store.close();
  });

  it('rejects a call that gets no answer in its time, and recovers by itself', async () => {
    const proxy = await startFaultyProxy(server.port);
    const store = await open(`redis://127.0.0.1:${proxy.port}`, 1_000);
    proxy.silence();
    proxy.deaf(true);
    const started = performance.now();
    const error = await refusal(store.ping());
    expect(error).toMatchObject({ code: 'store_timeout' });
    expect(performance.now() - started).toBeLessThan(3_000);
    proxy.deaf(false);
    await expect(store.ping()).resolves.toBeUndefined();
    await store.close();
    await proxy.close();
  });

  it('answers a ping within seconds although calls wait longer', async () => {
    const proxy = await startFaultyProxy(server.port);
    const store = await open(`redis://127.0.0.1:${proxy.port}`);
    proxy.silence();
    proxy.deaf(true);
    const started = performance.now();
    expect(await refusal(store.ping())).toMatchObject({ code: 'store_timeout' });
    expect(performance.now() - started).toBeLessThan(6_000);
    await proxy.close();
    await store.close();
  });

  it('replaces a connection whose other end went silent', async () => {
    const proxy = await startFaultyProxy(server.port);
    const store = await open(`redis://127.0.0.1:${proxy.port}`, 3_000);
    proxy.silence();
    await expect(store.conversations.accept(key(), message('hello'))).resolves.toMatchObject({ result: 'accepted' });
    await store.close();
    await proxy.close();
  });

  it('never carries out a call after it was rejected', async () => {
    const proxy = await startFaultyProxy(server.port);
    const store = await open(`redis://127.0.0.1:${proxy.port}`, 500);
    proxy.silence();
    proxy.deaf(true);
    const name = key();
    await refusal(store.conversations.accept(name, message('too late')));
    proxy.deaf(false);
    await store.ping();
    expect(await store.conversations.summary(name)).toBeUndefined();
    await store.close();
    await proxy.close();
  });

  it('refuses a server that evicts keys and says how to mend it', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const error = await refusal(open());
    expect(error).toMatchObject({ code: 'store_eviction' });
    expect(error.hint).toContain('noeviction');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await (await open()).close();
  });

  it('warns when Redis writes no append-only file', async () => {
    await admin.config('SET', 'appendonly', 'no');
    const logger = createRecordingLogger();
    await (await createRedisStore({ url: server.url, logger })).close();
    expect(logger.lines).toMatchObject([{ level: 'warn', fields: { address: `127.0.0.1:${server.port}` } }]);
    await admin.config('SET', 'appendonly', 'yes');
  });

  it('calls a full server full', async () => {
    const store = await open();
    await admin.config('SET', 'maxmemory', '1');
    expect(await refusal(store.conversations.accept(key(), message('hello')))).toMatchObject({ code: 'store_full' });
    await admin.config('SET', 'maxmemory', '0');
    await expect(store.conversations.accept(key(), message('hello'))).resolves.toMatchObject({ result: 'accepted' });
    await store.close();
  });

  it('survives that its scripts are thrown away', async () => {
    const store = await open();
    const name = key();
    await store.conversations.accept(name, message('one'));
    await admin.script('FLUSH');
    expect(await store.conversations.accept(name, message('two'))).toEqual({ result: 'accepted', seq: 2 });
    await store.close();
  });

  it('names the address and the fix, never the password, when nothing answers', async () => {
    const started = performance.now();
    const error = await refusal(open('redis://user:s3cret@127.0.0.1:1/0'));
    expect(error).toMatchObject({ code: 'store_unreachable' });
    expect(error.message).toContain('127.0.0.1:1');
    expect(error.hint).toContain('REDIS_URL');
    expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
    expect(performance.now() - started).toBeLessThan(8_000);
  });

  it('tells wrong and missing credentials at once, without showing them', async () => {
    const locked = await startRedis({ settings: ['--requirepass', 'right'] });
    for (const credentials of ['user:s3cret@', ':s3cret@', '']) {
      const error = await refusal(open(`redis://${credentials}127.0.0.1:${locked.port}`));
      expect(error).toMatchObject({ code: 'store_unauthorized' });
      expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
    }
    await (await open(`redis://:right@127.0.0.1:${locked.port}`)).close();
    await locked.stop();
  });

  it('refuses a URL it cannot read without repeating it', async () => {
    for (const url of ['http://user:s3cret@localhost', 'redis://user:s3cret@:bad:port']) {
      const error = await refusal(open(url));
      expect(error).toMatchObject({ code: 'store_url' });
      expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
    }
  });

  it.each([
    ['an old server', 'redis_version:6.0.16', 'store_version'],
    ['a cluster', 'redis_version:7.2.4\r\nredis_mode:cluster', 'store_cluster'],
  ])('refuses %s', async (_, info, code) => {
    const body = `# Server\r\n${info}\r\nmaxmemory_policy:noeviction\r\nloading:0\r\n`;
    const fake = createServer((socket) => {
      socket.on('data', (chunk) => {
        const requests = chunk.toString().match(/\*\d+\r\n\$\d+\r\n\w+/g) ?? [];
        for (const request of requests) {
          socket.write(request.toLowerCase().endsWith('info') ? `$${body.length}\r\n${body}\r\n` : '+OK\r\n');
        }
      });
    });
    await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
    const address = fake.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    expect(await refusal(open(`redis://127.0.0.1:${port}`))).toMatchObject({ code });
    fake.close();
  });

  it('waits while Redis loads its data', async () => {
    await admin.set('filler', 'x');
    for (let i = 0; i < 50; i++) await admin.set(`filler${i}`, 'x'.repeat(100_000));
    await admin.bgrewriteaof();
    await expect
      .poll(async () => await admin.info('persistence'), { timeout: 10_000 })
      .toMatch(/aof_rewrite_in_progress:0[\s\S]*aof_last_bgrewrite_status:ok/);
    await server.kill('SIGKILL');
    const slow = ['--key-load-delay', '20000', '--loading-process-events-interval-bytes', '1024'];
    const logger = createRecordingLogger();
    const restarting = startRedis({ again: server, settings: slow });
    const store = await createRedisStore({ url: server.url, logger });
    server = await restarting;
    expect(logger.lines.map((line) => line.message)).toContainEqual(expect.stringContaining('loading'));
    await expect(store.ping()).resolves.toBeUndefined();
    await store.close();
  });

  it('forgets dedupe keys after a day or two, and keeps younger ones', async () => {
    const store = await open();
    const { conversations } = store;
    const name = key();
    const [old, young] = [message('old'), message('young')];
    await conversations.accept(name, old);
    const [conv] = (await admin.keys(`tl1:*:c:${name}`)) as [string];
    const aDayPasses = () => admin.hincrby(conv, 'seenAt', -25 * 3_600_000);
    await aDayPasses();
    await conversations.accept(name, young);
    expect(await conversations.accept(name, old)).toMatchObject({ result: 'duplicate' });
    await aDayPasses();
    await conversations.accept(name, message('newest'));
    expect(await conversations.accept(name, young)).toMatchObject({ result: 'duplicate' });
    expect(await conversations.accept(name, old)).toMatchObject({ result: 'accepted' });
    await store.close();
  });

  it('forgets usage of two years ago and keeps that of last year', async () => {
    const store = await open();
    const name = key();
    const { epoch } = await store.conversations.claim(name);
    const now = (await look(store.conversations, name, epoch)).now;
    const base = { run: 'r', person: 'p', agent: 'a', model: 'm', inputTokens: 1, outputTokens: 1, cost: 1 };
    const ages = [730, 365, 0].map((days) => ({ ...base, at: now - days * 86_400_000 }));
    await store.conversations.commit(name, epoch, { state: {}, usage: ages });
    await store.conversations.sweep(0);
    const kept = (await store.conversations.usage(0)).filter((entry) => entry.key === name);
    expect(kept.map((entry) => entry.at)).toEqual([ages[1]?.at, ages[2]?.at]);
    await store.close();
  });

  it('forgets choices closed long ago', async () => {
    const store = await open();
    const { conversations } = store;
    const name = key();
    const { epoch } = await conversations.claim(name);
    const choice = (id: string) => ({ id, allowed: ['*'], till: Number.POSITIVE_INFINITY });
    await conversations.commit(name, epoch, { state: {}, openChoices: [choice('old'), choice('open')] });
    await conversations.commit(name, epoch, { state: {}, closeChoices: ['old'] });
    const [rows] = (await admin.keys(`tl1:*:ch:${name}`)) as [string];
    await admin.hset(rows, 'old', JSON.stringify({ allowed: ['*'], till: 1, closed: Date.now() - 25 * 3_600_000 }));
    await conversations.commit(name, epoch, { state: {}, openChoices: [choice('new')] });
    expect((await admin.hkeys(rows)).sort()).toEqual(['new', 'open']);
    await store.close();
  });
}
