import type { Alignment, Block, Cell, Inline, ListItem, Table } from '../../core/chat/markdown-tree.js';

/**
 * Blocks as HTML. Everything in it is written here or escaped here, and nothing in it loads anything. Elements: p, br,
 * h1 to h6, hr, blockquote, ul, ol, li, pre, code, table and its parts, div, strong, em, s, a. Attributes: `class`,
 * `start` of ol, `align` of cells, and of a: `href` (http, https or mailto), `rel`, `target`.
 */
export function blocksHtml(blocks: readonly Block[]): string {
  return blocks.map((block) => blockHtml(block)).join('');
}

function blockHtml(block: Block): string {
  switch (block.type) {
    case 'paragraph':
      return `<p>${inlineHtml(block.children)}</p>`;
    case 'heading':
      return `<h${block.level}>${inlineHtml(block.children)}</h${block.level}>`;
    case 'fence': {
      const language = block.language === '' ? '' : ` class="language-${escapeHtml(block.language)}"`;
      return block.value.trim() === '' ? '' : `<pre><code${language}>${escapeHtml(block.value)}</code></pre>`;
    }
    case 'quote':
      return `<blockquote>${blocksHtml(block.children)}</blockquote>`;
    case 'list': {
      const items = block.items.map((item) => itemHtml(item, block.tight)).join('');
      if (block.start === undefined) return `<ul>${items}</ul>`;
      return `<ol${block.start === 1 ? '' : ` start="${block.start}"`}>${items}</ol>`;
    }
    case 'table':
      return tableHtml(block);
    case 'rule':
      return '<hr>';
  }
}

function itemHtml({ children, checked }: ListItem, tight: boolean): string {
  const open = checked === undefined ? '<li>' : `<li class="task">${checked ? '☑' : '☐'} `;
  const content = children.map((child) =>
    tight && child.type === 'paragraph' ? inlineHtml(child.children) : blockHtml(child),
  );
  return `${open}${content.join('')}</li>`;
}

/** The element around it scrolls, so that a wide table does not widen the page. */
function tableHtml({ align, header, rows }: Table): string {
  const cell = (tag: 'th' | 'td') => (content: Cell, column: number) =>
    `<${tag}${alignment(align[column])}>${inlineHtml(content)}</${tag}>`;
  const row = (cells: readonly Cell[], tag: 'th' | 'td'): string => `<tr>${cells.map(cell(tag)).join('')}</tr>`;
  const body = rows.map((cells) => row(cells, 'td')).join('');
  return `<div class="table"><table><thead>${row(header, 'th')}</thead><tbody>${body}</tbody></table></div>`;
}

/** Not a style: the page's policy forbids inline styles. */
function alignment(side: Alignment): string {
  return side === undefined || side === 'left' ? '' : ` align="${side}"`;
}

const LINK_ATTRIBUTES = 'rel="noopener noreferrer nofollow" target="_blank"';

function inlineHtml(nodes: readonly Inline[]): string {
  return nodes.map(nodeHtml).join('');
}

function nodeHtml(node: Inline): string {
  switch (node.type) {
    case 'text':
      return escapeHtml(node.value);
    case 'break':
      return '<br>';
    case 'code':
      return `<code>${escapeHtml(node.value)}</code>`;
    case 'strong':
      return `<strong>${inlineHtml(node.children)}</strong>`;
    case 'emphasis':
      return `<em>${inlineHtml(node.children)}</em>`;
    case 'strike':
      return `<s>${inlineHtml(node.children)}</s>`;
    case 'link':
      return `<a href="${escapeHtml(node.url)}" ${LINK_ATTRIBUTES}>${inlineHtml(node.children)}</a>`;
  }
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
