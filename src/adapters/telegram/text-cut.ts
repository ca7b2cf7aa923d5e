import { cleanText } from '../../core/chat/clean-text.js';

/** A shorter piece of a text is not worth showing. */
const SHORTEST = 16;

/** The beginning of a text, with an ellipsis when something is missing; '' when there is room for too little. */
export function startOf(source: string, room: number): string {
  const text = cleanText(source).trim();
  if (shownLength(text) <= room) return text;
  const start = cutTo(room - 1, (length) => text.slice(0, length));
  return start.length < SHORTEST ? '' : `${start.replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The end of a text, for a reasoning, where the thought is. */
export function endOf(source: string, room: number): string {
  const text = cleanText(source).trim();
  if (shownLength(text) <= room) return text;
  const end = cutTo(room - 1, (length) => text.slice(text.length - length));
  return end.length < SHORTEST ? '' : `…${end.replace(/^[\udc00-\udfff]/, '')}`;
}

/** As many of the last lines as there is room for: the newest is the one that is happening. */
export function lastLines(source: readonly string[], longest: number, room: number): string {
  const lines = source.map((line) => oneLine(line, longest)).filter((line) => line !== '');
  while (lines.length > 0 && shownLength(lines.join('\n')) > room) lines.shift();
  return lines.join('\n');
}

/** A text on one line of at most `longest` characters. */
export function oneLine(source: string, longest: number): string {
  return startOf(source.replace(/\s+/g, ' '), longest);
}

function cutTo(room: number, cut: (length: number) => string): string {
  let length = Math.max(0, room);
  let piece = cut(length);
  for (let excess = shownLength(piece) - room; excess > 0 && length > 0; excess = shownLength(piece) - room) {
    length = Math.max(0, length - Math.ceil(excess / 2));
    piece = cut(length);
  }
  return piece;
}

/** With the word joiners that part each `@` from a name. */
function shownLength(text: string): number {
  return text.length + text.split('@').length - 1;
}
