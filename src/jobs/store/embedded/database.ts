import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, chmod, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { StoreError, toError } from '../../../core/errors.js';
import type { Logger } from '../../../core/ports/logger.js';
import { entryFile } from './entry-file.js';

/** What the database thread gets. */
export interface DatabaseThreadInput {
  readonly directory: string;
  /** Where it listens. */
  readonly address: string;
}

/** What the database thread says. `failed` is one failed call; the thread goes on. */
export type DatabaseThreadMessage =
  | { readonly kind: 'ready' | 'closed' }
  | { readonly kind: 'failed'; readonly message: string };

const UNFINISHED = 'database.new-';
const CLOSE_MS = 5_000;
const RESTART_MS = 1_000;

/**
 * Creates the database unless it exists. It is made under another name and renamed when complete, so a process killed
 * meanwhile leaves nothing that looks like a database.
 *
 * @param directory where the database shall lie
 * @param onCreate called before the work begins, which takes several seconds
 * @throws StoreError `store_create`
 */
export async function ensureDatabase(dataDir: string, directory: string, onCreate: () => void): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (name.startsWith(UNFINISHED)) await removeUnfinished(join(dataDir, name));
  }
  if (await exists(join(directory, 'PG_VERSION'))) return;
  onCreate();
  const unfinished = join(dataDir, UNFINISHED + randomBytes(4).toString('hex'));
  const { url, execArgv } = entryFile('create-database');
  const child = fork(url, [unfinished], { execArgv, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000);
  });
  const [code, signal] = await once(child, 'close');
  try {
    if (code !== 0) throw new Error(complaint.trim() || `its process ended with ${code ?? signal}`);
    // PostgreSQL leaves its files readable for everybody.
    await chmod(unfinished, 0o700);
    await rename(unfinished, directory);
  } catch (thrown) {
    await removeUnfinished(unfinished);
    throw new StoreError(`the embedded database could not be created in ${dataDir}: ${toError(thrown).message}`, {
      code: 'store_create',
      hint: 'check that the directory is writable and that about 1 GB of memory is free while the database is created',
      cause: thrown,
    });
  }
}

/** What cannot be removed now, because a killed process's child still writes there, is removed at the next start. */
async function removeUnfinished(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5 }).catch(() => undefined);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

export interface RunningDatabase {
  /** Writes everything out and ends the thread. */
  close(): Promise<void>;
}

/**
 * Opens the database in a thread of its own, which then serves the PostgreSQL protocol at `address`. A thread that
 * dies is started again after a second; its clients see lost connections meanwhile, as with any PostgreSQL restart.
 *
 * @throws StoreError `store_open` when the first start fails
 */
export async function startDatabase(input: DatabaseThreadInput, logger: Logger): Promise<RunningDatabase> {
  // V8 compiles the engine's busy functions anew in the background, by default on every thread it has; on few cores that
  // takes the time of both the database and the rest of the start. One such thread is done soon after, too.
  setFlagsFromString('--wasm-num-compilation-tasks=1');
  let closing = false;
  let restart: NodeJS.Timeout | undefined;
  let current = startThread(input, logger);
  watch(await current);

  function watch(thread: Worker): void {
    thread.on('error', (error) => logger.error({ error: error.message }, 'the database thread failed'));
    thread.once('exit', () => again());
  }

  function again(): void {
    if (closing) return;
    logger.error({}, 'the database thread ended; starting it again');
    restart = setTimeout(() => {
      current = startThread(input, logger);
      current.then(watch, (error: Error) => {
        logger.error({ error: error.message }, 'the database thread did not start');
        again();
      });
    }, RESTART_MS);
  }

  return {
    async close() {
      closing = true;
      clearTimeout(restart);
      const thread = await current.catch(() => undefined);
      if (thread) await endThread(thread);
    },
  };
}

async function endThread(thread: Worker): Promise<void> {
  // Its id is gone when it has ended by itself.
  if (thread.threadId < 0) return;
  thread.postMessage('close');
  const timer = setTimeout(() => void thread.terminate(), CLOSE_MS);
  await once(thread, 'exit');
  clearTimeout(timer);
}

function isReady(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'kind' in message && message.kind === 'ready';
}

async function startThread(input: DatabaseThreadInput, logger: Logger): Promise<Worker> {
  const { url, execArgv } = entryFile('database-thread');
  // A socket file left by a killed process; the directory is locked, so nobody else serves it.
  if (process.platform !== 'win32') await rm(input.address, { force: true });
  const thread = new Worker(url, { workerData: input, execArgv });
  thread.on('message', (message: DatabaseThreadMessage) => {
    if (message.kind === 'failed') logger.error({ error: message.message }, 'a call to the embedded database failed');
  });
  try {
    const [first]: unknown[] = await Promise.race([once(thread, 'message'), once(thread, 'exit')]);
    if (isReady(first)) return thread;
    throw new Error('the database thread ended before it was ready');
  } catch (thrown) {
    await thread.terminate();
    throw new StoreError(
      `the embedded database in ${input.directory} could not be opened: ${toError(thrown).message}`,
      {
        code: 'store_open',
        hint: 'it may be damaged or written by another version; move the directory away to begin with an empty one',
        cause: thrown,
      },
    );
  }
}
