import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { conversationKey } from '../../../src/core/chat/message.js';
import { StoreError } from '../../../src/core/errors.js';
import type { Store } from '../../../src/core/ports/store.js';
import { createPostgresStore, createSqlStore } from '../../../src/jobs/store/postgres/store.js';
import { lostAnswerContract } from '../../contracts/store/lost-answers.js';
import { look, message, startSenders } from '../../contracts/store/samples.js';
import { type FaultyProxy, startFaultyProxy } from '../../fakes/faulty-proxy.js';
import { quietLogger } from '../../fakes/quiet.js';
import { createDatabase, type Server, startPostgres } from '../../services.js';

const key = () => conversationKey('test', 'account', 'space', randomUUID());

async function refusal(opening: Promise<unknown>): Promise<StoreError> {
  const thrown = await opening.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof StoreError) return thrown;
  throw new Error(`no StoreError but ${inspect(thrown)}`);
}

const available = inject('postgres');

if ('missing' in available) it.skip(available.missing, () => undefined);
else describe('the store on a PostgreSQL with faults', faults);

function faults(): void {
  let server: Server;
  let admin: pg.Pool;
  beforeAll(async () => {
    server = await startPostgres();
    admin = new pg.Pool({ connectionString: server.url, max: 2 });
    admin.on('error', () => undefined);
  });
  afterAll(async () => {
    await admin.end();
    await server.stop();
  });
  const open = async (url = server.url, timeoutMs?: number) =>
    (await createPostgresStore({ url, logger: quietLogger, timeoutMs, connections: 4 })).store;
  const through = (proxy: FaultyProxy) => `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;

  describe('when answers are lost', () => {
    let proxy: FaultyProxy;
    let store: Store;
    beforeAll(async () => {
      proxy = await startFaultyProxy(server.port);
      store = await open(through(proxy));
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

  it('loses nothing it accepted when PostgreSQL crashes, and goes on when it is back', async () => {
    const store = await open();
    const { conversations } = store;
    const name = key();
    const { sending, halfway, accepted } = startSenders(conversations, name);
    await halfway;
    await server.kill('SIGQUIT');
    expect(accepted.length).toBeLessThan(200);
    const claiming = conversations.claim(name);
    server = await startPostgres({ again: server });
    await sending;
    const { epoch } = await claiming;
    const { items, seen } = await look(conversations, name, epoch);
    expect(seen).toBe(200);
    expect(items.map((item) => (item.kind === 'message' ? item.text : '')).sort()).toEqual(accepted.sort());
    await store.close();
  });

  it('goes on when the server breaks all its connections', async () => {
    const store = await open();
    const name = key();
    await Promise.all(Array.from({ length: 8 }, () => store.conversations.accept(name, message('before'))));
    const broken = admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
      'threadloop',
    ]);
    const during = Array.from({ length: 20 }, () => store.conversations.accept(name, message('during')));
    await broken;
    await Promise.all(during);
    const { epoch } = await store.conversations.claim(name);
    expect((await look(store.conversations, name, epoch)).seen).toBe(28);
    await store.close();
  });

  it('rejects a call that gets no answer in its time, and recovers by itself', async () => {
    const proxy = await startFaultyProxy(server.port);
    const store = await open(through(proxy), 1_000);
    proxy.silence();
    proxy.deaf(true);
    const started = performance.now();
    expect(await refusal(store.ping())).toMatchObject({ code: 'store_timeout' });
    expect(performance.now() - started).toBeLessThan(3_000);
    proxy.deaf(false);
    await expect(store.ping()).resolves.toBeUndefined();
    await store.close();
    await proxy.close();
  });

  it('answers a ping within seconds although calls wait longer', async () => {
    const proxy = await startFaultyProxy(server.port);
    const store = await open(through(proxy));
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
    const store = await open(through(proxy), 3_000);
    proxy.silence();
    await expect(store.conversations.accept(key(), message('hello'))).resolves.toMatchObject({ result: 'accepted' });
    await store.close();
    await proxy.close();
  });

  it('rejects a call when no connection becomes free, and never carries it out later', async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 });
    const store = await createSqlStore({ pool, logger: quietLogger, timeoutMs: 500, close: () => pool.end() });
    const name = key();
    const busy = await pool.connect();
    expect(await refusal(store.conversations.accept(name, message('late')))).toMatchObject({ code: 'store_timeout' });
    busy.release();
    expect(await store.conversations.summary(name)).toBeUndefined();
    await store.close();
  });

  it('leaves a shared pool open', async () => {
    const store = await createSqlStore({ pool: admin, logger: quietLogger });
    await store.close();
    await expect(admin.query('SELECT 1')).resolves.toBeDefined();
  });

  it('names the address and the fix, never the password, when nothing answers', async () => {
    const started = performance.now();
    const error = await refusal(open('postgres://user:s3cret@127.0.0.1:1/db'));
    expect(error).toMatchObject({ code: 'store_unreachable' });
    expect(error.message).toContain('127.0.0.1:1/db');
    expect(error.hint).toContain('DATABASE_URL');
    expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
    expect(performance.now() - started).toBeLessThan(8_000);
  });

  it('tells an unknown database, an unknown user and a URL it cannot read', async () => {
    const elsewhere = server.url.replace('/postgres', '/nowhere').replace('postgres@', 'postgres:s3cret@');
    const cases = [
      [server.url.replace(/\/postgres$/, '/nowhere'), 'store_unreachable'],
      [server.url.replace('postgres@', 'nobody:s3cret@'), 'store_unauthorized'],
      [elsewhere.replace('postgres://', 'mysql://'), 'store_url'],
    ] as const;
    for (const [url, code] of cases) {
      const error = await refusal(open(url));
      expect(error).toMatchObject({ code });
      expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
    }
  });

  it('refuses a schema of a newer version and a user who may not make it', async () => {
    const database = await createDatabase(server.url);
    await admin.query('CREATE ROLE guest LOGIN');
    const guest = database.url.replace('postgres@', 'guest@');
    expect(await refusal(open(guest))).toMatchObject({ code: 'store_schema', hint: expect.stringContaining('GRANT') });
    await (await open(database.url)).close();
    const own = new pg.Client({ connectionString: database.url });
    await own.connect();
    await own.query('INSERT INTO threadloop.schema_version (version) VALUES (99)');
    await own.end();
    expect(await refusal(open(database.url))).toMatchObject({ code: 'store_schema' });
    await database.drop();
  });

  it('removes what nobody reads any more, and keeps younger rows', async () => {
    const database = await createDatabase(server.url);
    const own = new pg.Client({ connectionString: database.url });
    await own.connect();
    const store = await open(database.url);
    const name = key();
    const [old, young] = [message('old'), message('young')];
    await store.conversations.accept(name, old);
    await store.conversations.accept(name, young);
    const { epoch } = await store.conversations.claim(name);
    const openChoices = ['old', 'open'].map((id) => ({ id, allowed: ['*'], till: Number.POSITIVE_INFINITY }));
    await store.conversations.commit(name, epoch, { state: {}, openChoices });
    await store.conversations.commit(name, epoch, { state: {}, closeChoices: ['old'] });
    await store.records.set('space', 'gone', 'value', 1);
    await store.records.set('space', 'kept', 'value', 60_000);
    await own.query(`UPDATE threadloop.seen SET at = at - 25 * 3600000 WHERE seq = 1;
      UPDATE threadloop.choice SET closed = closed - 25 * 3600000;
      INSERT INTO threadloop.usage (at, key, entry) SELECT threadloop.clock() - days * 86400000.0, 'k', '{}'
        FROM unnest(ARRAY[730, 365]) days`);
    await expect.poll(() => store.records.get('space', 'gone')).toBeUndefined();
    await store.conversations.sweep(0);
    const counts = await own.query(`SELECT
      (SELECT array_agg(seq) FROM threadloop.seen)::text AS seen, (SELECT array_agg(id) FROM threadloop.choice) AS choices,
      (SELECT array_agg(key) FROM threadloop.record) AS records, (SELECT count(*) FROM threadloop.usage) AS usage`);
    expect(counts.rows).toEqual([{ seen: '{2}', choices: ['open'], records: ['kept'], usage: '1' }]);
    await store.close();
    await own.end();
    await database.drop();
  });

  it('finds silent and due conversations, and rows to remove, by index', async () => {
    const store = await open();
    await store.conversations.accept(key(), message('hello'));
    const client = await admin.connect();
    await client.query('SET enable_seqscan = off');
    const plan = async (text: string) =>
      (await client.query(`EXPLAIN ${text}`)).rows.map((row) => row['QUERY PLAN']).join('\n');
    const from = 'SELECT key FROM threadloop.conversation WHERE';
    expect(await plan(`${from} dirty <= (SELECT threadloop.clock()) - 1::bigint`)).toContain('conversation_dirty');
    expect(await plan(`${from} wake <= (SELECT threadloop.clock())`)).toContain('conversation_wake');
    expect(await plan('SELECT ctid FROM threadloop.seen WHERE at < (SELECT threadloop.clock()) - 1')).toContain(
      'seen_at',
    );
    client.release();
    await store.close();
  });
}
