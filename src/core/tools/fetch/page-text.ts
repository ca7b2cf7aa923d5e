/** A node of a parsed page. */
export interface PageNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly nodeValue: string | null;
  readonly childNodes: ArrayLike<PageNode>;
  getAttribute?(name: string): string | null;
}

export interface PageText {
  readonly text: string;
  readonly nodes: number;
  readonly depth: number;
}

const TEXT = 3;
const ELEMENT = 1;

const UNSEEN = new Set(
  [
    'script',
    'style',
    'noscript',
    'template',
    'svg',
    'math',
    'head',
    'title',
    'meta',
    'link',
    'iframe',
    'object',
  ].concat(['canvas', 'audio', 'video', 'select', 'datalist', 'dialog']),
);

/** How many line ends stand around an element. */
const BREAKS = new Map<string, number>([
  ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'dl', 'table', 'pre', 'blockquote', 'figure', 'hr'].map(
    (tag): [string, number] => [tag, 2],
  ),
  ...['article', 'section', 'main', 'header', 'footer', 'nav', 'aside', 'form', 'fieldset', 'details', 'address'].map(
    (tag): [string, number] => [tag, 2],
  ),
  ...['div', 'li', 'dt', 'dd', 'tr', 'figcaption', 'caption', 'summary', 'option', 'body', 'html'].map(
    (tag): [string, number] => [tag, 1],
  ),
]);

/** What begins an element's first line. */
const MARKS = new Map<string, string>([
  ...[1, 2, 3, 4, 5, 6].map((level): [string, string] => [`h${level}`, `${'#'.repeat(level)} `]),
  ['blockquote', '> '],
]);

interface Frame {
  readonly tag: string;
  /** Kept: the parser makes the list anew each time it is asked for. */
  readonly children: readonly PageNode[];
  next: number;
  readonly preformatted: boolean;
  /** Lists around it. */
  readonly lists: number;
}

/**
 * What stands in a part of a page, as text with a little markdown: headings, list items, fenced code, table cells
 * divided by bars. Nothing here recurses: how deep a page is nested is decided by whoever wrote it.
 */
export function pageText(root: PageNode): PageText {
  const writer = createWriter();
  const open: Frame[] = [frameOf(root, { preformatted: false, lists: 0 })];
  let nodes = 0;
  let depth = 0;
  for (let frame = open.at(-1); frame; frame = open.at(-1)) {
    const child = frame.children[frame.next];
    frame.next += 1;
    if (!child) {
      leave(frame, writer);
      open.pop();
      continue;
    }
    nodes += 1;
    if (child.nodeType === TEXT) writer.text(child.nodeValue ?? '', frame.preformatted);
    else if (child.nodeType === ELEMENT && isSeen(child)) {
      open.push(enter(child, frame, writer));
      depth = Math.max(depth, open.length);
    }
  }
  return { text: writer.finish(), nodes, depth };
}

/** The beginning of what stands in a node, on one line. */
export function shortText(node: PageNode, characters: number): string {
  let text = '';
  const open: PageNode[] = [node];
  // Few nodes are looked at: this runs for every link of a page.
  for (let seen = 0; seen < 100 && text.length < characters * 2; seen += 1) {
    const next = open.pop();
    if (!next) break;
    if (next.nodeType === TEXT) text += next.nodeValue ?? '';
    else if (tagOf(next) === 'img') text += next.getAttribute?.('alt') ?? '';
    else if (isSeen(next)) open.push(...Array.from(next.childNodes).slice(0, 100).reverse());
  }
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > characters ? `${line.slice(0, characters).trimEnd()}…` : line;
}

function frameOf(node: PageNode, { preformatted, lists }: Pick<Frame, 'preformatted' | 'lists'>): Frame {
  return { tag: tagOf(node), children: Array.from(node.childNodes), next: 0, preformatted, lists };
}

function enter(node: PageNode, around: Frame, writer: Writer): Frame {
  const tag = tagOf(node);
  const lists = around.lists + (tag === 'ul' || tag === 'ol' ? 1 : 0);
  const frame = frameOf(node, { preformatted: around.preformatted || tag === 'pre' || tag === 'textarea', lists });
  writer.lineEnd(tag === 'br' ? 1 : breaksOf(frame));
  if (tag === 'li') writer.mark(`${'  '.repeat(Math.min(8, Math.max(0, lists - 1)))}- `);
  else if (MARKS.has(tag)) writer.mark(MARKS.get(tag) ?? '');
  if (tag === 'hr') writer.text('---', false);
  if (tag === 'img') writer.text(imageText(node), false);
  if (tag === 'pre') writer.text('```\n', true);
  return frame;
}

function leave(frame: Frame, writer: Writer): void {
  const { tag } = frame;
  if (tag === 'pre') writer.text('\n```', true);
  if (tag === 'td' || tag === 'th') writer.text(' | ', false);
  if (tag === 'li' || MARKS.has(tag)) writer.mark('');
  writer.lineEnd(breaksOf(frame));
}

/** No blank lines inside a list inside a list. */
function breaksOf({ tag, lists }: Frame): number {
  return Math.min(BREAKS.get(tag) ?? 0, lists > 1 ? 1 : 2);
}

function imageText(node: PageNode): string {
  const text = (node.getAttribute?.('alt') ?? '').replace(/\s+/g, ' ').trim().slice(0, 200);
  return text === '' ? '' : ` [image: ${text}] `;
}

function isSeen(node: PageNode): boolean {
  if (UNSEEN.has(tagOf(node))) return false;
  const attribute = (name: string) => node.getAttribute?.(name) ?? null;
  return attribute('hidden') === null && attribute('aria-hidden') !== 'true';
}

function tagOf(node: PageNode): string {
  return node.nodeName.toLowerCase();
}

interface Writer {
  text(text: string, preformatted: boolean): void;
  /** At least so many line ends before what comes next; none between a mark and its text. */
  lineEnd(count: number): void;
  /** What the next text begins with; '' takes one back that nothing followed. */
  mark(mark: string): void;
  finish(): string;
}

function createWriter(): Writer {
  const parts: string[] = [];
  let breaks = 0;
  let marks = '';
  let blank = true;
  return {
    text(text, preformatted) {
      const plain = preformatted ? text : text.replace(/\s+/g, ' ');
      const written = !preformatted && (blank || breaks > 0) ? plain.trimStart() : plain;
      if (written === '') return;
      if (breaks > 0 && parts.length > 0) parts.push('\n'.repeat(breaks));
      parts.push(marks, written);
      breaks = 0;
      marks = '';
      blank = !preformatted && written.endsWith(' ');
    },
    lineEnd(count) {
      if (marks === '') breaks = Math.max(breaks, count);
    },
    mark(mark) {
      marks = mark;
    },
    finish: () =>
      parts
        .join('')
        .replace(/[ \t]{1,1000}$/gm, '')
        .replace(/\n{3,}/g, '\n\n')
        .trim(),
  };
}
