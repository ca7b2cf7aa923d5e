import { createHash } from 'node:crypto';
import { StoreError } from '../../core/errors.js';

/** Longest identifier as stored: two of them, three bytes a unit, must fit one B-tree entry of PostgreSQL (2,704 bytes). */
const LONGEST = 400;
const LONGEST_DEDUPE = 200;
const ESCAPE = '\u001a';
// What a text column cannot hold (NUL), what UTF-8 cannot (half a surrogate pair), and the escape sign itself.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject here
const UNSTORABLE = /[\u0000\u001a]|\p{Surrogate}/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject here
const ESCAPED = /\u001a([0-9a-f]{4})/g;

/**
 * An identifier (conversation key, slot, message id, person …) as the stores keep it; different texts stay different.
 * Bodies need no such care: they are stored as JSON text, which escapes these characters itself.
 *
 * @throws StoreError `store_identifier` when it is longer than 400 characters; identifiers come from outside.
 */
export function storedId(text: string): string {
  const stored = text.replace(UNSTORABLE, (unit) => ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, '0'));
  if (stored.length <= LONGEST) return stored;
  throw new StoreError(`an identifier of ${text.length} characters cannot be stored: ${text.slice(0, 40)}…`, {
    code: 'store_identifier',
    hint: `identifiers may have ${LONGEST} characters`,
  });
}

/** The inverse of {@link storedId}. */
export function readId(stored: string): string {
  return stored.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** A de-duplication key is only compared, so a long one is kept as its digest. */
export function storedDedupe(text: string): string {
  if (text.length <= LONGEST_DEDUPE) return storedId(text);
  return `sha256/${createHash('sha256').update(text, 'utf16le').digest('base64url')}`;
}

/** Whole milliseconds that survive the trip through any column or score; "never" may be `Infinity`. */
export function storedMs(ms: number): number {
  return Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER);
}
