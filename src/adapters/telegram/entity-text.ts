import type { MessageEntity } from 'grammy/types';
import { TELEGRAM_LIMITS } from './limits.js';

type PlainKind = 'bold' | 'italic' | 'strikethrough' | 'blockquote' | 'expandable_blockquote' | 'code';
export type Format =
  | { readonly type: PlainKind }
  | { readonly type: 'pre'; readonly language?: string }
  | { readonly type: 'text_link'; readonly url: string };

/** Text with its formatted stretches in the shape Telegram takes. */
export interface EntityText {
  readonly text: string;
  readonly entities: MessageEntity[];
}

interface Span {
  readonly format: Format;
  readonly start: number;
  readonly end: number;
}

/** Collects text and formats; formats opened inside each other nest, so that entities never cross. */
export interface EntityWriter {
  /** Writes text as it is, for what is not a model's words, such as addresses and line ends. */
  raw(text: string): void;
  /** Writes a model's words so that they mention nobody. */
  words(text: string): void;
  code(text: string): void;
  pre(text: string, language: string): void;
  /** Formats what `write` writes. */
  format(format: Exclude<Format, { type: 'code' | 'pre' }>, write: () => void): void;
  /** Makes sure that the text ends in this many line ends, unless it is empty. */
  lines(count: 1 | 2): void;
  /** Whether a format of this type is open. */
  isOpen(type: Format['type']): boolean;
  finish(): EntityText;
}

/** Between `@` and a name it keeps Telegram from linking and notifying the person; it is not visible. */
const WORD_JOINER = '\u2060';

export function createEntityWriter(): EntityWriter {
  let text = '';
  /** The last two characters; looking at the end of a growing string would copy it every time. */
  let end = '';
  const spans: Span[] = [];
  const open: Format['type'][] = [];

  function append(value: string): void {
    text += value;
    end = (end + value.slice(-2)).slice(-2);
  }

  /** Telegram looks for mentions in the finished text, so the sign may come from the node before. */
  function part(next: string): void {
    if (end.endsWith('@') && /^\w/.test(next)) append(WORD_JOINER);
  }

  function span(format: Format, value: string): void {
    spans.push({ format, start: text.length, end: text.length + value.length });
    append(value);
  }

  return {
    raw(value) {
      part(value);
      append(value);
    },
    words(value) {
      part(value);
      append(value.replace(/(?<!\w)@(?=\w)/g, `@${WORD_JOINER}`));
    },
    code(value) {
      part(value);
      span({ type: 'code' }, value);
    },
    pre(value, language) {
      span({ type: 'pre', ...(language !== '' && { language }) }, value);
    },
    format(format, write) {
      const start = text.length;
      open.push(format.type);
      write();
      open.pop();
      spans.push({ format, start, end: text.length });
    },
    lines(count) {
      if (text === '') return;
      const present = /\n*$/.exec(end)?.[0].length ?? 0;
      append('\n'.repeat(Math.max(0, count - present)));
    },
    isOpen: (type) => open.includes(type),
    finish: () => ({ text: text.trimEnd(), entities: entitiesOf(text, spans) }),
  };
}

/** Puts texts below each other with a blank line between. */
export function joinTexts(parts: readonly EntityText[]): EntityText {
  let text = '';
  const entities: MessageEntity[] = [];
  for (const part of parts) {
    if (part.text === '') continue;
    if (text !== '') text += '\n\n';
    for (const entity of part.entities) entities.push({ ...entity, offset: entity.offset + text.length });
    text += part.text;
  }
  return { text, entities: mostImportant(entities) };
}

/**
 * Telegram's rules: nothing inside or around code, no quote in a quote, no empty entity. Formats do not start or end
 * with white space, which clients show differently.
 */
function entitiesOf(text: string, spans: readonly Span[]): MessageEntity[] {
  const blocks = spans.filter(({ format }) => format.type === 'pre');
  const code = spans.filter(({ format }) => format.type === 'pre' || format.type === 'code');
  const entities: MessageEntity[] = [];
  for (const { format, start, end } of spans) {
    const isCode = format.type === 'pre' || format.type === 'code';
    const isQuote = format.type === 'blockquote' || format.type === 'expandable_blockquote';
    for (const piece of isCode ? [{ start, end }] : without({ start, end }, isQuote ? blocks : code)) {
      const { offset, length } =
        format.type === 'pre' ? { offset: piece.start, length: piece.end - piece.start } : trimmed(text, piece);
      if (length > 0) entities.push({ ...format, offset, length });
    }
  }
  return entities;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** What is left of a range without the holes in it; holes come in order. */
function without(range: Range, holes: readonly Range[]): Range[] {
  const pieces: Range[] = [];
  let start = range.start;
  for (const hole of holes) {
    if (hole.start < start || hole.end > range.end) continue;
    pieces.push({ start, end: hole.start });
    start = hole.end;
  }
  pieces.push({ start, end: range.end });
  return pieces;
}

function trimmed(text: string, { start, end }: Range): { offset: number; length: number } {
  const piece = text.slice(start, end);
  const offset = start + piece.length - piece.trimStart().length;
  return { offset, length: Math.max(0, piece.trim().length) };
}

/** What is lost first when there are too many: a lost link loses its address, lost italics lose nothing. */
const IMPORTANCE: readonly string[] = [
  'text_link',
  'pre',
  'expandable_blockquote',
  'blockquote',
  'bold',
  'strikethrough',
  'code',
  'italic',
];

function mostImportant(entities: readonly MessageEntity[]): MessageEntity[] {
  const rank = ({ type }: MessageEntity): number => IMPORTANCE.indexOf(type);
  const kept = entities.toSorted((a, b) => rank(a) - rank(b) || a.offset - b.offset).slice(0, TELEGRAM_LIMITS.entities);
  return kept.sort((a, b) => a.offset - b.offset || b.length - a.length);
}
