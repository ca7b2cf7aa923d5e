/** A part of a Markdown document under one heading. */
export interface Section {
  /** Headings from the outermost to the section's own; empty before a document's first heading. */
  readonly path: readonly string[];
  /** Markdown, trimmed, never empty. */
  readonly body: string;
}

/** Longest heading that is kept. */
const HEADING_CHARACTERS = 120;

const ATX = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const SETEXT = /^ {0,3}(=+|-{2,})[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Splits at headings. Lines that look like headings inside code blocks and front matter are none. */
export function sectionsOf(markdown: string): readonly Section[] {
  const sections: Section[] = [];
  const path: string[] = [];
  let lines: string[] = [];
  let fence: string | undefined;

  function open(level: number, title: string): void {
    close();
    path.length = Math.min(path.length, level - 1);
    // A skipped level leaves no hole: a document may begin at its second level.
    path.push(plainHeading(title));
  }

  function close(): void {
    const body = lines.join('\n').trim();
    if (body !== '') sections.push({ path: path.filter(Boolean), body });
    lines = [];
  }

  const { front, rest } = splitFrontMatter(markdown.split(/\r\n?|\n/));
  if (front.length > 0) lines.push(...front, '');
  for (const line of rest) {
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || closes(fence, mark, line)))
      fence = fence === undefined ? mark : undefined;
    const atx = fence === undefined ? ATX.exec(line) : undefined;
    const under = fence === undefined ? SETEXT.exec(line)?.[1] : undefined;
    const title = under === undefined ? undefined : setextTitle(lines);
    if (atx?.[1] !== undefined) open(atx[1].length, atx[2] ?? '');
    else if (under !== undefined && title !== undefined) {
      lines.pop();
      open(under.startsWith('=') ? 1 : 2, title);
    } else lines.push(line);
  }
  close();
  return sections;
}

function closes(fence: string, mark: string, line: string): boolean {
  return mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark;
}

/** The line above an underline, if it is a paragraph of one line. */
function setextTitle(lines: readonly string[]): string | undefined {
  const title = lines.at(-1)?.trim() ?? '';
  const above = lines.at(-2)?.trim() ?? '';
  return title !== '' && above === '' && !/^([-*+>|]|\d+[.)]\s)/.test(title) ? title : undefined;
}

/** Metadata at the beginning of a file; its words count, its lines are no headings. */
function splitFrontMatter(lines: readonly string[]): { front: readonly string[]; rest: readonly string[] } {
  const end = lines[0]?.trimEnd() === '---' ? lines.indexOf('---', 1) : -1;
  return end < 0 ? { front: [], rest: lines } : { front: lines.slice(1, end), rest: lines.slice(end + 1) };
}

/** Without links, anchors and emphasis. */
function plainHeading(title: string): string {
  return title
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s*\{#[^}]*\}\s*$/, '')
    .replace(/<[^>]*>/g, '')
    .replace(/[`*]/g, '')
    .trim()
    .slice(0, HEADING_CHARACTERS);
}
