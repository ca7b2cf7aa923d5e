import { createHash } from 'node:crypto';
import type { InlineKeyboardMarkup, MessageEntity } from 'grammy/types';
import type { MessageBody, Rendered } from '../../core/chat/adapter.js';
import { healMarkdown } from '../../core/chat/heal.js';
import { cleanText, parseMarkdown } from '../../core/chat/markdown.js';
import { createEntityWriter, type EntityText, joinTexts } from './entity-text.js';
import { keyboardOf } from './keyboard.js';
import { TELEGRAM_LIMITS } from './limits.js';
import { writeBlocks } from './markdown-entities.js';

/** Text and entities, never `parse_mode`: nothing a model writes can make Telegram refuse the message. */
export interface TelegramPayload {
  readonly text: string;
  readonly entities: MessageEntity[];
  readonly reply_markup?: InlineKeyboardMarkup;
}

const CAPS = { statusLine: 200, reasoning: 1_000, footer: 300 } as const;
const SEPARATOR_LENGTH = 2;
/** A shorter piece of a text is not worth showing. */
const SHORTEST = 16;
/** Telegram refuses a text without a visible character. */
const EMPTY = '…';

/**
 * A body as Telegram shows it: status lines, folded reasoning, answer, footer. When the whole is too long, reasoning,
 * status lines and footer give way in this order, never the answer. Throws only for a button whose id does not fit.
 */
export function renderTelegram(body: MessageBody): Rendered<TelegramPayload> {
  const answer = answerText(body);
  let room = TELEGRAM_LIMITS.text - answer.text.length;
  const place = (part: EntityText): EntityText => {
    if (part.text !== '') room -= part.text.length + SEPARATOR_LENGTH;
    return part;
  };
  const left = (most: number): number => Math.min(most, room - SEPARATOR_LENGTH);
  const footer = place(plain(startOf(body.footer ?? '', left(CAPS.footer)), 'italic'));
  const status = place(plain(lastLines(body.status ?? [], left(TELEGRAM_LIMITS.text))));
  const reasoning = place(plain(endOf(body.reasoning ?? '', left(CAPS.reasoning)), 'expandable_blockquote'));
  const { text, entities } = joinTexts([status, reasoning, answer, footer]);
  const keyboard = keyboardOf(body.buttons ?? []);
  const payload: TelegramPayload = {
    ...(isVisible(text) ? { text, entities } : { text: EMPTY, entities: [] }),
    ...(keyboard && { reply_markup: keyboard }),
  };
  const digest = createHash('sha256').update(JSON.stringify(payload)).digest('base64url');
  return { payload, length: payload.text.length, digest };
}

function answerText({ markdown, state }: MessageBody): EntityText {
  const writer = createEntityWriter();
  writeBlocks(writer, parseMarkdown(state === 'final' ? markdown : healMarkdown(markdown)).children);
  return writer.finish();
}

function plain(text: string, type?: 'italic' | 'expandable_blockquote'): EntityText {
  const writer = createEntityWriter();
  if (type) writer.format({ type }, () => writer.words(text));
  else writer.words(text);
  return writer.finish();
}

/** As many of the last lines as there is room for: the newest is the one that is happening. */
function lastLines(status: readonly string[], room: number): string {
  const lines = status.map((line) => startOf(line.replace(/\s+/g, ' '), CAPS.statusLine)).filter((line) => line !== '');
  while (lines.length > 0 && shownLength(lines.join('\n')) > room) lines.shift();
  return lines.join('\n');
}

function startOf(source: string, room: number): string {
  const text = cleanText(source).trim();
  if (shownLength(text) <= room) return text;
  const length = room - (shownLength(text) - text.length) - 1;
  return length < SHORTEST ? '' : `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The end of the reasoning, where the thought is. */
function endOf(source: string, room: number): string {
  const text = cleanText(source).trim();
  if (shownLength(text) <= room) return text;
  const length = room - (shownLength(text) - text.length) - 1;
  return length < SHORTEST ? '' : `…${text.slice(-length).replace(/^[\udc00-\udfff]/, '')}`;
}

/** With the word joiners that part each `@` from a name. */
function shownLength(text: string): number {
  return text.length + text.split('@').length - 1;
}

function isVisible(text: string): boolean {
  return /[^\s\p{C}\p{M}]/u.test(text);
}
