import type { Random } from './random.js';

/** Marks the header cells, which a split table repeats. */
export const HEADER_MARK = '‡';

const SUFFIXES = ['', '', '', 'alpha', 'betagamma', '中文字符', '👨‍👩‍👧‍👦', 'é̂', '重点。'] as const;
const FENCE = '```';

/**
 * Well-formed markdown of numbered words (`w0`, `w1`, …) with all blocks nested in each other, so that completeness
 * and order can be counted.
 */
export function randomMarkdown(random: Random, blockCount: number): string {
  let number = 0;
  const { below, pick } = random;
  const times = (count: number, make: (index: number) => string): string[] =>
    Array.from({ length: 1 + below(count) }, (_, index) => make(index));
  const words = (count: number): string => times(count, () => `w${number++}${pick(SUFFIXES)}`).join(' ');
  const inline = (count: number): string => times(count, () => pick(INLINES)()).join(' ');
  const indent = (text: string, by: string): string => text.replace(/^(?=.)/gm, by);
  const flat = (depth: number, deeper: () => string): string => (depth > 2 ? inline(2) : deeper());
  const items = (depth: number, marker: (index: number) => string): string =>
    times(6, (index) => {
      const content: string = pick<() => string>([() => inline(3), () => `${inline(2)}\n\n${blocks(2, depth + 1)}`])();
      return marker(index) + indent(content, ' '.repeat(marker(index).length)).trimStart();
    }).join('\n');

  const INLINES = [
    () => words(6),
    () => `${words(12)}.`,
    () => `**${words(4)}**`,
    () => `*${words(3)}*`,
    () => `\`${words(3)}\``,
    () => `~~${words(2)}~~`,
    () => `[${words(2)}](https://e.co/${below(10_000)})`,
    () => `**${words(3)} *${words(3)}* ${words(2)}**`,
  ] as const;
  const codeLine = (): string => '  '.repeat(below(3)) + words(6) + pick(['', ' **', ' `x']);
  const block = (depth: number): string =>
    pick<() => string>([
      () => inline(10),
      () => `${inline(4)}\n${inline(3)}`,
      () => `## ${words(5)}`,
      () => `${FENCE}ts\n${times(12, codeLine).join('\n')}\n${FENCE}`,
      () => `\`${FENCE}\n${FENCE}\n${words(4)}\n${FENCE}\n\`${FENCE}`,
      () =>
        `| ${HEADER_MARK}a | ${HEADER_MARK}b |\n|---|:-:|\n${times(8, () => `| ${inline(1)} | ${words(3)} |`).join('\n')}`,
      () => flat(depth, () => indent(blocks(2, depth + 1).replace(/^$/gm, '>'), '> ').replace(/^> >$/gm, '>')),
      () => flat(depth, () => items(depth, (index) => `${index + 1}. `)),
      () => flat(depth, () => items(depth, () => '- ')),
      () => '---',
    ])();
  const blocks = (count: number, depth: number): string => times(count, () => block(depth)).join('\n\n');
  return blocks(blockCount, 0);
}
