import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { toError } from '../../../core/errors.js';

/**
 * Makes a directory of this user, and its parents, unless they exist. Not `mkdir` with `recursive`: that never returns
 * where a parent exists but the system says ENOENT, as below /proc or in a folder that was just removed.
 *
 * @throws the system's error
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (thrown) {
    const { code } = toError(thrown) as NodeJS.ErrnoException;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw thrown;
    await makeDirectory(parent);
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (thrown) {
    const exists = (toError(thrown) as NodeJS.ErrnoException).code === 'EEXIST' && (await stat(path)).isDirectory();
    if (!exists) throw thrown;
  }
}
