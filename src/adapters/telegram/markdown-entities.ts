import type { Block, Inline, Link, List, ListItem } from '../../core/chat/markdown-tree.js';
import { plainText } from '../../core/chat/markdown-tree.js';
import { textTable } from '../../core/chat/text-table.js';
import type { EntityWriter, Format } from './entity-text.js';

/** Where a block stands. */
interface Around {
  /** In front of every further line of an item. */
  readonly indent: string;
  /** Lists around. */
  readonly depth: number;
}

const TOP: Around = { indent: '', depth: 0 };
const BULLETS = ['•', '◦', '▪'] as const;
const RULE = '──────────';

/** Writes blocks in the formats Telegram has: headings are bold, tables monospaced, nested quotes one quote. */
export function writeBlocks(out: EntityWriter, blocks: readonly Block[], around: Around = TOP): void {
  for (const block of blocks) writeBlock(out, block, around);
}

function writeBlock(out: EntityWriter, block: Block, around: Around): void {
  switch (block.type) {
    case 'paragraph':
      startBlock(out, around);
      writeInline(out, block.children, around.indent);
      return;
    case 'heading':
      startBlock(out, around);
      out.format({ type: 'bold' }, () => writeInline(out, block.children, around.indent));
      return;
    case 'fence':
      writePre(out, { text: block.value, language: block.language, around });
      return;
    case 'table':
      writePre(out, { text: textTable(block), language: '', around });
      return;
    case 'quote':
      writeQuote(out, block.children, around);
      return;
    case 'list':
      writeList(out, block, around);
      return;
    case 'rule':
      startBlock(out, around);
      out.raw(RULE);
  }
}

function startBlock(out: EntityWriter, around: Around): void {
  if (around.depth > 0) {
    out.lines(1);
    out.raw(around.indent);
  } else {
    out.lines(2);
  }
}

function writeQuote(out: EntityWriter, blocks: readonly Block[], around: Around): void {
  if (out.isOpen('blockquote')) {
    writeBlocks(out, blocks, around);
    return;
  }
  out.lines(around.depth > 0 ? 1 : 2);
  out.format({ type: 'blockquote' }, () => writeBlocks(out, blocks, { ...around, indent: '' }));
  out.lines(1);
}

function writePre(out: EntityWriter, pre: { text: string; language: string; around: Around }): void {
  const text = pre.text.replace(/^(?:[ \t]*\n)+/, '').trimEnd();
  if (text === '') return;
  out.lines(pre.around.depth > 0 ? 1 : 2);
  out.pre(text, pre.language);
  out.lines(1);
}

function writeList(out: EntityWriter, list: List, around: Around): void {
  out.lines(around.depth > 0 ? 1 : 2);
  const bullet = BULLETS[Math.min(around.depth, BULLETS.length - 1)] ?? '•';
  for (const [index, item] of list.items.entries()) {
    out.lines(list.tight || index === 0 ? 1 : 2);
    const marker = list.start === undefined ? bullet : `${list.start + index}.`;
    writeItem(out, item, { marker, around });
  }
}

function writeItem(out: EntityWriter, item: ListItem, { marker, around }: { marker: string; around: Around }): void {
  const inside: Around = { indent: `${around.indent}  `, depth: around.depth + 1 };
  const box = item.checked === undefined ? '' : item.checked ? '☑ ' : '☐ ';
  out.raw(`${around.indent}${box !== '' && marker.length === 1 ? box : `${marker} ${box}`}`);
  const [first, ...rest] = item.children;
  if (first?.type === 'paragraph') writeInline(out, first.children, inside.indent);
  else if (first?.type === 'heading') {
    out.format({ type: 'bold' }, () => writeInline(out, first.children, inside.indent));
  } else if (first) writeBlock(out, first, inside);
  writeBlocks(out, rest, inside);
}

const FORMATS = { strong: 'bold', emphasis: 'italic', strike: 'strikethrough' } as const satisfies Record<
  string,
  Format['type']
>;

function writeInline(out: EntityWriter, nodes: readonly Inline[], indent: string): void {
  for (const node of nodes) {
    switch (node.type) {
      case 'text':
        out.words(node.value);
        break;
      case 'break':
        out.raw(`\n${indent}`);
        break;
      case 'code':
        writeCode(out, node.value);
        break;
      case 'link':
        writeLink(out, node, indent);
        break;
      case 'strong':
      case 'emphasis':
      case 'strike': {
        const type = FORMATS[node.type];
        if (out.isOpen(type)) writeInline(out, node.children, indent);
        else out.format({ type }, () => writeInline(out, node.children, indent));
      }
    }
  }
}

/** Code inside a link would cut the link: Telegram lets nothing overlap code. */
function writeCode(out: EntityWriter, value: string): void {
  if (out.isOpen('text_link')) out.words(value);
  else out.code(value);
}

function writeLink(out: EntityWriter, link: Link, indent: string): void {
  const label = plainText(link.children);
  const address = link.url.startsWith('mailto:') ? link.url.slice('mailto:'.length) : undefined;
  if (label === link.url) {
    // Telegram links a bare address itself; a word joiner inside would break it.
    out.raw(label);
  } else if (address !== undefined) {
    // Not among the addresses Telegram links, but a written one it finds.
    writeInline(out, link.children, indent);
    if (!label.includes(address)) out.raw(` (${address})`);
  } else {
    out.format({ type: 'text_link', url: link.url }, () => writeInline(out, link.children, indent));
  }
}
