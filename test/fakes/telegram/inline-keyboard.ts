import type { InlineKeyboardMarkup } from 'grammy/types';
import { badRequest } from './bot-api-error.js';

const MAX_BUTTONS = 100;
const MAX_PER_ROW = 8;
const MAX_DATA_BYTES = 64;
const STYLES = new Set(['danger', 'success', 'primary']);
const BUTTON_KEYS = new Set(['text', 'callback_data', 'url', 'style']);

/** Checks a reply markup; undefined means "no keyboard", which an empty one also does. */
export function inlineKeyboard(raw: unknown): InlineKeyboardMarkup | undefined {
  if (raw === undefined || raw === null) return undefined;
  const markup: unknown = typeof raw === 'string' ? JSON.parse(raw) : raw;
  const rows = (markup as { inline_keyboard?: unknown }).inline_keyboard;
  if (!Array.isArray(rows)) throw badRequest("object expected as reply markup, with an Array 'inline_keyboard'");
  let total = 0;
  for (const row of rows as unknown[]) {
    if (!Array.isArray(row)) throw badRequest("can't parse inline keyboard: expected an Array of Arrays");
    if (row.length > MAX_PER_ROW) throw badRequest('reply markup is too long');
    for (const button of row as unknown[]) checkButton(button);
    total += row.length;
  }
  if (total > MAX_BUTTONS) throw badRequest('reply markup is too long');
  return total === 0 ? undefined : (markup as InlineKeyboardMarkup);
}

function checkButton(raw: unknown): void {
  const refuse = (why: string): Error => badRequest(`can't parse inline keyboard button: ${why}`);
  if (typeof raw !== 'object' || raw === null) throw refuse('expected an Object');
  const button = raw as Record<string, unknown>;
  const unknown = Object.keys(button).find((key) => !BUTTON_KEYS.has(key));
  if (unknown) throw refuse(`unknown field ${unknown}`);
  if (typeof button.text !== 'string' || button.text.trim() === '') throw refuse('text is missing');
  if (button.style !== undefined && !STYLES.has(String(button.style))) throw refuse('unknown style');
  if ((button.callback_data === undefined) === (button.url === undefined)) {
    throw badRequest('text buttons are unallowed in the inline keyboard');
  }
  if (button.url !== undefined && !/^(https?|tg):/.test(String(button.url))) throw badRequest('BUTTON_URL_INVALID');
  if (button.callback_data === undefined) return;
  const bytes = typeof button.callback_data === 'string' ? Buffer.byteLength(button.callback_data) : 0;
  if (bytes < 1 || bytes > MAX_DATA_BYTES) throw badRequest('BUTTON_DATA_INVALID');
}
