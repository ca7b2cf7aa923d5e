import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, chownSync, constants, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import pg from 'pg';

/**
 * Private servers for tests: own port, own folder, ended by their own pid. A server that was already running is never
 * touched. `global-setup.ts` starts one of each for a run; fault tests start their own.
 */
export interface Server {
  readonly url: string;
  readonly port: number;
  readonly directory: string;
  readonly pid: number;
  /** Sends a signal; with a signal that ends the process, resolves when it is gone. Its folder stays. */
  kill(signal: 'SIGKILL' | 'SIGTERM' | 'SIGQUIT'): Promise<void>;
  /** Ends the process and removes the folder. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Of a server that was killed: starts again on its data. */
  readonly again?: Server | undefined;
  readonly settings?: readonly string[] | undefined;
}

const START_MS = 30_000;
const STOP_MS = 10_000;

/** What tests may use, or why not. */
export type Availability = { readonly url: string } | { readonly missing: string };

/** The path of an installed program, undefined when there is none. */
export function findProgram(name: string): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).map((version) => join(debian, version, 'bin')) : [];
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...versions.reverse()];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Starts `redis-server`: append-only file on, nothing evicted, no snapshots. */
export async function startRedis(options: StartOptions = {}): Promise<Server> {
  const program = findProgram('redis-server');
  if (program === undefined) throw new Error('redis-server not found');
  const directory = options.again?.directory ?? mkdtempSync(join(tmpdir(), 'threadloop-redis-'));
  const port = options.again?.port ?? (await freePort());
  const settings = ['--save', '', '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'];
  const own = ['--bind', '127.0.0.1', '--port', String(port), '--dir', directory];
  const child = spawn(program, [...own, ...settings, ...(options.settings ?? [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return await ready(child, { url: `redis://127.0.0.1:${port}/0`, port, directory }, /eady to accept connections/);
}

/** Starts `postgres`; initdb refuses root, so then both run as user `postgres` or `nobody`. */
export async function startPostgres(options: StartOptions = {}): Promise<Server> {
  const initdb = findProgram('initdb');
  const program = findProgram('postgres');
  if (initdb === undefined || program === undefined) throw new Error('initdb or postgres not found');
  const user = unprivileged();
  const directory = options.again?.directory ?? mkdtempSync(join(tmpdir(), 'threadloop-postgres-'));
  if (user) chownSync(directory, user.uid, user.gid);
  const data = join(directory, 'data');
  // Away from the caller's folder, which that user may not enter.
  const common = { ...user, cwd: directory, env: { ...process.env, LC_ALL: 'C.UTF-8' } };
  if (!options.again) {
    const cluster = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];
    const made = spawnSync(initdb, cluster, { ...common, encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  }
  const port = options.again?.port ?? (await freePort());
  const own = ['-D', data, '-k', directory, '-h', '127.0.0.1', '-p', String(port), '-F', '-c', 'max_connections=200'];
  const child = spawn(program, [...own, ...(options.settings ?? [])], { ...common, stdio: ['ignore', 'pipe', 'pipe'] });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  return await ready(child, { url, port, directory }, /ready to accept connections/);
}

function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = ['postgres', 'nobody'].map((name) => users.find((entry) => entry.startsWith(`${name}:`))).find(Boolean);
  if (line === undefined) throw new Error('postgres does not run as root, and there is no user postgres or nobody');
  const [, , uid, gid] = line.split(':');
  return { uid: Number(uid), gid: Number(gid) };
}

async function ready(
  child: ChildProcess,
  facts: Pick<Server, 'url' | 'port' | 'directory'>,
  sign: RegExp,
): Promise<Server> {
  let output = '';
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  await new Promise<void>((resolve, reject) => {
    const fail = (reason: string) => {
      child.kill('SIGKILL');
      reject(new Error(`${child.spawnfile} ${reason}: ${output.slice(-2_000)}`));
    };
    const timer = setTimeout(() => fail('is not ready in time'), START_MS);
    const look = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-20_000);
      if (!sign.test(output)) return;
      clearTimeout(timer);
      resolve();
    };
    child.stdout?.on('data', look);
    child.stderr?.on('data', look);
    void gone.then(() => {
      clearTimeout(timer);
      fail('ended at its start');
    });
  });
  const end = async (signal: 'SIGKILL' | 'SIGTERM' | 'SIGQUIT') => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await gone;
    clearTimeout(force);
  };
  return {
    ...facts,
    pid: child.pid ?? 0,
    kill: end,
    async stop() {
      await end(child.spawnfile.endsWith('postgres') ? 'SIGQUIT' : 'SIGTERM');
      rmSync(facts.directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A database of one's own on a running server; `drop` removes it. */
export async function createDatabase(serverUrl: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const administer = async (statement: string) => {
    const client = new pg.Client({ connectionString: serverUrl });
    await client.connect();
    try {
      await client.query(statement);
    } finally {
      await client.end();
    }
  };
  await administer(`CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(`DROP DATABASE ${name} WITH (FORCE)`) };
}
