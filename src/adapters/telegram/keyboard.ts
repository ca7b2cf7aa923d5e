import type { InlineKeyboardButton, InlineKeyboardMarkup } from 'grammy/types';
import type { Button } from '../../core/chat/adapter.js';
import { cleanText } from '../../core/chat/clean-text.js';
import { displayWidth } from '../../core/chat/text-table.js';
import { PlatformError } from '../../core/errors.js';
import { TELEGRAM_LIMITS } from './limits.js';

/** A row of three has room for labels of this width on a phone. */
const SHORT_LABEL = 12;
const PER_ROW = 3;

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Buttons in rows: up to three short ones beside each other, a long one alone. Undefined without buttons. */
export function keyboardOf(buttons: readonly Button[]): InlineKeyboardMarkup | undefined {
  if (buttons.length === 0) return undefined;
  const rows: InlineKeyboardButton[][] = [];
  let short = false;
  for (const button of buttons.slice(0, TELEGRAM_LIMITS.buttons)) {
    const key = keyOf(button);
    const isShort = displayWidth(key.text) <= SHORT_LABEL;
    const row = rows.at(-1);
    if (row && short && isShort && row.length < PER_ROW) row.push(key);
    else rows.push([key]);
    short = isShort;
  }
  return { inline_keyboard: rows };
}

function keyOf({ id, label, style }: Button): InlineKeyboardButton {
  // Cutting it would answer another question, or none.
  if (id === '' || Buffer.byteLength(id) > TELEGRAM_LIMITS.callbackData) {
    throw new PlatformError(`button id "${id}" is not 1 to ${TELEGRAM_LIMITS.callbackData} bytes`, { kind: 'invalid' });
  }
  return { text: labelText(label), callback_data: id, ...(style && { style }) };
}

function labelText(label: string): string {
  const text = cleanText(label).replace(/\s+/g, ' ').trim();
  const characters = Array.from(segmenter.segment(text), ({ segment }) => segment);
  if (characters.length === 0) return '·';
  if (characters.length <= TELEGRAM_LIMITS.buttonLabel) return text;
  return `${characters
    .slice(0, TELEGRAM_LIMITS.buttonLabel - 1)
    .join('')
    .trimEnd()}…`;
}
