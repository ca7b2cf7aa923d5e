import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError, toError } from '../../../core/errors.js';
import type { SocketDirectory } from './socket-directory.js';

const ATTEMPTS = 4;
const LONGEST_PAUSE_MS = 120;
/** How often the foremost of several candidates looks whether the others have stepped back. */
const LOOKS = 10;
const LOOK_MS = 20;
/** Process id, then a random rank. */
const LOCK_FILE = /^lock-(\d+)-([0-9a-f]{8})/;

export interface DataDirLock {
  release(): Promise<void>;
}

/**
 * Takes a data directory for this process, until `release` or its end, however it ends.
 *
 * A process announces itself by listening on a socket of its own in the directory, then looks for other announcements.
 * One that accepts a connection belongs to a living process (also when that process is paused); one that refuses is
 * left from a killed process and is removed. Only who sees no living other becomes the holder, and because everybody
 * announces before looking, at least one of two processes sees the other: there are never two holders. Of several that
 * start together those with a higher rank step back and try again. No process id is trusted.
 *
 * @throws StoreError `store_locked` naming the process and the directory.
 */
export async function lockDataDir(dataDir: string, sockets: SocketDirectory): Promise<DataDirLock> {
  return sockets.path === undefined ? lockByName(dataDir, sockets) : lockBySocketFile(dataDir, sockets, sockets.path);
}

async function lockBySocketFile(dataDir: string, sockets: SocketDirectory, path: string): Promise<DataDirLock> {
  const rank = randomBytes(4).toString('hex');
  for (let attempt = 1; ; attempt++) {
    const own = `lock-${process.pid}-${rank}${attempt}`;
    const server = await announce(sockets.address(own), dataDir);
    const others = await othersThatStay({ own, rank, path, sockets });
    if (others === undefined) return { release: () => closeServer(server) };
    await closeServer(server);
    if (attempt === ATTEMPTS) throw locked(dataDir, others[0]?.pid);
    await sleep(Math.random() * LONGEST_PAUSE_MS);
  }
}

interface Candidate {
  readonly own: string;
  readonly rank: string;
  readonly path: string;
  readonly sockets: SocketDirectory;
}

/** Undefined when the candidate is alone and thereby the holder; otherwise whom it must give way to. */
async function othersThatStay({ own, rank, path, sockets }: Candidate): Promise<readonly Living[] | undefined> {
  for (let look = 1; ; look++) {
    const found = await readdir(path);
    const others = await livingOthers(found, own, sockets);
    // A process that looked in the instant before this one listened may have taken its file for a left-over.
    const visible = found.includes(own);
    if (visible && others.length === 0) return undefined;
    if (!visible || look === LOOKS || others.some((other) => other.rank < rank)) return others;
    await sleep(LOOK_MS);
  }
}

/** On Windows a pipe name has one server at a time and is free again when its process ends. */
async function lockByName(dataDir: string, sockets: SocketDirectory): Promise<DataDirLock> {
  const server = createServer((socket) => socket.destroy());
  try {
    await listen(server, sockets.address('lock'));
  } catch (thrown) {
    throw locked(dataDir, undefined, thrown);
  }
  return { release: () => closeServer(server) };
}

async function announce(address: string, dataDir: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  try {
    await listen(server, address);
  } catch (thrown) {
    throw new StoreError(`${dataDir} cannot hold a socket: ${toError(thrown).message}`, {
      code: 'store_socket',
      hint: 'set store.dataDir to a directory on a local file system',
      cause: thrown,
    });
  }
  return server;
}

async function listen(server: Server, address: string): Promise<void> {
  // The lock alone must not keep a process alive that has nothing left to do.
  server.unref();
  server.listen(address);
  await once(server, 'listening');
}

interface Living {
  readonly pid: string;
  readonly rank: string;
}

/** The living ones among the files found; the files of dead ones are removed. */
async function livingOthers(found: string[], own: string, sockets: SocketDirectory): Promise<Living[]> {
  const living: Living[] = [];
  for (const name of found) {
    const [, pid, rank] = LOCK_FILE.exec(name) ?? [];
    if (pid === undefined || rank === undefined || name === own) continue;
    // Names are never used twice, so this cannot remove somebody's new socket.
    if (await isServed(sockets.address(name))) living.push({ pid, rank });
    else await rm(sockets.address(name), { force: true });
  }
  return living;
}

/** False only when the system says that nobody listens; any doubt counts as a living process. */
async function isServed(address: string): Promise<boolean> {
  const socket = connect(address);
  try {
    await once(socket, 'connect');
    return true;
  } catch (thrown) {
    const code = (toError(thrown) as NodeJS.ErrnoException).code;
    return code !== 'ECONNREFUSED' && code !== 'ENOENT';
  } finally {
    socket.destroy();
  }
}

function closeServer(server: Server): Promise<void> {
  // Closing removes the socket file as well.
  return new Promise((resolve) => server.close(() => resolve()));
}

function locked(dataDir: string, pid: string | undefined, cause?: unknown): StoreError {
  const holder = pid === undefined ? 'another process' : `process ${pid}`;
  return new StoreError(`${holder} is using the data directory ${dataDir}`, {
    code: 'store_locked',
    hint: 'stop that process, or give this one its own store.dataDir; several processes can share a PostgreSQL or Redis store',
    cause,
  });
}
