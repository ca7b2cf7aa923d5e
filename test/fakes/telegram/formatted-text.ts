import type { MessageEntity } from 'grammy/types';
import { badRequest } from './bot-api-error.js';

/** A text as Telegram stores it. */
export interface FormattedText {
  readonly text: string;
  readonly entities: readonly MessageEntity[];
}

const MAX_TEXT = 4096;
const MAX_ENTITIES = 100;
const PLAIN_TYPES = new Set([
  'bold',
  'italic',
  'underline',
  'strikethrough',
  'spoiler',
  'blockquote',
  'expandable_blockquote',
  'code',
  'pre',
  'text_link',
  'text_mention',
]);
/** Types Telegram finds by itself; sending them is allowed and changes nothing. */
const FOUND_TYPES = new Set(['mention', 'hashtag', 'cashtag', 'bot_command', 'url', 'email', 'phone_number']);
const QUOTES = new Set(['blockquote', 'expandable_blockquote']);
const CODE = new Set(['code', 'pre']);
const LINK = /^(https?|tg|mailto|tel|ton):/i;

/** Checks and cleans a text with entities the way the Bot API does, but refuses what the real one quietly repairs. */
export function formattedText(text: unknown, rawEntities: unknown): FormattedText {
  if (typeof text !== 'string') throw badRequest('message text is empty');
  const entities = parseEntities(rawEntities);
  if (entities.length > MAX_ENTITIES) throw badRequest('ENTITIES_TOO_LONG');
  for (const entity of entities) checkBounds(entity, text);
  checkNesting(entities);
  const cleaned = clean(text, entities);
  if (cleaned.text.length === 0) throw badRequest('message text is empty');
  if (cleaned.text.length > MAX_TEXT) throw badRequest('message is too long');
  return cleaned;
}

function parseEntities(raw: unknown): MessageEntity[] {
  if (raw === undefined || raw === null) return [];
  const list: unknown = typeof raw === 'string' ? JSON.parse(raw) : raw;
  if (!Array.isArray(list)) throw badRequest("can't parse entities: expected an Array");
  return list.map((item: unknown) => {
    const entity = item as Partial<MessageEntity> & { url?: unknown; user?: unknown };
    const refuse = (why: string): Error => badRequest(`can't parse entities: ${why}`);
    if (!Number.isInteger(entity.offset) || !Number.isInteger(entity.length)) throw refuse('offset or length missing');
    const type = String(entity.type);
    if (!PLAIN_TYPES.has(type) && !FOUND_TYPES.has(type)) throw refuse(`unsupported entity type ${type}`);
    if (type === 'text_link' && (typeof entity.url !== 'string' || !isLink(entity.url))) {
      throw refuse(`wrong text_link URL ${String(entity.url)}`);
    }
    if (type === 'text_mention' && typeof entity.user !== 'object') throw refuse('text_mention without user');
    return entity as MessageEntity;
  });
}

function isLink(url: string): boolean {
  return LINK.test(url) && URL.canParse(url) && !/[\s<>"]/.test(url);
}

function checkBounds({ offset, length }: MessageEntity, text: string): void {
  if (offset < 0 || length <= 0 || offset + length > text.length) {
    throw badRequest(`can't parse entities: entity at ${offset} of length ${length} is outside of the text`);
  }
  if (insideSurrogate(text, offset) || insideSurrogate(text, offset + length)) {
    throw badRequest(`can't parse entities: entity at ${offset} cuts a character in two`);
  }
}

function insideSurrogate(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

function checkNesting(entities: readonly MessageEntity[]): void {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  const open: MessageEntity[] = [];
  for (const entity of sorted) {
    while (open.length > 0 && endOf(open.at(-1)) <= entity.offset) open.pop();
    for (const outer of open) {
      const refuse = (why: string): Error => badRequest(`can't parse entities: ${entity.type} ${why} ${outer.type}`);
      if (endOf(entity) > endOf(outer)) throw refuse('crosses');
      if (CODE.has(outer.type) || (CODE.has(entity.type) && !QUOTES.has(outer.type))) throw refuse('overlaps');
      if (QUOTES.has(outer.type) && QUOTES.has(entity.type)) throw refuse('is inside of');
    }
    open.push(entity);
  }
}

function endOf(entity: MessageEntity | undefined): number {
  return entity ? entity.offset + entity.length : 0;
}

/** Control characters become spaces, line separators and bidirectional overrides vanish, the ends are trimmed. */
function clean(text: string, entities: readonly MessageEntity[]): FormattedText {
  let out = '';
  const moved: number[] = [];
  for (const unit of text) {
    for (let i = 0; i < unit.length; i++) moved.push(out.length + i);
    const code = unit.codePointAt(0) ?? 0;
    if (code === 0x0d || (code >= 0x2028 && code <= 0x202e)) continue;
    out += code < 0x20 && code !== 0x0a ? ' ' : unit;
  }
  moved.push(out.length);
  const lead = out.length - out.trimStart().length;
  const trimmed = out.trim();
  const place = (at: number): number => Math.min(Math.max((moved[at] ?? 0) - lead, 0), trimmed.length);
  const kept = entities.flatMap((entity) => {
    const offset = place(entity.offset);
    const length = place(entity.offset + entity.length) - offset;
    return length > 0 ? [{ ...entity, offset, length }] : [];
  });
  return { text: trimmed, entities: kept };
}

/** Entities Telegram finds in what people type: mentions and commands. */
export function foundEntities(text: string): MessageEntity[] {
  const found: MessageEntity[] = [];
  for (const match of text.matchAll(/(?<![\w@])@[A-Za-z]\w{3,31}/g)) {
    found.push({ type: 'mention', offset: match.index, length: match[0].length });
  }
  for (const match of text.matchAll(/(?<![\w/])\/[A-Za-z0-9_]{1,32}(@\w{4,32})?/g)) {
    found.push({ type: 'bot_command', offset: match.index, length: match[0].length });
  }
  return found.sort((a, b) => a.offset - b.offset);
}
