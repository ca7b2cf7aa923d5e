import { parseMarkdown } from './markdown.js';
import type { Block, Document, Fence, Heading, Paragraph, Rule, Table } from './markdown-tree.js';

const LINE_TRIES = 40;

export type LeafBlock = Paragraph | Heading | Fence | Table | Rule;

interface Leaf {
  readonly block: LeafBlock;
  /** Containers that were begun on an earlier line. */
  readonly depth: number;
  /** A heading stands right before it and must not stay behind. */
  readonly afterHeading: boolean;
}

/** What is known about a text that is too long for one page, up to the place where the page is full. */
export interface Page {
  readonly text: string;
  readonly limit: number;
  /** The page must end behind this. */
  readonly floor: number;
  /** Offset of the first character behind `floor` that can be seen. */
  readonly visibleFrom: number;
  /** The start of the next line when the page ends at a line end. */
  readonly next: string | undefined;
  readonly document: Document;
  readonly leaves: readonly Leaf[];
  readonly lines: readonly string[];
  /** Offset of each line. */
  readonly starts: readonly number[];
}

/** Looks at `text` up to `limit`, or up to the end of the line before when it is not clear what the last line is. */
export function readPage(text: string, limit: number, floor: number): Page {
  const page = parsePage(text, limit, floor);
  const start = text.lastIndexOf('\n', limit - 1) + 1;
  const half = text.slice(start, limit);
  if (start <= floor + 1 || !isUnclear(half, page.leaves.at(-1)?.block)) return page;
  // What comes next in the line decides what it is (a list, a rule, the second line of a table): end before it.
  return { ...parsePage(text, start - 1, floor), next: half };
}

function parsePage(text: string, limit: number, floor: number): Page {
  const known = text.slice(0, limit);
  const document = parseMarkdown(known);
  const lines = known.split('\n');
  const starts: number[] = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  const leaves = leavesOf(document.children, []);
  const visible = text.slice(floor).search(/\S/);
  const visibleFrom = visible < 0 ? text.length : floor + visible;
  return { text, limit, floor, visibleFrom, next: undefined, document, leaves, lines, starts };
}

/** Whether half a line may still become something else than it looks like. */
function isUnclear(half: string, last: LeafBlock | undefined): boolean {
  const content = half.replace(/^[\s>]*/, '');
  if (last?.type === 'fence' && !last.closed) return /^[`~]*$/.test(content);
  if (content.startsWith('|')) return last?.type !== 'table' || last.rows.length === 0;
  return /^[-+*_=~`#>\d.)|:\s]{0,40}$/.test(content);
}

/** The block a line lies in; code without an end goes on to the end. */
export function blockAt(page: Page, line: number): LeafBlock | undefined {
  const last = page.leaves.at(-1)?.block;
  if (last?.type === 'fence' && !last.closed && line >= last.lines.start) return last;
  return page.leaves.find(({ block }) => block.lines.start <= line && line < block.lines.end)?.block;
}

/** Leaf blocks in order. `starts` are the first lines of the containers around. */
function leavesOf(blocks: readonly Block[], starts: readonly number[]): Leaf[] {
  const leaves: Leaf[] = [];
  let afterHeading = false;
  for (const block of blocks) {
    const around = [...starts, block.lines.start];
    if (block.type === 'quote') leaves.push(...leavesOf(block.children, around));
    else if (block.type === 'list') {
      for (const item of block.items) leaves.push(...leavesOf(item.children, [...around, item.lines.start]));
    } else {
      const depth = starts.filter((start) => start < block.lines.start).length;
      leaves.push({ block, depth, afterHeading });
    }
    afterHeading = block.type === 'heading';
  }
  return leaves;
}

/** Whether a page that ends at `at` ends between `from` and `to` and shows something of its own. */
export function isBetween(page: Page, at: number | undefined, from: number, to: number): at is number {
  return at !== undefined && at > page.visibleFrom && at >= from && at <= to;
}

/** The last line before `before` that is not blank. */
export function lastWrittenLine(page: Page, before: number): number {
  let line = before - 1;
  while (line > 0 && page.lines[line]?.trim() === '') line--;
  return line;
}

export interface InnerLine {
  readonly block: LeafBlock;
  readonly line: number;
  readonly at: number;
}

/** Starts of lines inside paragraphs, code and tables, last first. */
export function innerLines(page: Page): InnerLine[] {
  const found: InnerLine[] = [];
  const last = blockAt(page, page.lines.length - 1);
  for (const { block } of page.leaves) {
    // An opening fence or a table's header and delimiter rows alone are no page end, nor is a closing fence a start.
    const first = block.lines.start + (block.type === 'table' ? 3 : block.type === 'fence' && block.marker ? 2 : 1);
    const end = block === last ? page.lines.length : block.lines.end;
    for (let line = first; line < end; line++) {
      const at = page.starts[line] ?? 0;
      if (block.type === 'fence' && block.marker && isFenceLine(page, at)) continue;
      if (isBetween(page, at, page.floor + 1, page.limit)) found.push({ block, line, at });
    }
  }
  return found.reverse().slice(0, LINE_TRIES);
}

/** The character at `limit` is known too. */
function isFenceLine(page: Page, at: number): boolean {
  return /^[ >]*[`~]/.test(page.text.slice(at, Math.min(page.limit + 1, at + 40)));
}
