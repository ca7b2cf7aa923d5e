import { realpath } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { PoolConfig } from 'pg';
import { StoreError, toError } from '../../../core/errors.js';
import type { Logger } from '../../../core/ports/logger.js';
import { lockDataDir } from './data-dir-lock.js';
import { ensureDatabase, startDatabase } from './database.js';
import { makeDirectory } from './make-directory.js';
import { type SocketDirectory, socketDirectory } from './socket-directory.js';
import { startVacuum } from './vacuum.js';

export interface EmbeddedOptions {
  /** Created when missing; used by one process at a time. */
  readonly dataDir: string;
  readonly logger: Logger;
  /** Gets one line for a person when something takes long: the creation of the database. */
  readonly onProgress: (line: string) => void;
  /** Called when the thread of the database was started, half a second or more before it answers. */
  readonly onOpening?: (() => void) | undefined;
  /** How often the space of replaced rows is freed, ms. */
  readonly vacuumEveryMs?: number | undefined;
}

export interface EmbeddedDatabase {
  /** Settings for a `pg` pool; add the pool's own size. */
  readonly poolConfig: PoolConfig;
  /** Close the pools first. */
  close(): Promise<void>;
}

const VACUUM_EVERY_MS = 10 * 60_000;

/**
 * Opens the database inside the data directory: PostgreSQL compiled to WebAssembly (PGlite) in a thread of this
 * process, reached by the ordinary `pg` driver over a private local socket. A killed process loses nothing that was
 * committed; a power cut may, because nothing is forced to the disk.
 *
 * @throws StoreError `store_locked`, `store_unwritable`, `store_socket`, `store_create` or `store_open`
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const { dataDir, logger, onProgress } = options;
  const { root, sockets } = await ownDirectory(dataDir);
  const lock = await lockDataDir(dataDir, sockets);
  try {
    const directory = join(root, 'database');
    const address = sockets.address('database');
    await ensureDatabase(root, directory, () => onProgress(`Creating the database in ${dataDir} …`));
    const starting = startDatabase({ directory, address }, logger);
    options.onOpening?.();
    const database = await starting;
    const poolConfig = { user: 'postgres', database: 'postgres', stream: () => socketTo(address) };
    const vacuum = startVacuum(poolConfig, options.vacuumEveryMs ?? VACUUM_EVERY_MS, logger);
    return {
      poolConfig,
      async close() {
        await vacuum.stop();
        await database.close();
        await lock.release();
      },
    };
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
}

async function ownDirectory(dataDir: string): Promise<{ root: string; sockets: SocketDirectory }> {
  try {
    await makeDirectory(dataDir);
    const root = await realpath(dataDir);
    return { root, sockets: await socketDirectory(root) };
  } catch (thrown) {
    if (thrown instanceof StoreError) throw thrown;
    throw new StoreError(`the data directory ${dataDir} cannot be used: ${toError(thrown).message}`, {
      code: 'store_unwritable',
      hint: 'set store.dataDir to a directory this user may write',
      cause: thrown,
    });
  }
}

/** `pg` connects the stream it is given by port and host; this one knows its own address. */
function socketTo(address: string): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  socket.connect = () => connect({ path: address });
  return socket;
}
