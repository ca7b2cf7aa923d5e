import type { Delimiter, StateInline, Token } from 'markdown-it';
import { INLINE_OBSERVER, type InlineObserver, parser } from './markdown-parser.js';

/** A code span that is open for longer than this is a stray backtick. */
const CODE_LENGTH = 300;

/**
 * The marks that are open at the end of inline text (one paragraph, heading or cell), outermost first, e.g.
 * `['**', '_']`. Appending them reversed closes the text, putting them in front of what follows opens it again.
 */
export function openMarks(inline: string): string[] {
  let marks: string[] = [];
  const observer: InlineObserver = (state) => {
    // Labels of links and images are parsed by their own; only the whole text counts.
    if (state.src === inline) marks = unpaired(state);
  };
  parser.inline.parse(inline, parser, { [INLINE_OBSERVER]: observer }, []);
  return marks;
}

function unpaired(state: StateInline): string[] {
  const { delimiters, tokens } = state;
  const code = strayBackticks(tokens);
  const marks: string[] = [];
  let previous = -2;
  for (let index = 0; index < delimiters.length; index++) {
    const delimiter = delimiters[index];
    if (!delimiter || (code && delimiter.token > code.token)) break;
    if (delimiter.end >= 0) {
      // What is unpaired inside a closed pair is plain text.
      index = delimiter.end;
    } else if (delimiter.open && !isInsideWord(delimiter, tokens)) {
      const mark = tokens[delimiter.token]?.content ?? '';
      // Delimiters are single characters; neighbours of one kind are one mark.
      if (previous === delimiter.token - 1 && marks.at(-1)?.startsWith(mark)) marks.push((marks.pop() ?? '') + mark);
      else marks.push(mark);
      previous = delimiter.token;
    }
  }
  // Of marks of one kind only the last can be meant; the others are plain signs.
  const distinct = marks.filter((mark, index) => marks.lastIndexOf(mark) === index);
  return code ? [...distinct, code.run] : distinct;
}

/** `2*3` and `a**b` open emphasis by the rules, but not by intention; runs of four or more are no mark at all. */
function isInsideWord(delimiter: Delimiter, tokens: readonly Token[]): boolean {
  const mark = tokens[delimiter.token]?.content;
  let before = delimiter.token - 1;
  let after = delimiter.token + 1;
  while (tokens[before]?.content === mark && after - before <= 4) before--;
  while (tokens[after]?.content === mark && after - before <= 4) after++;
  if (after - before > 4) return true;
  return /\w$/.test(tokens[before]?.content ?? '') && /^\w/.test(tokens[after]?.content ?? '');
}

/** The first run of backticks without a partner, if little text follows it. */
function strayBackticks(tokens: readonly Token[]): { token: number; run: string } | undefined {
  for (const [token, { type, content }] of tokens.entries()) {
    const run = type === 'text' ? /`+/.exec(content) : null;
    if (!run) continue;
    const following = tokens
      .slice(token + 1)
      .reduce((sum, next) => sum + next.content.length, content.length - run.index);
    return following - run[0].length <= CODE_LENGTH && following > run[0].length ? { token, run: run[0] } : undefined;
  }
  return undefined;
}

/**
 * Where an unfinished link or image at the end of `text` starts (`[lab`, `[label](http://ex`), or undefined. Only the
 * last line is looked at.
 */
export function halfLinkStart(text: string): number | undefined {
  const from = Math.max(text.lastIndexOf('\n') + 1, text.length - LINK_LENGTH);
  const line = text.slice(from);
  const address = line.lastIndexOf('](');
  const halfAddress = address >= 0 && !line.includes(')', address);
  const start = halfAddress ? labelStart(line, address) : line.lastIndexOf('[');
  if (start < 0 || line[start - 1] === '\\' || (!halfAddress && line.includes(']', start))) return undefined;
  return from + (line[start - 1] === '!' ? start - 1 : start);
}

const LINK_LENGTH = 2_000;

/** The bracket that belongs to the one at `end`; labels may contain brackets. */
function labelStart(line: string, end: number): number {
  let depth = 0;
  for (let index = end; index >= 0; index--) {
    if (line[index] === ']') depth++;
    if (line[index] === '[' && --depth === 0) return index;
  }
  return -1;
}
