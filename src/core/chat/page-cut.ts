import { type Container, containersAt } from './containers.js';
import { graphemeFloor, sentenceEnds, wordEnds } from './cut-positions.js';
import type { Fence, Table } from './markdown-tree.js';
import { halfLinkStart, openMarks } from './open-marks.js';
import {
  blockAt,
  type InnerLine,
  innerLines,
  isBetween,
  type LeafBlock,
  lastWrittenLine,
  type Page,
  readPage,
} from './page-outline.js';

/** One way to end a page. */
export interface Cut {
  /** The page, closed so that it stands alone. */
  readonly head: string;
  /** Where in the text the next page goes on. */
  readonly at: number;
  /** What the next page starts with: an open fence, a table header, open marks. */
  readonly prefix: string;
  /** Quotes and items the cut lies in. */
  readonly containers: readonly Container[];
  /** The next page starts with the rest of a line or paragraph, not with a line of its own. */
  readonly midLine: boolean;
}

/** What is repeated on the next page may take this part of a page, else it is left out. */
const REPEATED_SHARE = 3;
/** Joins nothing visible, but keeps `2. ` or `# ` at the start of a page from becoming a list or heading. */
const WORD_JOINER = '\u2060';
const TRIES = 12;

/**
 * Ways to end a page at or before `limit`, best first; what they are depends on nothing but `text` up to `limit` and
 * the character after it. Blocks come first, then lines, sentences, words and single characters, as long as the page
 * is at least half full; then the same below half. Each ends behind `floor`.
 */
export function* cutsOf(text: string, limit: number, floor: number): Generator<Cut> {
  const page = readPage(text, limit, floor);
  const half = limit / 2;
  const inner = innerLines(page);
  yield* blockStarts(page, half, limit);
  yield* lineEnd(page);
  for (const line of inner.filter((each) => each.at >= half)) yield* lineCut(page, line);
  yield* wordCuts(page, half, limit);
  yield* characterCuts(page, half);
  yield* blockStarts(page, floor + 1, half);
  for (const line of inner.filter((each) => each.at < half)) yield* lineCut(page, line);
  yield* wordCuts(page, floor + 1, half);
  yield* characterCuts(page, floor + 1);
}

function* blockStarts(page: Page, from: number, to: number): Generator<Cut> {
  const found = page.leaves
    .map(({ block, depth, afterHeading }) => ({ line: block.lines.start, depth, afterHeading }))
    .filter(({ line }) => isBetween(page, page.starts[line], from, to))
    .sort((a, b) => Number(a.afterHeading) - Number(b.afterHeading) || a.depth - b.depth || b.line - a.line);
  for (const { line } of found.slice(0, TRIES)) {
    const at = page.starts[line] ?? 0;
    const containers = containersAt(page.document, page.lines, lastWrittenLine(page, line));
    yield { head: withoutEmptyEnd(page.text.slice(0, at)), at, prefix: '', containers, midLine: false };
  }
}

/** Without blank lines at the end, also inside a quote. */
function withoutEmptyEnd(head: string): string {
  let end = head.length;
  while (end > 0 && /^[ \t>]*$/.test(head.slice(head.lastIndexOf('\n', end - 1) + 1, end))) {
    end = Math.max(0, head.lastIndexOf('\n', end - 1));
  }
  return head.slice(0, end).trimEnd();
}

/** A cut before the next line, of which little is known. */
function* lineEnd(page: Page): Generator<Cut> {
  const last = blockAt(page, page.lines.length - 1);
  const at = page.limit + 1;
  const mayBeTable = page.lines.at(-1)?.includes('|') && /^[\s>|:-]*$/.test(page.next ?? '');
  if (page.next === undefined || last?.type === 'fence' || mayBeTable || !isBetween(page, at, page.limit / 2, at))
    return;
  const containers = containersAt(page.document, page.lines, lastWrittenLine(page, page.lines.length));
  yield { head: withoutEmptyEnd(page.text.slice(0, at)), at, prefix: '', containers, midLine: false };
}

function* lineCut(page: Page, { block, line, at }: InnerLine): Generator<Cut> {
  const containers = containersAt(page.document, page.lines, line - 1);
  const quotes = quotePrefix(page, containers);
  const common = { at, containers, midLine: false };
  if (block.type === 'fence') {
    const closing = block.marker === '' ? '' : `${indentOf(containers)}${block.marker}`;
    yield { ...common, head: page.text.slice(0, at) + closing, prefix: fenceOpening(page, block, quotes) };
  } else if (block.type === 'table') {
    yield { ...common, head: page.text.slice(0, at).trimEnd(), prefix: tableHeader(page, block, containers) };
  } else {
    const markers = /^[ \t>]*/.exec(page.lines[line] ?? '')?.[0].length ?? 0;
    yield textCut(page, { block, line, at: at + markers });
  }
}

/** Cuts inside the line that the limit lies in. */
function* wordCuts(page: Page, from: number, to: number): Generator<Cut> {
  const block = blockAt(page, page.lines.length - 1);
  if (!block) return;
  const sentences =
    block.type === 'fence' ? [] : startsInLine(page, sentenceEnds, { from, to }).map((at) => midCut(page, at));
  yield* sentences.filter((cut) => !cut.marked);
  yield* sentences.filter((cut) => cut.marked);
  for (const at of startsInLine(page, wordEnds, { from, to })) yield midCut(page, at);
}

/** The last places of the last line where a sentence or word begins, last first. */
function startsInLine(page: Page, endsOf: (line: string) => number[], range: { from: number; to: number }): number[] {
  const start = page.starts.at(-1) ?? 0;
  const found: number[] = [];
  // The character at the limit is looked at, to know that the word before is whole.
  for (const end of endsOf(page.text.slice(start, page.limit + 1)).reverse()) {
    const at = start + end;
    if (at < range.from || found.length === TRIES) break;
    if (isBetween(page, at, range.from, range.to) && isWhole(page.text.slice(start, at))) found.push(at);
  }
  return found;
}

function isWhole(start: string): boolean {
  return hasContent(start) && halfLinkStart(start) === undefined;
}

/** The start of a line is more than indentation and markers. */
function hasContent(start: string): boolean {
  return !/^[\s>]*(?:(?:[-+*]|\d{1,9}[.)]|#{1,6}|\[.\])\s+)*$/.test(start);
}

function* characterCuts(page: Page, from: number): Generator<Cut> {
  for (let size = page.limit - page.floor; size >= 1; size = Math.floor(size * (size > 64 ? 0.9 : 0.5))) {
    const whole = graphemeFloor(page.text, page.floor + size, page.floor);
    const link = halfLinkStart(page.text.slice(0, whole)) ?? whole;
    const at = link > page.floor ? link : whole;
    if (at <= page.floor || at < from) return;
    const line = page.text.slice(page.text.lastIndexOf('\n', at - 1) + 1, at);
    if (hasContent(line)) yield midCut(page, at);
  }
}

/** A cut inside a line; `marked` when it has to close marks. */
function midCut(page: Page, at: number): Cut & { marked: boolean } {
  const line = page.starts.findLastIndex((start) => start < at);
  const block = blockAt(page, line);
  if (block?.type === 'table' && line > block.lines.start + 1) return rowCut(page, { block, line, at });
  if (block?.type !== 'fence') return textCut(page, { block, line, at });
  const containers = containersAt(page.document, page.lines, line);
  const quotes = quotePrefix(page, containers);
  const closing = block.marker === '' ? '' : `\n${indentOf(containers)}${block.marker}`;
  const prefix = block.marker === '' ? `${quotes}    ` : fenceOpening(page, block, quotes) + quotes;
  return { head: page.text.slice(0, at) + closing, at, prefix, containers, midLine: true, marked: false };
}

interface Place {
  readonly block: LeafBlock | undefined;
  readonly line: number;
  readonly at: number;
}

/** A cut inside a paragraph or heading: open marks are closed and opened again. */
function textCut(page: Page, { block, line, at }: Place): Cut & { marked: boolean } {
  const start = block?.lines.start ?? line;
  const containers = containersAt(page.document, page.lines, start);
  const marks = openMarks(page.text.slice(page.starts[start], at).trim());
  const written = page.text.slice(0, at).trimEnd();
  // A backslash for a line break would be shown at the end of a page.
  const body = page.text[written.length] === '\n' ? written.replace(/(?<!\\)\\$/, '') : written;
  const opening = block?.type === 'heading' ? `${'#'.repeat(block.level)} ` : '';
  // Three marks at the start of a line would be a fence, and swallow the line.
  const first = marks.join('') + page.text.slice(at, at + 3);
  const risky = opening === '' && (marks.length === 0 ? /^[-+*#>`~|=\d]/ : /^(?:`{3}|~{3})/).test(first);
  return {
    head: body + [...marks].reverse().join(''),
    at,
    prefix: quotePrefix(page, containers) + opening + (risky ? WORD_JOINER : '') + marks.join(''),
    containers,
    midLine: true,
    marked: marks.length > 0,
  };
}

/** A cut inside a table row: the next page has the header, empty cells and the rest of this cell. */
function rowCut(page: Page, place: Place & { block: Table }): Cut & { marked: boolean } {
  const { block, line, at } = place;
  const containers = containersAt(page.document, page.lines, line);
  const header = tableHeader(page, block, containers);
  const row = page.text.slice(page.starts[line], at);
  const cells = row.split(/(?<!\\)\|/);
  if (header === '' || cells.length < 2) return textCut(page, place);
  const marks = openMarks(cells.at(-1)?.trim() ?? '');
  const leading = /^[ \t>]*\|/.test(row) ? cells.length - 2 : cells.length - 1;
  return {
    head: `${page.text.slice(0, at).trimEnd()}${[...marks].reverse().join('')} |`,
    at,
    prefix: `${header}${quotePrefix(page, containers)}|${' |'.repeat(leading)} ${marks.join('')}`,
    containers,
    midLine: true,
    marked: marks.length > 0,
  };
}

function tableHeader(page: Page, block: Table, containers: readonly Container[]): string {
  const [head = '', delimiters = ''] = page.lines.slice(block.lines.start, block.lines.start + 2);
  const indent = /^[\s>]*/.exec(delimiters)?.[0].length ?? 0;
  // A table that begins its item has the item's marker where the second line is indented.
  const start = hasContent(`${head.slice(0, indent)} `) ? (/^[\s>]*/.exec(head)?.[0].length ?? 0) : indent;
  const quotes = quotePrefix(page, containers);
  const header = `${quotes}${head.slice(start)}\n${quotes}${delimiters.slice(indent)}\n`;
  return header.length * REPEATED_SHARE <= page.limit ? header : '';
}

function fenceOpening(page: Page, block: Fence, quotes: string): string {
  if (block.marker === '') return '';
  const language = block.language.length * REPEATED_SHARE <= page.limit ? block.language : '';
  return `${quotes}${block.marker}${language}\n`;
}

function quotePrefix(page: Page, containers: readonly Container[]): string {
  const quotes = '> '.repeat(containers.filter(({ kind }) => kind === 'quote').length);
  return quotes.length * REPEATED_SHARE <= page.limit ? quotes : '';
}

/** What a line of its own inside the containers starts with. */
function indentOf(containers: readonly Container[]): string {
  return containers.map((container) => (container.kind === 'quote' ? '> ' : ' '.repeat(container.width))).join('');
}
