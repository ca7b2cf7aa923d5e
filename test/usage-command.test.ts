import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { UsageAnswer, UsageRow } from '../src/adapters/web/usage.js';
import { loadConfig } from '../src/config.js';
import type { UsageEntry } from '../src/core/ports/store.js';
import { readUsage, usageTable } from '../src/usage-command.js';
import { startWebServer } from './fakes/web-server.js';
import { describeOnTargets, freshDataDir, open } from './jobs/targets.js';

const QUERY = { by: 'model', since: '7d' } as const;
const TOKEN = 'a-token-of-the-test-suite';

let folder: string;
let notes: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'threadloop-usage-'));
  notes = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const note = (line: string): void => void notes.push(line);

function configOf(settings: object) {
  const file = join(folder, 'config.yaml');
  writeFileSync(file, stringify(settings));
  return loadConfig({ file, env: {} });
}

function entry(fields: Partial<UsageEntry>): UsageEntry {
  const shared = { at: Date.now(), run: 'r1', person: 'web:a', agent: 'assistant', model: 'small' };
  return { ...shared, inputTokens: 1_000, outputTokens: 10, cost: 0.25, ...fields };
}

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 1;
}

describeOnTargets('the usage of a store', (make) => {
  it('is read while nothing else runs, and leaves the store free', async () => {
    const target = await make();
    const { redisUrl, postgresUrl, dataDir } = target.config;
    const store = redisUrl ? { redisUrl } : postgresUrl ? { postgresUrl } : { dataDir };
    const config = configOf({ store });
    const before = await open(target);
    const { epoch } = await before.store.conversations.claim('web:default::x');
    const own = entry({ model: '', inputTokens: 0, outputTokens: 0, cost: 1, source: 'tool', tool: 'search' });
    await before.store.conversations.commit('web:default::x', epoch, { state: {}, usage: [entry({}), own] });
    await before.close();
    const answer = await readUsage(config, QUERY, note);
    expect(answer).toMatchObject({
      total: { requests: 1, toolCalls: 1, cost: 1.25, sources: { agent: 0.25, tool: 1 } },
    });
    expect(answer.rows.map(({ key }) => key)).toEqual(['', 'small']);
    expect((await readUsage(config, { by: 'tool', since: '1h' }, note)).rows.map(({ key }) => key)).toEqual([
      'search',
      '',
    ]);
    expect(notes).toEqual([]);
    await target.remove();
  }, 120_000);
});

describe('the usage of an embedded store', () => {
  it('is asked of the running gateway, with its token', async () => {
    const dataDir = await freshDataDir();
    const holder = await open({ kind: 'embedded', config: { dataDir }, remove: async () => undefined });
    const server = await startWebServer({ token: TOKEN });
    server.usage.push({ ...entry({ person: 'web:b' }), key: 'k' });
    const settings = (http: object) => configOf({ store: { dataDir }, http });
    const config = settings({ port: server.port, token: TOKEN });
    const answer = await readUsage(config, { by: 'user', since: '7d' }, note);
    expect(answer).toMatchObject({ by: 'user', rows: [{ key: 'web:b', requests: 1, cost: 0.25 }] });
    expect(notes).toEqual([`A running gateway uses ${dataDir}, so it is asked: ${server.url}`]);

    const stranger = readUsage(settings({ port: server.port, token: 'another' }), QUERY, note);
    await expect(stranger).rejects.toMatchObject({ code: 'gateway_refused', hint: expect.stringContaining('token') });
    const port = await closedPort();
    const nobody = readUsage(settings({ port, token: TOKEN }), QUERY, note);
    await expect(nobody).rejects.toMatchObject({
      ...{ code: 'gateway_unreachable', hint: expect.stringContaining('--port') },
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await server.close();
    await holder.close();
    rmSync(dataDir, { recursive: true, force: true });
  }, 120_000);

  it('is nothing where there is none, and makes none', async () => {
    const dataDir = join(folder, 'data');
    expect(await readUsage(configOf({ store: { dataDir } }), QUERY, note)).toMatchObject({ rows: [], complete: true });
    expect(notes).toEqual([`Nothing is stored in ${dataDir} yet.`]);
    expect(existsSync(dataDir)).toBe(false);
  });
});

describe('the table', () => {
  const row = (key: string, cost: number): UsageRow => ({
    ...{ key, requests: 12, toolCalls: 1, inputTokens: 1_234_567, outputTokens: 89, cost },
    sources: { agent: cost, compression: 0, tool: 0 },
  });
  const answer = (rows: UsageRow[], fields: Partial<UsageAnswer> = {}): UsageAnswer => ({
    ...{ by: 'user', since: 0, rows, total: row('total', 3), complete: true },
    ...fields,
  });

  it('is aligned, also with wide characters, and ends with the sum', () => {
    expect(usageTable(answer([row('web:王', 2), row('telegram:1', 1)]), '7d').split('\n')).toEqual([
      'user        requests  tokens in  tokens out  priced tool calls    cost  of it tools  compression',
      '──────────  ────────  ─────────  ──────────  ─────────────────  ──────  ───────────  ───────────',
      'web:王            12  1,234,567          89                  1  2.0000       0.0000       0.0000',
      'telegram:1        12  1,234,567          89                  1  1.0000       0.0000       0.0000',
      '──────────  ────────  ─────────  ──────────  ─────────────────  ──────  ───────────  ───────────',
      'total             12  1,234,567          89                  1  3.0000       0.0000       0.0000',
      '',
    ]);
  });

  it('shows names without what steers a terminal, and says what has no name', () => {
    const first = (rows: UsageRow[], fields: Partial<UsageAnswer>) =>
      usageTable(answer(rows, fields), '7d').split('\n')[2] ?? '';
    expect(first([row('a\u001b[31m\nb', 1)], {})).toMatch(/^a\[31m b /);
    expect(first([row('', 1)], { by: 'model' })).toMatch(/^\(tools themselves\) /);
    expect(first([row('', 1)], { by: 'tool' })).toMatch(/^\(no tool\) /);
  });

  it('says that there is nothing, or more than it shows', () => {
    expect(usageTable(answer([]), '3h')).toBe('No usage in the last 3h.\n');
    expect(usageTable(answer([row('a', 1)], { complete: false }), '7d')).toContain('the newest is missing');
  });
});

describe('threadloop usage', () => {
  async function run(args: readonly string[], env: Record<string, string> = {}) {
    const cli = join(import.meta.dirname, '../src/cli.ts');
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), cli, 'usage', ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const [code] = await once(child, 'close');
    return { code: code as number | null, stdout, stderr };
  }

  it('prints the JSON of the API and exits with 0', async () => {
    const { code, stdout, stderr } = await run(['--json', '--by', 'tool']);
    expect(JSON.parse(stdout)).toMatchObject({ by: 'tool', rows: [] });
    expect(stderr).toBe('Nothing is stored in ./data yet.\n');
    expect(code).toBe(0);
  }, 120_000);

  it('exits with 1 when the store does not answer, and with 2 for wrong use', async () => {
    const failed = await run([], { REDIS_URL: `redis://:pass-word@127.0.0.1:${await closedPort()}` });
    expect(failed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('cannot be reached') });
    expect(failed.stderr).not.toContain('pass-word');
    const wrong = await run(['--since', 'yesterday']);
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('for example 7d') });
  }, 120_000);
});
