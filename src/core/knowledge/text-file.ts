import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { ThreadloopError } from '../errors.js';
import { FOLDER_LIMITS, type FolderFile } from './folder.js';

/** The text of a file. Throws ThreadloopError `knowledge_file` when it is none, or grew too large. */
export async function readTextFile({ name, path }: FolderFile): Promise<string> {
  // No link may have taken the file's place since it was listed.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const info = await file.stat();
    if (!info.isFile()) throw fileError(name, 'is no regular file');
    if (info.size > FOLDER_LIMITS.fileBytes) throw fileError(name, 'grew too large');
    const bytes = Buffer.alloc(info.size);
    const { bytesRead } = await file.read(bytes, 0, info.size, 0);
    return decode(name, bytes.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

function decode(name: string, bytes: Buffer): string {
  const wide = bytes[0] === 0xff && bytes[1] === 0xfe;
  if (!wide && bytes.includes(0)) throw fileError(name, 'is binary');
  try {
    return new TextDecoder(wide ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw fileError(name, 'is not UTF-8 text; save it as UTF-8', cause);
  }
}

function fileError(name: string, problem: string, cause?: unknown): ThreadloopError {
  return new ThreadloopError(`${name} ${problem}`, { code: 'knowledge_file', cause });
}
