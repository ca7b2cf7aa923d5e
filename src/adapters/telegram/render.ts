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
/** Telegram refuses a text without a visible character. */
const EMPTY = '…';

/**
 * A body as Telegram shows it: status lines, folded reasoning, answer, footer. When the whole is too long the reasoning
 * and then the status lines give way, never the answer. Throws only for a button whose id is too long.
 */
export function renderTelegram(body: MessageBody): Rendered<TelegramPayload> {
  const answer = answerText(body);
  const footer = plain(body.footer ?? '', { type: 'italic', limit: CAPS.footer });
  let room = TELEGRAM_LIMITS.text - joinTexts([answer, footer]).text.length;
  const status = plain(statusText(body.status ?? [], room - 2), {});
  room -= status.text.length + 2;
  const reasoning = plain(reasoningText(body.reasoning ?? '', Math.min(CAPS.reasoning, room - 2)), {
    type: 'expandable_blockquote',
  });
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
  const source = state === 'streaming' ? healMarkdown(markdown) : markdown;
  writeBlocks(writer, parseMarkdown(source).children);
  return writer.finish();
}

function plain(text: string, format: { type?: 'italic' | 'expandable_blockquote'; limit?: number }): EntityText {
  const writer = createEntityWriter();
  const { type, limit = text.length } = format;
  const value = clip(cleanText(text).trim(), limit);
  if (type) writer.format({ type }, () => writer.words(value));
  else writer.words(value);
  return writer.finish();
}

/** As many of the last lines as there is room for: the newest is the one that is happening. */
function statusText(status: readonly string[], room: number): string {
  const lines = status.map((line) => clip(cleanText(line).replaceAll('\n', ' ').trim(), CAPS.statusLine));
  // Word joiners put in later make a line a little longer.
  const length = (): number => lines.reduce((sum, line) => sum + line.length + 1 + line.split('@').length, 0);
  while (lines.length > 0 && length() > room) lines.shift();
  return lines.filter((line) => line !== '').join('\n');
}

/** The end of the reasoning, where the thought is. */
function reasoningText(reasoning: string, room: number): string {
  const text = cleanText(reasoning).trim();
  const limit = room - text.split('@').length;
  if (text.length <= limit) return text;
  if (limit < 40) return '';
  return `…${text.slice(text.length - limit + 1).replace(/^[\udc00-\udfff]/, '')}`;
}

function clip(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

function isVisible(text: string): boolean {
  return /[^\s\p{C}\p{M}]/u.test(text);
}
