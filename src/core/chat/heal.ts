import type { Token } from 'markdown-it';
import { cleanText } from './clean-text.js';
import { parser } from './markdown-parser.js';
import { halfLinkStart, openMarks } from './open-marks.js';

/**
 * Closes what a text in the middle of a stream leaves open, so that it looks as it will when the rest has arrived:
 * marks and code are closed, a half link or image is its label, a mark or list marker without text is held back, a
 * table whose second line is being written has that line. Only for text that is still growing or was cut short.
 */
export function healMarkdown(source: string): string {
  const text = completeTable(withoutLoneMarker(cleanText(source).trimEnd()));
  const inline = lastInline(text);
  const line = inline?.slice(inline.lastIndexOf('\n') + 1) ?? '';
  if (inline === undefined || line === '' || !text.endsWith(line)) return text;
  const before = inline.slice(0, inline.length - line.length);
  const kept = withoutHalves(before, line);
  const closers = openMarks(before + kept)
    .reverse()
    .join('');
  return (text.slice(0, text.length - line.length) + kept).trimEnd() + closers;
}

/** The last line without a half link and without marks that have no text yet (or that may be a half closing mark). */
function withoutHalves(before: string, line: string): string {
  const start = halfLinkStart(line) ?? labelStart(line);
  const insideCode =
    start !== undefined &&
    openMarks(before + line.slice(0, start))
      .at(-1)
      ?.startsWith('`');
  const label = start === undefined || insideCode ? line : line.slice(0, start) + labelOf(line.slice(start));
  let end = label.length;
  while (end > 0 && ' \t*_~`\\'.includes(label.charAt(end - 1))) end--;
  return label.slice(0, end);
}

/** Where `[label]` at the end of a line starts: most brackets that stand like this get an address. */
function labelStart(line: string): number | undefined {
  const label = /(?<![\w\]\\])!?\[[^[\]^][^[\]]*\]$/.exec(line);
  return label && !/^\[[ xX]\]$/.test(label[0]) ? label.index : undefined;
}

function labelOf(halfLink: string): string {
  const label = halfLink.slice(halfLink.indexOf('[') + 1);
  const end = label.lastIndexOf(label.endsWith(']') ? ']' : '](');
  return end < 0 ? label : label.slice(0, end);
}

/** `-`, `1.`, `#`, `>`, half a fence or half a task's box alone on the last line is the start of something. */
function withoutLoneMarker(text: string): string {
  const lone = /(?:^|\n)[ \t>]*(?:--?|[+*]|\d{1,9}[.)]|#{1,6}|>|[`~]{1,2}|(?:[-+*]|\d{1,9}[.)]) +\[[ xX]?)$/.exec(text);
  return lone ? text.slice(0, lone.index).trimEnd() : text;
}

/** Gives a table whose second line is being written that line, so that the header is not shown as text first. */
function completeTable(text: string): string {
  const header = /(?:^|\n)[ \t]*(\|[^\n]*\|)[ \t]*\n[ \t]*(?:\||\|?[ \t]*:?-[-:| \t]*)$/.exec(text)?.[1];
  if (header === undefined) return text;
  const columns = header.split(/(?<!\\)\|/).length - 2;
  return `${text.slice(0, text.lastIndexOf('\n') + 1)}|${'---|'.repeat(columns)}`;
}

/** The text of the last paragraph, heading or cell; undefined when the text ends in code or a rule. */
function lastInline(text: string): string | undefined {
  const tokens: Token[] = [];
  parser.block.parse(text, parser, {}, tokens);
  const last = tokens.findLast((token) => token.nesting === 0 && (token.type !== 'inline' || token.content !== ''));
  return last?.type === 'inline' ? last.content : undefined;
}
