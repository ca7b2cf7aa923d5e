import { textTokens } from '../../llm/tokens.js';

const HEAD_SHARE = 0.7;

/** A shorter limit leaves no text beside the mark. */
const LEAST = 80;

const MARK = /\n\[… (\d+) characters left out …\]\n/;

function mark(missing: number): string {
  return `\n[… ${missing} characters left out …]\n`;
}

/**
 * Head (70 %) and tail (30 %) of a text with a mark between them that says how many characters are missing; at most
 * `limit` UTF-16 units (at least 80), mark included. No surrogate pair is split. Cutting a cut text again counts on.
 */
export function cutMiddle(text: string, limit: number): string {
  const most = Math.max(LEAST, limit);
  if (text.length <= most) return text;
  const former = MARK.exec(text);
  const room = most - mark(text.length + Number(former?.[1] ?? 0)).length;
  const front = former ? text.slice(0, former.index) : text;
  const back = former ? text.slice(former.index + former[0].length) : text;
  const headEnd = withoutHalf(front, Math.min(front.length, Math.floor(room * HEAD_SHARE)));
  const tailFrom = afterHalf(
    back,
    Math.max(former ? 0 : headEnd, back.length - (room - Math.floor(room * HEAD_SHARE))),
  );
  const kept = headEnd + back.length - tailFrom;
  const whole = former ? front.length + back.length + Number(former[1]) : text.length;
  return `${front.slice(0, headEnd)}${mark(whole - kept)}${back.slice(tailFrom)}`;
}

/** The same by estimated tokens. A limit below the mark's own size gives little more than the mark. */
export function cutToTokens(text: string, limit: number): string {
  let tokens = textTokens(text);
  if (tokens <= limit) return text;
  let cut = text;
  for (let most = text.length; tokens > limit && most > LEAST; ) {
    most = Math.floor((most * limit * 0.98) / tokens);
    cut = cutMiddle(text, most);
    tokens = textTokens(cut);
  }
  return cut;
}

/** Pieces of at most `size` UTF-16 units that end at a line if one ends near; no surrogate pair is split. */
export function splitText(text: string, size: number): readonly string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = pieceEnd(text, from, Math.max(2, size));
    pieces.push(text.slice(from, end));
    from = end;
  }
  return pieces;
}

function pieceEnd(text: string, from: number, size: number): number {
  const most = from + size;
  if (most >= text.length) return text.length;
  const line = text.lastIndexOf('\n', most - 1) + 1;
  return line > from + size * 0.8 ? line : withoutHalf(text, most);
}

function withoutHalf(text: string, end: number): number {
  return isHigh(text.charCodeAt(end - 1)) && isLow(text.charCodeAt(end)) ? end - 1 : end;
}

function afterHalf(text: string, start: number): number {
  return isLow(text.charCodeAt(start)) && isHigh(text.charCodeAt(start - 1)) ? start + 1 : start;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
