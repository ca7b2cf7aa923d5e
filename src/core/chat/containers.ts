import type { Block, Document, ListItem } from './markdown-tree.js';

/**
 * A quote or list item a line of source lies in. When a page ends inside one, the next page shows its rest without
 * the item's indentation: the marker stays on the page before, and an indented start would be read as code.
 */
export type Container =
  | { readonly kind: 'quote' }
  | {
      readonly kind: 'item';
      /** Columns the content is indented by, relative to the container around. */
      readonly width: number;
      /** Columns it gets instead: not 0 for an item that is shown with its marker, but with a longer number. */
      readonly shown?: number;
      /** The number and delimiter the next item of an ordered list has. */
      readonly next?: { readonly number: number; readonly delimiter: string };
    };

/** One line of a page and where it came from; `content` is where both texts run in parallel. */
interface Line {
  readonly page: { readonly start: number; readonly content: number };
  readonly source: { readonly start: number; readonly content: number };
  /** Containers that may still go on after this line. */
  readonly after: readonly Container[];
}

/** Source with the indentation of containers of earlier pages removed. */
export interface Unindented {
  readonly text: string;
  readonly lines: readonly Line[];
}

const BLOCK_START = /^ {0,3}(?:[-+*](?:\s|$)|\d{1,9}[.)](?:\s|$)|#{1,6}(?:\s|$)|>|```|~~~|(?:[-*_][ \t]*){3,}$)/;

/**
 * Rewrites source that starts inside `containers` to stand alone. With `midLine` the first line is the rest of a line
 * whose markers are on an earlier page. Item numbers of a list that was begun there keep counting.
 */
export function unindent(source: string, containers: readonly Container[], midLine: boolean): Unindented {
  const lines: Line[] = [];
  let text = '';
  let at = 0;
  let open = containers;
  let lazy = false;
  for (let first = midLine; at < source.length && (open.length > 0 || first); first = false) {
    const end = source.indexOf('\n', at) + 1 || source.length;
    const line = source.slice(at, end);
    const step = first ? { emitted: '', consumed: 0, open } : enterLine(line, open, lazy);
    lines.push({
      page: { start: text.length, content: text.length + step.emitted.length },
      source: { start: at, content: at + step.consumed },
      after: step.open,
    });
    text += step.emitted + line.slice(step.consumed);
    lazy = line.trim() !== '';
    open = step.open;
    at = end;
  }
  lines.push({ page: { start: text.length, content: text.length }, source: { start: at, content: at }, after: open });
  return { text: text + source.slice(at), lines };
}

/**
 * Where in the source a position of the page lies, and the earlier containers that are open there. The start of a
 * line keeps its indentation and markers, the next page looks at them again; a place inside a line is behind them.
 */
export function locate(
  unindented: Unindented,
  position: number,
  midLine: boolean,
): { source: number; open: readonly Container[] } {
  const index = unindented.lines.findLastIndex((line) => line.page.start <= position);
  const line = unindented.lines[index];
  if (!line) return { source: position, open: [] };
  const before = unindented.lines[index - 1];
  if (before && !midLine && position <= line.page.content) return { source: line.source.start, open: before.after };
  return { source: line.source.content + Math.max(0, position - line.page.content), open: line.after };
}

interface LineStep {
  readonly emitted: string;
  readonly consumed: number;
  readonly open: readonly Container[];
}

/** Takes the markers and indentation of `open` off a line; `lazy` lines may continue a paragraph without them. */
function enterLine(line: string, open: readonly Container[], lazy: boolean): LineStep {
  let emitted = '';
  let consumed = 0;
  for (const [index, container] of open.entries()) {
    const rest = line.slice(consumed);
    if (rest.trim() === '') break;
    if (container.kind === 'quote') {
      const marker = /^ {0,3}> ?/.exec(rest)?.[0];
      if (marker === undefined) return { emitted, consumed, open: isLazy(rest, lazy) ? open : open.slice(0, index) };
      emitted += marker;
      consumed += marker.length;
    } else {
      const indent = takeColumns(rest, container.width);
      if (!indent && isLazy(rest, lazy)) return { emitted, consumed, open };
      if (!indent) return leaveItem(rest, index, { emitted: lazy ? separated(emitted) : emitted, consumed, open });
      emitted += ' '.repeat(indent.surplus + (container.shown ?? 0));
      consumed += indent.length;
    }
  }
  return { emitted, consumed, open };
}

function isLazy(rest: string, lazy: boolean): boolean {
  return lazy && !BLOCK_START.test(rest);
}

/** A blank line in front: without its indentation the text before is a paragraph, which a list may not interrupt. */
function separated(markers: string): string {
  return `${markers.trimEnd()}\n${markers}`;
}

/** The item at `index` ended before this line. When the line is the list's next item, its number is set. */
function leaveItem(rest: string, index: number, step: LineStep): LineStep {
  const open = step.open.slice(0, index);
  const ended = step.open[index];
  const next = ended?.kind === 'item' ? ended.next : undefined;
  const marker = /^( {0,3})(\d{1,9})([.)])(?=\s|$)/.exec(rest);
  const [taken = '', indent = '', number = '', delimiter] = marker ?? [];
  if (!next || delimiter !== next.delimiter) return { ...step, open };
  const width = markerWidth(rest);
  const shown = width + String(next.number).length - number.length;
  return {
    emitted: `${step.emitted}${indent}${next.number}${delimiter}`,
    consumed: step.consumed + taken.length,
    open: shown === width ? open : [...open, { kind: 'item', width, shown }],
  };
}

/** The characters that make up `width` columns of indentation; a tab reaches to the next multiple of four. */
function takeColumns(text: string, width: number): { length: number; surplus: number } | undefined {
  let columns = 0;
  let length = 0;
  while (columns < width) {
    const character = text[length];
    if (character === ' ') columns++;
    else if (character === '\t') columns += 4 - (columns % 4);
    else return undefined;
    length++;
  }
  return { length, surplus: columns - width };
}

/** The containers line `line` of a parsed text lies in, outermost first. */
export function containersAt(document: Document, lines: readonly string[], line: number): Container[] {
  const path: { container: Container; start: number }[] = [];
  let blocks: readonly Block[] | undefined = document.children;
  while (blocks) {
    const block: Block | undefined = blocks.find((each) => each.lines.start <= line && line < each.lines.end);
    blocks = undefined;
    if (block?.type === 'quote') {
      path.push({ container: { kind: 'quote' }, start: block.lines.start });
      blocks = block.children;
    } else if (block?.type === 'list') {
      const index = block.items.findIndex((item) => item.lines.start <= line && line < item.lines.end);
      const item: ListItem | undefined = block.items[index];
      if (!item) break;
      const number = block.start === undefined ? undefined : block.start + index + 1;
      path.push({ container: itemContainer(lines, item, path, number), start: item.lines.start });
      blocks = item.children;
    }
  }
  return path.map(({ container }) => container);
}

function itemContainer(
  lines: readonly string[],
  item: ListItem,
  parents: readonly { container: Container; start: number }[],
  number: number | undefined,
): Container {
  const start = item.lines.start;
  let rest = lines[start] ?? '';
  for (const parent of parents) {
    if (parent.container.kind === 'quote') rest = rest.replace(/^ {0,3}> ?/, '');
    else if (parent.start === start) rest = rest.slice(parent.container.width);
    else rest = rest.slice(takeColumns(rest, parent.container.width)?.length ?? 0);
  }
  const width = markerWidth(rest);
  if (number === undefined) return { kind: 'item', width };
  return { kind: 'item', width, next: { number, delimiter: /[.)]/.exec(rest)?.[0] ?? '.' } };
}

/** Columns up to the content of an item whose line is `text`. */
function markerWidth(text: string): number {
  const [, indent = '', sign = '-', gap = '', content = ''] =
    /^([ \t]*)([-+*]|\d{1,9}[.)])([ \t]*)(.?)/.exec(text) ?? [];
  const space = content === '' || gap.length === 0 || gap.length > 4 ? 1 : gap.replaceAll('\t', '   ').length;
  return indent.length + sign.length + space;
}

/** Containers of earlier pages with those found on the page itself inside them, quote by quote. */
export function joinContainers(earlier: readonly Container[], found: readonly Container[]): Container[] {
  const outer = itemsByQuote(earlier);
  const inner = itemsByQuote(found);
  const joined: Container[] = [];
  for (let level = 0; level < Math.max(outer.length, inner.length); level++) {
    if (level > 0) joined.push({ kind: 'quote' });
    const items = [...(outer[level] ?? [])];
    const last = items.at(-1);
    const [first, ...others] = inner[level] ?? [];
    // An item shown with its marker is found on the page as well.
    if (last?.kind === 'item' && last.shown !== undefined && first?.kind === 'item') {
      items[items.length - 1] = { ...first, width: last.width };
    } else if (first) items.push(first);
    joined.push(...items, ...others);
  }
  // Quotes need no rewriting; they only lead to the items inside them.
  return joined.slice(0, joined.findLastIndex((container) => container.kind === 'item') + 1);
}

function itemsByQuote(containers: readonly Container[]): Container[][] {
  const levels: Container[][] = [[]];
  for (const container of containers) {
    if (container.kind === 'quote') levels.push([]);
    else levels.at(-1)?.push(container);
  }
  return levels;
}
