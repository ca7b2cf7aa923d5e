import { type Alignment, plainText, type Table } from './markdown-tree.js';

/** Wider cells are not cut, but make no other row longer: one long cell must not multiply by the number of rows. */
const COLUMN_WIDTH = 32;

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
/** Blocks of the East Asian wide and fullwidth characters, and emoji. */
const WIDE = new RegExp(
  [
    '[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\u33ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\ua000-\\ua4cf\\uac00-\\ud7a3]',
    '[\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60\\uffe0-\\uffe6\\u{20000}-\\u{3fffd}]',
    '\\p{Emoji_Presentation}|\\ufe0f',
  ].join('|'),
  'u',
);

/** A table as lines of monospaced text with aligned columns, for platforms that have no tables. */
export function textTable({ header, rows, align }: Table): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => plainText(cell).trim()));
  const widths = header.map((_, column) =>
    cells.reduce((width, row) => Math.min(COLUMN_WIDTH, Math.max(width, displayWidth(row[column] ?? ''))), 1),
  );
  const [head = '', ...body] = cells.map((row) =>
    widths
      .map((width, column) => pad(row[column] ?? '', width, align[column]))
      .join(' │ ')
      .trimEnd(),
  );
  return [head, widths.map((width) => '─'.repeat(width)).join('─┼─'), ...body].join('\n');
}

function pad(text: string, width: number, align: Alignment): string {
  const missing = Math.max(0, width - displayWidth(text));
  const left = align === 'right' ? missing : align === 'center' ? missing >> 1 : 0;
  return ' '.repeat(left) + text + ' '.repeat(missing - left);
}

/** Columns a text takes in a monospaced font: Chinese, Japanese and Korean characters and emoji take two. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    if (WIDE.test(segment)) width += 2;
    else if (!/^[\p{M}\p{Cf}\p{Cc}]*$/u.test(segment)) width += 1;
  }
  return width;
}
