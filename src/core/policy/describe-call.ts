import type { ToolCall } from '../llm/model.js';
import { HIDDEN, isSecretField, maskSecrets } from './secret-mask.js';

/** Arguments that are looked at; more are counted. */
const MOST_LINES = 50;

/** Objects inside objects that get a line per field; deeper ones are one line. */
const MOST_DEPTH = 4;

const LONGEST_LABEL = 60;

/** Fewer characters of a value say nothing. */
const SHORTEST_SHARE = 20;

/** Begins each line of a text of several lines, so that none of them can pass for another argument. */
const TEXT_LINE = '│ ';

/** Control and format characters, odd spaces, and letters that look like nothing. Line feed and space are plain. */
const INVISIBLE = /(?![\n \u3000])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]/gu;

interface Line {
  readonly label: string;
  readonly value: string;
  /** Characters that were not even looked at. */
  readonly missing: number;
}

/**
 * The arguments of a call for a person who decides about it: one line per argument, nested ones as `file.path`, texts
 * of several lines as a block of marked lines. Every argument gets its share of `maxLength` characters, so that a long
 * one cannot push another out of sight; what is cut is counted (`… +120`). Secrets are masked. What is invisible or
 * changes the direction of writing is written out, and nothing in it can close a fenced code block.
 *
 * @returns '' for a call without arguments.
 */
export function describeCall(call: ToolCall, { maxLength }: { maxLength: number }): string {
  const lines = linesOf(call.arguments, maxLength * 2);
  let room = maxLength - `\n… +${lines.length}`.length;
  const shown = lines.slice(0, MOST_LINES).filter(({ label, value }) => {
    room -= label.length + Math.min(value.length, SHORTEST_SHARE) + 1;
    return room >= 0;
  });
  const rest = lines.length - shown.length;
  const fixed = shown.reduce((sum, { label }) => sum + label.length + 1, rest > 0 ? `… +${rest}`.length : 0);
  const shares = fairShares(shown.map(lengthOf), maxLength - fixed);
  const texts = shown.map(({ label, value, missing }, at) => label + cut(value, shares[at] ?? 0, missing));
  return unfenced([...texts, ...(rest > 0 ? [`… +${rest}`] : [])].join('\n'));
}

/** `longest`: characters of one value that are looked at. */
function linesOf(json: string, longest: number): readonly Line[] {
  try {
    const args: unknown = json.trim() === '' ? {} : JSON.parse(json);
    const lines: Line[] = [];
    collect(lines, { label: '', value: args, depth: 0, longest });
    return lines;
  } catch {
    // Not JSON, or nested too deeply to be written out.
    const { text, missing } = readable(json, longest);
    return [{ label: '', value: block(text), missing }];
  }
}

interface Field {
  readonly label: string;
  readonly value: unknown;
  readonly depth: number;
  readonly longest: number;
}

function collect(lines: Line[], { label, value, depth, longest }: Field): void {
  if (lines.length >= MOST_LINES) lines.push({ label, value: '', missing: 0 });
  else if (hasLinesOfItsOwn(value, depth)) {
    for (const [key, field] of Object.entries(value)) {
      const path = pathOf(label, key, Array.isArray(value));
      if (!Array.isArray(value) && isSecretField(key, field)) lines.push(line(path, HIDDEN, 0));
      else collect(lines, { label: path, value: field, depth: depth + 1, longest });
    }
  } else if (typeof value === 'string') {
    const { text, missing } = readable(value, longest);
    lines.push(line(label, text.includes('\n') ? block(text) : quoted(text), missing));
  } else {
    const { text, missing } = readable(JSON.stringify(value, hideSecrets), longest);
    lines.push(line(label, text, missing));
  }
}

function hasLinesOfItsOwn(value: unknown, depth: number): value is object {
  if (typeof value !== 'object' || value === null || depth >= MOST_DEPTH) return false;
  if (Array.isArray(value)) return value.some((element) => typeof element === 'object' && element !== null);
  return depth === 0 || Object.keys(value).length > 0;
}

function pathOf(label: string, key: string, inList: boolean): string {
  if (inList) return `${label}[${key}]`;
  const name = /^[\w-]{1,60}$/.test(key) ? key : quoted(readable(key, LONGEST_LABEL).text);
  return label === '' ? name : `${label}.${name}`;
}

function line(label: string, value: string, missing: number): Line {
  return { label: label === '' ? '' : `${cut(label, LONGEST_LABEL)}: `, value, missing };
}

function hideSecrets(key: string, value: unknown): unknown {
  return isSecretField(key, value) ? HIDDEN : value;
}

function block(text: string): string {
  return `\n${text}`.replaceAll('\n', `\n${TEXT_LINE}`);
}

/** In quotes, so that a long run of spaces cannot make the rest look like a line of its own. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll('\\\\u{', '\\u{');
}

/** Masked and visible. A text cut here ends before the word that was cut, for half a secret is not recognised. */
function readable(text: string, longest: number): { text: string; missing: number } {
  const head = text.length > longest ? text.slice(0, longest).replace(/[!-~]+$/, '') : text;
  const masked = maskSecrets(head.replaceAll('\r\n', '\n'));
  return { text: masked.replace(INVISIBLE, writtenOut), missing: text.length - head.length };
}

function writtenOut(char: string): string {
  return `\\u{${char.codePointAt(0)?.toString(16)}}`;
}

/** Fences are runs of three or more; some platforms end a block at one in the middle of a line, too. */
function unfenced(text: string): string {
  return text.replace(/`{3,}/g, (run) => 'ˋ'.repeat(run.length));
}

function lengthOf({ value, missing }: Line): number {
  return value.length + (missing > 0 ? `… +${missing}`.length : 0);
}

/** Gives short values what they need and divides the rest evenly. */
function fairShares(lengths: readonly number[], available: number): readonly number[] {
  const shares = new Map<number, number>();
  let left = available;
  for (const [at, length] of [...lengths.entries()].sort(([, one], [, other]) => one - other)) {
    const share = Math.min(length, Math.floor(left / (lengths.length - shares.size)));
    shares.set(at, share);
    left -= share;
  }
  return lengths.map((_, at) => shares.get(at) ?? 0);
}

/** At most `length` characters, the last of them saying how many are missing; never half a character. */
function cut(text: string, length: number, missing = 0): string {
  if (text.length <= length && missing === 0) return text;
  const room = Math.max(0, length - `… +${text.length + missing}`.length);
  const head = text.slice(0, room).replace(/[\ud800-\udbff]$/, '');
  return `${head}… +${text.length - head.length + missing}`;
}
