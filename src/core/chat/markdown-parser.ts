import createMarkdownIt, { type MarkdownIt, type StateBlock, type StateInline } from 'markdown-it';
import cjkFriendly from 'markdown-it-cjk-friendly';

const CAPS = {
  /** Open quotes, lists and items; deeper text is shown as it was written. Bounds every recursion over blocks. */
  blockLevel: 24,
  /** The parser fills every row up to the header's width, so a wide header is a small text that grows large. */
  tableColumns: 32,
  urlLength: 2_000,
} as const;

const ENDLESS_WORD = new RegExp(`^\\S{${CAPS.urlLength}}`);

/** Key in the parser's environment of a function that sees inline text after its marks were paired. */
export const INLINE_OBSERVER = Symbol('inline observer');
export type InlineObserver = (state: StateInline) => void;

/**
 * The one markdown dialect: CommonMark with tables, strikethrough and bare links, CJK-aware emphasis, without HTML.
 * Not part of it, so that every page of a split text stands alone and loses nothing:
 * - reference definitions (they vanish from the text and act on other pages); `[^1]: note` stays visible
 * - underlined headings (`text` over `---` is a paragraph and a rule, which is what models mean by it)
 */
export const parser = createParser();

function createParser(): MarkdownIt {
  const md = createMarkdownIt({ html: false, linkify: true, typographer: false }).use(cjkFriendly);
  md.disable(['reference', 'lheading']);
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  for (const schema of ['ftp:', 'mailto:', '//']) md.linkify.add(schema, null);
  const matchAtStart = md.linkify.matchAtStart.bind(md.linkify);
  // Every `://` of a long text without spaces would be matched up to its end, only to be refused as too long.
  md.linkify.matchAtStart = (text) => (ENDLESS_WORD.test(text) ? null : matchAtStart(text));
  md.validateLink = isAllowedUrl;
  // The label shows what was written: a decoded address could look like another one.
  md.normalizeLinkText = (url) => url;
  md.block.ruler.before('table', 'too_deep', tooDeep);
  md.block.ruler.before('table', 'too_wide', tooWide);
  md.inline.ruler2.after('balance_pairs', 'observer', (state) => {
    const observer = state.env[INLINE_OBSERVER] as InlineObserver | undefined;
    observer?.(state);
  });
  return md;
}

function isAllowedUrl(url: string): boolean {
  if (url.length > CAPS.urlLength) return false;
  return /^mailto:[^\s]+$/i.test(url) || (/^https?:\/\/[^\s/]/i.test(url) && URL.canParse(url));
}

/** Block rule: below the cap the rest of the container is one paragraph, instead of being dropped. */
function tooDeep(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  if (silent || state.level < CAPS.blockLevel) return false;
  const end = containerEnd(state, startLine, endLine);
  const open = state.push('paragraph_open', 'p', 1);
  open.map = [startLine, end];
  const inline = state.push('inline', '', 0);
  inline.content = state.getLines(startLine, end, state.blkIndent, false).trim();
  inline.map = [startLine, end];
  inline.children = [];
  state.push('paragraph_close', 'p', -1);
  state.line = end;
  return true;
}

/** Block rule: a table with too many columns is shown as it was written. */
function tooWide(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const next = startLine + 1;
  if (silent || next >= endLine || state.isEmpty(next) || (state.sCount[next] ?? 0) < state.blkIndent) return false;
  const delimiters = state.src.slice(state.bMarks[next], state.eMarks[next]);
  if (delimiters.split('|').length <= CAPS.tableColumns + 2 || !/^[\s>|:-]+$/.test(delimiters)) return false;
  let end = next;
  while (end < endLine && !state.isEmpty(end) && (state.sCount[end] ?? 0) >= state.blkIndent) end++;
  const code = state.push('code_block', 'code', 0);
  code.content = state.getLines(startLine, end, state.blkIndent, false);
  code.map = [startLine, end];
  state.line = end;
  return true;
}

function containerEnd(state: StateBlock, startLine: number, endLine: number): number {
  let end = startLine + 1;
  while (end < endLine && (state.isEmpty(end) || (state.sCount[end] ?? 0) >= state.blkIndent)) end++;
  while (end > startLine + 1 && state.isEmpty(end - 1)) end--;
  return end;
}
