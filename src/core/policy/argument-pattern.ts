import { folded, matchesGlob } from './glob.js';

/** Globs by argument name or dotted path. */
export type ArgumentPatterns = Readonly<Record<string, string>>;

/**
 * Who asks decides what counts when a text can be read in several ways: a rule that `restricts` matches if any reading
 * of any value does, one that `permits` only if every reading of every value does.
 */
export type RuleEffect = 'restricts' | 'permits';

const CONTROL = /\p{Cc}/u;

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

const LIST_DEPTH = 8;

/** An address that different readers take for different hosts. */
const AMBIGUOUS_ADDRESS = /^[a-z][a-z0-9+.-]*:[\\/]{2}[^/]*[\\@]/i;

/** Do all patterns match? An argument that is not there matches none. */
export function argumentsMatch(
  patterns: ArgumentPatterns,
  args: Readonly<Record<string, unknown>>,
  effect: RuleEffect,
): boolean {
  return Object.entries(patterns).every(([path, pattern]) => {
    const texts = valuesAt(args, path, sameLetters).flatMap(leaves);
    if (effect === 'restricts') return texts.some((text) => restricts(pattern, text));
    // `Path` is another argument for most tools and the same one for some: it permits nothing, but must not be worse.
    const named = valuesAt(args, path, (key, name) => key === name).flatMap(leaves);
    return named.length > 0 && texts.every((text) => permits(pattern, text));
  });
}

/** A pattern without a slash is about a text (a command, a host): there a star does not stop at slashes. */
function restricts(pattern: string, text: string): boolean {
  const plain = plainPath(pattern);
  const kind = plain.includes('/') ? 'path' : 'text';
  const meant = [...meanings(text), ...addressParts(text)];
  const all = [...meant, ...meant.map(belowRoot), ...(kind === 'text' ? [text] : [])];
  return all.some((reading) => matchesGlob(plain, reading, kind));
}

function permits(pattern: string, text: string): boolean {
  if (CONTROL.test(text) || AMBIGUOUS_ADDRESS.test(text)) return false;
  const plain = plainPath(pattern);
  return meanings(text).every((meaning) => matchesGlob(plain, meaning, 'path'));
}

/** What a tool may take the text for: a path, a path with `%2F` and the like, a web address. */
function meanings(text: string): readonly string[] {
  const found = [plainPath(text)];
  const decoded = percentDecoded(text);
  if (decoded !== undefined) found.push(plainPath(decoded));
  const address = parseAddress(text);
  if (address) found.push(plainPath(`${address.protocol}//${hostOf(address)}${address.pathname}${address.search}`));
  return found;
}

/** Parts of a web address that a restricting pattern may be about. */
function addressParts(text: string): readonly string[] {
  const address = parseAddress(text);
  if (!address) return [];
  const path = plainPath(percentDecoded(address.pathname) ?? address.pathname);
  return [hostOf(address), address.hostname.replace(/\.$/, ''), plainPath(`${hostOf(address)}/${path}`), path];
}

/** `/a`, `../a`, `~/a` and `c:/a` are `a` for a tool that lives in a folder of its own. */
function belowRoot(path: string): string {
  return path.replace(/^(?:\.\.\/|\/|~\/|[a-z]:\/)+/i, '');
}

function parseAddress(text: string): URL | undefined {
  // Readers of addresses leave out line breaks and tabs.
  const address = text.trim().replace(/[\t\n\r]/g, '');
  return SCHEME.test(address.replaceAll('\\', '/')) && URL.canParse(address) ? new URL(address) : undefined;
}

/** With the port, without the dot that a full name may end with. */
function hostOf({ hostname, port }: URL): string {
  return hostname.replace(/\.$/, '') + (port && `:${port}`);
}

function percentDecoded(text: string): string | undefined {
  if (!text.includes('%')) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Slashes of one kind, without empty and `.` parts, with `..` resolved, without a slash at the end. */
function plainPath(text: string): string {
  const path = text.trim().replaceAll('\\', '/');
  const root = /^[a-z][a-z0-9+.-]*:\/\/[^/]*/i.exec(path)?.[0] ?? '';
  const tail = path.slice(root.length);
  const absolute = tail.startsWith('/');
  const parts: string[] = [];
  for (const part of tail.split('/')) {
    if (part === '' || part === '.') continue;
    const above = parts.at(-1);
    if (part !== '..') parts.push(part);
    else if (above !== undefined && above !== '..') parts.pop();
    else if (!absolute) parts.push(part);
  }
  if (parts.length === 0) return root || (absolute ? '/' : path && '.');
  return root + (absolute ? '/' : '') + parts.join('/');
}

type SameName = (key: string, name: string) => boolean;

const sameLetters: SameName = (key, name) => folded(key) === folded(name);

/** What stands under a name or a dotted path; a list on the way stands for each of its elements. */
function valuesAt(args: Readonly<Record<string, unknown>>, path: string, same: SameName): unknown[] {
  let values: unknown[] = [args];
  for (const part of path.split('.')) values = values.flatMap((value) => fieldsOf(value, part, same));
  return path.includes('.') ? [...values, ...fieldsOf(args, path, same)] : values;
}

function fieldsOf(value: unknown, name: string, same: SameName): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if (!Array.isArray(value) || /^\d+$/.test(name)) {
    return Object.entries(value)
      .filter(([key]) => same(key, name))
      .map(([, field]) => field);
  }
  // Deeper lists than any tool has are taken whole; following them would be a recursion of the model's depth.
  return value
    .flat(LIST_DEPTH)
    .flatMap((element) => (Array.isArray(element) ? [element] : fieldsOf(element, name, same)));
}

function leaves(value: unknown): string[] {
  const found: string[] = [];
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'object' && next !== null) for (const child of Object.values(next)) open.push(child);
    else if (next !== null && next !== undefined) found.push(String(next));
  }
  return found;
}
