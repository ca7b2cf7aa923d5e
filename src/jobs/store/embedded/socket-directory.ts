import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { StoreError } from '../../../core/errors.js';
import { makeDirectory } from './make-directory.js';

/** Unix socket paths are limited to 104 bytes on macOS and 108 on Linux, the final zero included. */
const LONGEST_PATH = 100;
/** Room for a slash and the longest file name put there, `lock-<pid>-<8 characters>`. */
const LONGEST_NAME = 25;

/** The sockets of one data directory. */
export interface SocketDirectory {
  /** Where the socket files lie; undefined where local sockets are not files (Windows). */
  readonly path: string | undefined;
  /** The address of a socket with this name. */
  address(name: string): string;
}

/**
 * The place for the sockets of a data directory: inside it, or a private directory of the same user in the system's
 * temporary directory when the path would be too long for a socket. Every process of a machine gets the same place for
 * the same directory.
 *
 * @param dataDir absolute path without symbolic links
 * @throws StoreError `store_socket` when the temporary place belongs to somebody else.
 */
export async function socketDirectory(dataDir: string): Promise<SocketDirectory> {
  const digest = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  if (process.platform === 'win32') {
    return { path: undefined, address: (name) => `\\\\.\\pipe\\threadloop-${digest}-${name}` };
  }
  const inside = join(dataDir, 'run');
  const fits = Buffer.byteLength(inside) + LONGEST_NAME <= LONGEST_PATH;
  const path = fits ? inside : join(tmpdir(), `threadloop-${digest}`);
  await makeDirectory(path);
  if (!fits) await refuseForeign(path);
  return { path, address: (name) => join(path, name) };
}

/** Anybody may create files in the temporary directory; a prepared directory could catch the connections. */
async function refuseForeign(path: string): Promise<void> {
  const found = await lstat(path);
  if (found.isDirectory() && found.uid === userInfo().uid && (found.mode & 0o077) === 0) return;
  throw new StoreError(`${path} is not a private directory of this user`, {
    code: 'store_socket',
    hint: 'remove it, or set store.dataDir to a shorter path',
  });
}
