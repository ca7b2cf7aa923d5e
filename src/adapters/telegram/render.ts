import { createHash } from 'node:crypto';
import type { InlineKeyboardMarkup, MessageEntity } from 'grammy/types';
import type { MessageBody, Rendered } from '../../core/chat/adapter.js';
import { healMarkdown } from '../../core/chat/heal.js';
import { parseMarkdown } from '../../core/chat/markdown.js';
import { createEntityWriter, type EntityText, joinTexts } from './entity-text.js';
import { keyboardOf } from './keyboard.js';
import { TELEGRAM_LIMITS } from './limits.js';
import { writeBlocks } from './markdown-entities.js';
import { planSummary, planText } from './plan-text.js';
import { endOf, lastLines, startOf } from './text-cut.js';

/** Text and entities, never `parse_mode`: nothing a model writes can make Telegram refuse the message. */
export interface TelegramPayload {
  readonly text: string;
  readonly entities: MessageEntity[];
  readonly reply_markup?: InlineKeyboardMarkup;
}

const CAPS = { planSummary: 90, statusLine: 200, reasoning: 1_000, footer: 300 } as const;
const SEPARATOR_LENGTH = 2;
const FOLDED = 'expandable_blockquote';
/** Telegram refuses a text without a visible character. */
const EMPTY = '…';

/**
 * A body as Telegram shows it: plan, status lines, folded reasoning, answer, footer. When the whole is too long,
 * reasoning, plan, status lines and footer give way in this order, never the answer; of the plan one line stays. A
 * plan that grows no more is folded. Throws only for a button whose id does not fit.
 */
export function renderTelegram(body: MessageBody): Rendered<TelegramPayload> {
  const answer = answerText(body);
  let room = TELEGRAM_LIMITS.text - answer.text.length;
  const place = (part: EntityText): EntityText => {
    if (part.text !== '') room -= part.text.length + SEPARATOR_LENGTH;
    return part;
  };
  const left = (most: number): number => Math.min(most, room - SEPARATOR_LENGTH);
  const summary = place(plain(startOf(planSummary(body.plan), left(CAPS.planSummary))));
  const footer = place(plain(startOf(body.footer ?? '', left(CAPS.footer)), 'italic'));
  const status = place(plain(lastLines(body.status ?? [], CAPS.statusLine, left(TELEGRAM_LIMITS.text))));
  const checklist = plain(planText(body.plan), body.state === 'streaming' ? undefined : FOLDED);
  // In the place of its one line.
  const roomForPlan = room + (summary.text === '' ? -SEPARATOR_LENGTH : summary.text.length);
  const fits = checklist.text !== '' && checklist.text.length <= roomForPlan;
  if (fits) room = roomForPlan - checklist.text.length;
  const reasoning = place(plain(endOf(body.reasoning ?? '', left(CAPS.reasoning)), FOLDED));
  const { text, entities } = joinTexts([fits ? checklist : summary, status, reasoning, answer, footer]);
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

function plain(text: string, type?: 'italic' | typeof FOLDED): EntityText {
  const writer = createEntityWriter();
  if (type) writer.format({ type }, () => writer.words(text));
  else writer.words(text);
  return writer.finish();
}

function isVisible(text: string): boolean {
  return /[^\s\p{C}\p{M}]/u.test(text);
}
