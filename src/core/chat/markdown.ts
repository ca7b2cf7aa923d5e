import type { Token } from 'markdown-it';
import { cleanText } from './clean-text.js';
import { parser } from './markdown-parser.js';
import type { Alignment, Block, Cell, Document, Fence, Inline, Lines, ListItem, Table } from './markdown-tree.js';

/** Open emphasis and links around a word; deeper marks are dropped, their text is kept. */
const INLINE_DEPTH = 12;
const LANGUAGE_LENGTH = 32;

/**
 * Parses markdown into the neutral tree. Never throws; time is linear in practice and bounded for text made to hurt
 * (nesting, table width and address length are capped; see markdown-parser). Sanitises with {@link cleanText} first.
 */
export function parseMarkdown(source: string): Document {
  const tokens = parser.parse(cleanText(source), {});
  return { children: liftBlocks(createCursor(tokens)) };
}

interface Cursor {
  /** The token at the cursor, which then moves on. */
  next(): Token | undefined;
  peek(): Token | undefined;
}

function createCursor(tokens: readonly Token[]): Cursor {
  let index = 0;
  return { next: () => tokens[index++], peek: () => tokens[index] };
}

/** Blocks up to the closing token of the container, which is taken too. */
function liftBlocks(cursor: Cursor): Block[] {
  const blocks: Block[] = [];
  for (let token = cursor.next(); token !== undefined && token.nesting !== -1; token = cursor.next()) {
    const block = liftBlock(token, cursor);
    if (block) blocks.push(block);
  }
  return blocks;
}

function liftBlock(token: Token, cursor: Cursor): Block | undefined {
  const lines = linesOf(token);
  switch (token.type) {
    case 'paragraph_open':
      return { type: 'paragraph', lines, children: liftContent(cursor) };
    case 'heading_open':
      return { type: 'heading', lines, level: Number(token.tag.slice(1)), children: liftContent(cursor) };
    case 'fence':
    case 'code_block':
      return liftFence(token);
    case 'blockquote_open':
      return { type: 'quote', lines, children: liftBlocks(cursor) };
    case 'bullet_list_open':
    case 'ordered_list_open':
      return liftList(token, cursor);
    case 'table_open':
      return liftTable(token, cursor);
    case 'hr':
      return { type: 'rule', lines };
    default:
      return undefined;
  }
}

function liftFence(token: Token): Fence {
  const lines = linesOf(token);
  const value = token.content.replace(/\n$/, '');
  const language = languageOf(token.info);
  if (token.type === 'code_block') return { type: 'fence', lines, value, language, marker: '', closed: true };
  const contentLines = token.content === '' ? 0 : value.split('\n').length;
  const closed = lines.end - lines.start > contentLines + 1;
  return { type: 'fence', lines, value, language, marker: token.markup, closed };
}

function linesOf(token: Token): Lines {
  return { start: token.map?.[0] ?? 0, end: token.map?.[1] ?? 0 };
}

function languageOf(info: string): string {
  const word = info.trim().split(/\s/, 1)[0] ?? '';
  return word.replace(/[^\p{L}\p{N}+#._-]/gu, '').slice(0, LANGUAGE_LENGTH);
}

function liftList(open: Token, cursor: Cursor): Block {
  const items: ListItem[] = [];
  let tight = true;
  for (let token = cursor.next(); token !== undefined && token.nesting !== -1; token = cursor.next()) {
    // In a tight list the parser hides the paragraphs of its items.
    if (cursor.peek()?.type === 'paragraph_open' && cursor.peek()?.hidden !== true) tight = false;
    items.push(liftItem(linesOf(token), liftBlocks(cursor)));
  }
  const start = open.type === 'ordered_list_open' ? Number(open.attrGet('start') ?? 1) : undefined;
  return { type: 'list', lines: linesOf(open), start, tight, items };
}

/** Recognises `[ ]` and `[x]` at the start of an item. */
function liftItem(lines: Lines, children: readonly Block[]): ListItem {
  const [first, ...rest] = children;
  if (first?.type !== 'paragraph') return { lines, checked: undefined, children };
  const [text, ...others] = first.children;
  const box = text?.type === 'text' ? /^\[([ xX])\](?:\s+|$)/.exec(text.value) : null;
  if (text?.type !== 'text' || box === null) return { lines, checked: undefined, children };
  const value = text.value.slice(box[0].length);
  const label = value === '' ? others : [{ ...text, value }, ...others];
  return { lines, checked: box[1] !== ' ', children: [{ ...first, children: label }, ...rest] };
}

function liftTable(open: Token, cursor: Cursor): Table {
  const rows: Cell[][] = [];
  const align: Alignment[] = [];
  for (let token = cursor.next(); token !== undefined && token.type !== 'table_close'; token = cursor.next()) {
    if (token.type === 'tr_open') rows.push([]);
    if (token.type === 'inline') rows.at(-1)?.push(liftInline(token.children ?? []));
    if (token.type === 'th_open') align.push(alignmentOf(token));
  }
  const [header = [], ...body] = rows;
  return { type: 'table', lines: linesOf(open), align, header, rows: body };
}

function alignmentOf(token: Token): Alignment {
  const style = String(token.attrGet('style') ?? '');
  return (['left', 'center', 'right'] as const).find((side) => style.endsWith(side));
}

/** The inline content of a paragraph or heading, whose closing token is taken too. */
function liftContent(cursor: Cursor): Inline[] {
  const inline = cursor.next();
  cursor.next();
  return liftInline(inline?.children ?? []);
}

const MARKS: Readonly<Record<string, 'strong' | 'emphasis' | 'strike'>> = {
  strong_open: 'strong',
  em_open: 'emphasis',
  s_open: 'strike',
};

/** Without recursion: ten thousand asterisks are ten thousand levels for the parser. */
function liftInline(tokens: readonly Token[]): Inline[] {
  const root: Inline[] = [];
  const open: Inline[][] = [root];
  let link: string | undefined;
  for (const token of tokens) {
    const parent = open.at(-1) ?? root;
    if (token.nesting === 1) {
      const node = open.length > INLINE_DEPTH ? undefined : containerNode(token);
      open.push(node ? node.children : parent);
      if (node) parent.push(node);
      if (token.type === 'link_open') link = String(token.attrGet('href') ?? '');
    } else if (token.nesting === -1) {
      if (open.length > 1) open.pop();
      if (token.type === 'link_close') {
        // A link without a label would be invisible.
        if (parent.length === 0) appendText(parent, link ?? '');
        link = undefined;
      }
    } else {
      appendLeaf(parent, token, link !== undefined);
    }
  }
  return root;
}

type Container = Extract<Inline, { children: unknown }> & { readonly children: Inline[] };

function containerNode(token: Token): Container | undefined {
  const mark = MARKS[token.type];
  if (mark) return { type: mark, children: [] };
  // An empty address, `[a]()`, is the only one the parser does not check.
  const url = token.type === 'link_open' ? String(token.attrGet('href') ?? '') : '';
  return url === '' ? undefined : { type: 'link', url, children: [] };
}

function appendLeaf(parent: Inline[], token: Token, insideLink: boolean): void {
  switch (token.type) {
    case 'softbreak':
    case 'hardbreak':
      parent.push({ type: 'break' });
      return;
    case 'code_inline':
      parent.push({ type: 'code', value: token.content });
      return;
    case 'image': {
      // Showing it would fetch an address the model chose.
      const url = String(token.attrGet('src') ?? '');
      const label = token.content || url;
      if (insideLink || url === '') appendText(parent, label);
      else parent.push({ type: 'link', url, children: [{ type: 'text', value: label }] });
      return;
    }
    default:
      appendText(parent, token.content);
  }
}

function appendText(parent: Inline[], value: string): void {
  if (value === '') return;
  const last = parent.at(-1);
  if (last?.type === 'text') parent[parent.length - 1] = { type: 'text', value: last.value + value };
  else parent.push({ type: 'text', value });
}
