/** In a `path` a single star and `?` stop at a slash; in a `text` a slash is a character like any other. */
export type GlobKind = 'path' | 'text';

type Token =
  | { readonly is: 'literal'; readonly char: string }
  /** `?` */
  | { readonly is: 'one' }
  /** `*`: any run of characters. */
  | { readonly is: 'run' }
  /** `**`: any run of characters, slashes too. */
  | { readonly is: 'all' }
  /** The next `count` tokens may be left out. */
  | { readonly is: 'optional'; readonly count: number };

/**
 * Does the whole text match? `*` is any run, `**` any run across slashes, `?` one character; nothing else is special.
 * `**` followed by a slash also stands for no folder at all, and `docs/**` also matches `docs`. Upper and lower case
 * are the same.
 *
 * Time grows with text length times pattern length whatever the two contain: all ways to match go forward together
 * instead of being tried one after the other.
 */
export function matchesGlob(pattern: string, text: string, kind: GlobKind): boolean {
  const tokens = compile(folded(pattern), kind);
  let active = new Set<number>();
  let next = new Set<number>();
  enter(active, tokens, 0);
  for (const char of folded(text)) {
    for (const at of active) advance(next, { tokens, at, char, stops: kind === 'path' });
    if (next.size === 0) return false;
    [active, next] = [next, active];
    next.clear();
  }
  return active.has(tokens.length);
}

/** A pattern without wildcards. */
export function isLiteral(pattern: string): boolean {
  return !/[*?]/.test(pattern);
}

/** One spelling for all upper and lower case forms and for letters composed of several characters. */
export function folded(text: string): string {
  return text.normalize('NFC').toUpperCase().toLowerCase();
}

function compile(pattern: string, kind: GlobKind): readonly Token[] {
  const chars = [...pattern.replace(/(?:\*{2,}\/)+(\*{2,})?/g, (_, last) => (last ? '**' : '**/'))];
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? '';
    if (char === '?') tokens.push({ is: 'one' });
    else if (char !== '*') tokens.push({ is: 'literal', char });
    else {
      const from = at;
      while (chars[at + 1] === '*') at += 1;
      if (at === from) tokens.push(kind === 'path' ? { is: 'run' } : { is: 'all' });
      else at = compileAcross(tokens, chars, { from, to: at });
    }
  }
  return tokens;
}

/** `**` between `from` and `to`; returns the position of the last character it used. */
function compileAcross(tokens: Token[], chars: readonly string[], { from, to }: { from: number; to: number }): number {
  const startsSegment = from === 0 || chars[from - 1] === '/';
  if (startsSegment && chars[to + 1] === '/') {
    tokens.push({ is: 'optional', count: 2 }, { is: 'all' }, { is: 'literal', char: '/' });
    return to + 1;
  }
  if (from > 0 && startsSegment && to + 1 === chars.length) {
    const slash = tokens.pop();
    if (slash) tokens.push({ is: 'optional', count: 2 }, slash);
  }
  tokens.push({ is: 'all' });
  return to;
}

interface Step {
  readonly tokens: readonly Token[];
  readonly at: number;
  readonly char: string;
  /** A star stops at a slash. */
  readonly stops: boolean;
}

function advance(next: Set<number>, { tokens, at, char, stops }: Step): void {
  const token = tokens[at];
  if (!token) return;
  if (token.is === 'literal' ? token.char === char : token.is === 'one' && !(stops && char === '/')) {
    enter(next, tokens, at + 1);
  } else if (token.is === 'all' || (token.is === 'run' && char !== '/')) enter(next, tokens, at);
}

/** Marks a position and every one reachable from it without a character. */
function enter(active: Set<number>, tokens: readonly Token[], at: number): void {
  if (active.has(at)) return;
  active.add(at);
  const token = tokens[at];
  if (token?.is === 'optional') enter(active, tokens, at + 1 + token.count);
  if (token && (token.is === 'optional' || token.is === 'run' || token.is === 'all')) enter(active, tokens, at + 1);
}
