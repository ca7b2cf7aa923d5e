import { parseMarkdown } from '../../src/core/chat/markdown.js';
import { type Block, type Cell, plainText } from '../../src/core/chat/markdown-tree.js';

/** What a reader sees of markdown: words and code without marks, white space, item markers and word joiners. */
export function visibleText(markdown: string, isHidden: (cell: string) => boolean = () => false): string {
  const text = (blocks: readonly Block[]): string => blocks.map(blockText).join('');
  const cellText = (cell: Cell): string => (isHidden(plainText(cell)) ? '' : plainText(cell));
  const blockText = (block: Block): string => {
    switch (block.type) {
      case 'paragraph':
      case 'heading':
        return plainText(block.children);
      case 'fence':
        return block.value;
      case 'quote':
        return text(block.children);
      case 'list':
        return block.items.map((item) => text(item.children)).join('');
      case 'table':
        return [block.header, ...block.rows].flat().map(cellText).join('');
      case 'rule':
        return '';
    }
  };
  return text(parseMarkdown(markdown).children).replace(/[\s\u2060]/g, '');
}
