import { constants, type Dirent } from 'node:fs';
import { access, lstat, readdir, realpath, stat } from 'node:fs/promises';
import { extname, join, relative, resolve, sep } from 'node:path';
import { toError } from '../errors.js';

/** A text file inside the folder. */
export interface FolderFile {
  /** Path below the folder, with `/`. */
  readonly name: string;
  /** Where it really is. */
  readonly path: string;
  /** Changes whenever content or rights do. */
  readonly stamp: string;
  readonly bytes: number;
}

export interface FolderListing {
  /** Ordered by name. */
  readonly files: readonly FolderFile[];
  /** What was left out and why; the same lines as long as nothing changes. */
  readonly warnings: readonly string[];
}

/** Bounds of what is read from one folder. */
export const FOLDER_LIMITS = {
  files: 5_000,
  fileBytes: 2 * 1024 * 1024,
  totalBytes: 16 * 1024 * 1024,
  entries: 100_000,
  depth: 32,
} as const;

const MARKDOWN = ['.md', '.markdown', '.mdx'];
const TEXT = [...MARKDOWN, '.txt', '.text'];

/** What is wrong with a folder of knowledge, with the fix; undefined when it can be read. */
export async function checkKnowledge(path: string): Promise<string | undefined> {
  const folder = resolve(path);
  try {
    if (!(await stat(folder)).isDirectory()) return `"${folder}" is no folder; name the folder that holds the files`;
    await access(folder, constants.R_OK | constants.X_OK);
    return undefined;
  } catch (thrown) {
    const { code } = toError(thrown) as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      return `"${folder}" does not exist; create it, or name a folder with Markdown or text files`;
    }
    return `"${folder}" cannot be read (${code}); check the rights of this process on it`;
  }
}

export function isMarkdown(name: string): boolean {
  return MARKDOWN.includes(extname(name).toLowerCase());
}

/**
 * The Markdown and text files below a folder. Names that begin with a dot and `node_modules` are passed over; links are
 * followed only to files inside the folder. Throws when the folder itself cannot be read.
 */
export async function listFolder(path: string): Promise<FolderListing> {
  const root = await realpath(resolve(path));
  const { files, links, warnings } = await walkFolder(root);
  const found = new Map<string, FolderFile>();
  // Real files before links: a file that has both is known by its own name.
  for (const { entries, describe } of [
    { entries: files, describe: describeFile },
    { entries: links, describe: describeLink },
  ]) {
    for (const entry of entries) {
      // What vanished meanwhile is simply no longer there.
      const file = await describe(root, entry, warnings).catch(() => undefined);
      if (file && !found.has(file.path)) found.set(file.path, file);
    }
  }
  const sorted = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { files: withinTotal(sorted, warnings), warnings };
}

interface Walk {
  readonly files: string[];
  readonly links: string[];
  readonly warnings: string[];
}

async function walkFolder(root: string): Promise<Walk> {
  const walk: Walk = { files: [], links: [], warnings: [] };
  const folders = [{ path: root, depth: 0 }];
  let seen = 0;
  for (let folder = folders.shift(); folder; folder = folders.shift()) {
    for (const entry of await entriesOf(folder.path, folder.depth === 0, walk.warnings)) {
      seen += 1;
      const texts = walk.files.length + walk.links.length;
      if (seen > FOLDER_LIMITS.entries || texts >= FOLDER_LIMITS.files) {
        walk.warnings.push(`the folder holds too much: only ${texts} text files are searched`);
        return walk;
      }
      const path = join(folder.path, entry.name);
      if (entry.isDirectory()) {
        if (isWanted(entry.name) && folder.depth < FOLDER_LIMITS.depth) folders.push({ path, depth: folder.depth + 1 });
      } else if (isWanted(entry.name) && TEXT.includes(extname(entry.name).toLowerCase())) {
        if (entry.isFile()) walk.files.push(path);
        else if (entry.isSymbolicLink()) walk.links.push(path);
      }
    }
  }
  return walk;
}

async function entriesOf(folder: string, required: boolean, warnings: string[]): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (thrown) {
    if (required) throw thrown;
    warnings.push(toError(thrown).message);
    return [];
  }
}

function isWanted(name: string): boolean {
  return !name.startsWith('.') && name !== 'node_modules';
}

async function describeFile(root: string, path: string, warnings: string[]): Promise<FolderFile | undefined> {
  const name = relative(root, path).split(sep).join('/');
  const { size, mtimeMs, ctimeMs, ino } = await lstat(path);
  if (size > FOLDER_LIMITS.fileBytes) {
    warnings.push(`${name} is larger than ${FOLDER_LIMITS.fileBytes / 1024 / 1024} MB`);
    return undefined;
  }
  return { name, path, stamp: `${ino}:${size}:${mtimeMs}:${ctimeMs}`, bytes: size };
}

async function describeLink(root: string, path: string, warnings: string[]): Promise<FolderFile | undefined> {
  const target = await realpath(path);
  const name = relative(root, path).split(sep).join('/');
  if (!target.startsWith(root.endsWith(sep) ? root : root + sep)) {
    warnings.push(`${name} is a link out of the folder`);
    return undefined;
  }
  const file = await describeFile(root, target, warnings);
  return file && { ...file, name };
}

function withinTotal(files: readonly FolderFile[], warnings: string[]): readonly FolderFile[] {
  let total = 0;
  const first = files.findIndex(({ bytes }) => {
    total += bytes;
    return total > FOLDER_LIMITS.totalBytes;
  });
  if (first < 0) return files;
  warnings.push(
    `the folder holds more than ${FOLDER_LIMITS.totalBytes / 1024 / 1024} MB of text: only the first ${first} files by name are searched`,
  );
  return files.slice(0, first);
}
