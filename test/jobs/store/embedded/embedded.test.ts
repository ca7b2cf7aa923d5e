import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedDatabase, openEmbedded } from '../../../../src/jobs/store/embedded/open-embedded.js';
import { startVacuum } from '../../../../src/jobs/store/embedded/vacuum.js';
import { createSqlStore } from '../../../../src/jobs/store/postgres/store.js';
import { describeStoreContract } from '../../../contracts/store-contract.js';
import { quietLogger } from '../../../fakes/quiet.js';
import { startChild } from '../../child.js';
import { freshDataDir } from '../../targets.js';

let dataDir: string;
let database: EmbeddedDatabase;

beforeAll(async () => {
  dataDir = await freshDataDir();
  database = await openEmbedded({ dataDir, logger: quietLogger, onProgress: () => undefined });
});

afterAll(async () => {
  await database?.close();
  await rm(dataDir, { recursive: true, force: true });
});

describeStoreContract('the embedded store', async () => {
  const pool = new pg.Pool({ ...database.poolConfig, max: 4 });
  const store = await createSqlStore({ pool, logger: quietLogger, close: () => pool.end() });
  return { store, close: () => store.close() };
});

describe('the embedded database', () => {
  const clients: pg.Client[] = [];

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client(database.poolConfig);
    clients.push(client);
    await client.connect();
    return client;
  }

  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()));
  });

  it('keeps the transactions of its connections apart', async () => {
    const [a, b] = [await connect(), await connect()];
    await a.query('CREATE TABLE apart (who text)');
    await a.query('BEGIN');
    await a.query("INSERT INTO apart VALUES ('a')");
    const seen = b.query('SELECT count(*)::integer AS rows FROM apart');
    await a.query('ROLLBACK');
    expect((await seen).rows).toEqual([{ rows: 0 }]);
  });

  it('rolls back what a connection leaves unfinished', async () => {
    const [a, b] = [await connect(), await connect()];
    await a.query('CREATE TABLE unfinished (who text)');
    await a.query('BEGIN');
    await a.query("INSERT INTO unfinished VALUES ('a')");
    await a.end();
    expect((await b.query('SELECT * FROM unfinished')).rows).toEqual([]);
  });

  it('answers a wrong statement with its error and goes on', async () => {
    const client = await connect();
    await expect(client.query('SELECT 1 / $1::integer', [0])).rejects.toMatchObject({ code: '22012' });
    await expect(client.query('SELEC')).rejects.toMatchObject({ code: '42601' });
    expect((await client.query('SELECT $1::text AS text', ['fine'])).rows).toEqual([{ text: 'fine' }]);
  });

  it('notifies every listener, whoever notifies', async () => {
    const [one, two, writer] = [await connect(), await connect(), await connect()];
    const payloads = [one, two].map(
      (client) =>
        new Promise((resolve) => client.once('notification', ({ channel, payload }) => resolve([channel, payload]))),
    );
    await one.query('LISTEN news');
    await two.query('LISTEN news');
    await writer.query("SELECT pg_notify('news', 'hello')");
    expect(await Promise.all(payloads)).toEqual([
      ['news', 'hello'],
      ['news', 'hello'],
    ]);
  });

  it('carries values of a megabyte', async () => {
    const client = await connect();
    const text = 'ä€😀'.repeat(120_000);
    const { rows } = await client.query<{ text: string }>('SELECT $1::text AS text', [text]);
    expect(rows[0]?.text === text).toBe(true);
  });

  it('marks the space of replaced rows as free now and then', async () => {
    const client = await connect();
    await client.query('CREATE TABLE replaced AS SELECT 1 AS number');
    await client.query('UPDATE replaced SET number = 2');
    const vacuum = startVacuum(database.poolConfig, 20, quietLogger);
    const visible = 'SELECT relallvisible AS pages FROM pg_class WHERE relname = $1';
    let pages = 0;
    while (pages === 0) pages = (await client.query<{ pages: number }>(visible, ['replaced'])).rows[0]?.pages ?? 0;
    await vacuum.stop();
    expect(pages).toBe(1);
  });

  it('refuses a second process, and a second opening in this one', async () => {
    const again = openEmbedded({ dataDir, logger: quietLogger, onProgress: () => undefined });
    await expect(again).rejects.toMatchObject({ code: 'store_locked' });
    const child = startChild(new URL('./open-process.ts', import.meta.url), dataDir);
    expect(await child.message()).toBe('store_locked');
    await child.exited;
  });
});

describe('an engine that a statement broke', () => {
  it('is started anew and has kept what was committed', async () => {
    const own = await freshDataDir();
    const opened = await openEmbedded({ dataDir: own, logger: quietLogger, onProgress: () => undefined });
    const pool = new pg.Pool({ ...opened.poolConfig, max: 1 });
    pool.on('error', () => undefined);
    await pool.query('CREATE TABLE kept AS SELECT 1 AS number');
    await pool.query(
      'CREATE FUNCTION endless(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN endless(n + 1); END $$',
    );
    await expect(pool.query('SELECT endless(1)')).rejects.toThrow(/terminated|embedded database failed/);
    const kept = () =>
      pool.query('SELECT number FROM kept').then(
        ({ rows }) => rows,
        () => undefined,
      );
    let rows = await kept();
    while (rows === undefined) rows = await kept();
    expect(rows).toEqual([{ number: 1 }]);
    await pool.end();
    await opened.close();
    await rm(own, { recursive: true, force: true });
  }, 60_000);
});

describe('a data directory', () => {
  it('is filled at the first start, with a line that says so, also after a kill in the middle of it', async () => {
    const fresh = join(await mkdtemp(join(tmpdir(), 'tl-first-')), 'data');
    const child = startChild(new URL('./open-process.ts', import.meta.url), fresh);
    expect(await child.message()).toBe(`Creating the database in ${fresh} …`);
    while (!(await readdir(fresh)).some((name) => name.startsWith('database.new-')))
      await child.message().catch(() => undefined);
    await child.kill('SIGKILL');
    const lines: string[] = [];
    const first = await openEmbedded({ dataDir: fresh, logger: quietLogger, onProgress: (line) => lines.push(line) });
    expect(lines).toEqual([`Creating the database in ${fresh} …`]);
    await first.close();
    expect((await readdir(fresh)).sort()).toEqual(['database', 'run']);
    expect(await readdir(join(fresh, 'run'))).toEqual([]);
    const second = await openEmbedded({ dataDir: fresh, logger: quietLogger, onProgress: (line) => lines.push(line) });
    await second.close();
    expect(lines).toHaveLength(1);
    await rm(join(fresh, '..'), { recursive: true, force: true });
  }, 120_000);

  it('loses nothing that was committed when its process is killed, and takes back what was not', async () => {
    const killed = await freshDataDir();
    let most = 0;
    for (const writes of [5, 60]) {
      const child = startChild(new URL('./open-process.ts', import.meta.url), killed);
      await child.message<number | string>((message) => message === writes);
      await child.kill('SIGKILL');
      most = Math.max(most, writes);
    }
    const opened = await openEmbedded({ dataDir: killed, logger: quietLogger, onProgress: () => undefined });
    const pool = new pg.Pool({ ...opened.poolConfig, max: 1 });
    const { rows } = await pool.query<{ last: string; distinct: string; open: string }>(
      `SELECT max(number) AS last, count(DISTINCT number) AS distinct, count(*) FILTER (WHERE number < 0) AS open FROM written`,
    );
    expect(Number(rows[0]?.last)).toBeGreaterThanOrEqual(most);
    expect(rows[0]?.distinct).toBe(rows[0]?.last);
    expect(rows[0]?.open).toBe('0');
    await pool.end();
    await opened.close();
    await rm(killed, { recursive: true, force: true });
  }, 120_000);
});
