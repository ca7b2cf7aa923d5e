/** Characters that mean something in markdown: a cut beside one could change what the mark does. */
const MARKUP = '*_~`[]()<>\\!|&#';
/** How far a cut steps back for a better place. */
const WINDOW = 64;

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Positions in a line where a sentence begins, behind the first. */
export function sentenceEnds(line: string): number[] {
  return endsOf(line, /[.!?…]["')\]”’»]*\s+(?=\S)|[。!?;…][」』”’)]*(?:\s+(?=\S)|(?=[^\s*_~`[\]()<>\\!|&#]))/g);
}

/** Positions in a line where a word begins, behind the first. Chinese and Japanese text ends words at punctuation. */
export function wordEnds(line: string): number[] {
  return endsOf(line, /\s+(?=\S)|[。、,;:!?](?=[^\s*_~`[\]()<>\\!|&#」』”’)。、,;:!?])/g);
}

function endsOf(line: string, pattern: RegExp): number[] {
  return Array.from(line.matchAll(pattern), (match) => match.index + match[0].length);
}

/**
 * The last position behind `above` and up to `position` that splits no character as a person sees it (surrogate pair,
 * emoji sequence, letter with marks), no entity such as `&amp;`, and is not beside a mark. Only a small window is
 * looked at: a longer run of marks or a longer character is cut anyway, never inside a surrogate pair.
 */
export function graphemeFloor(text: string, position: number, above: number): number {
  const from = Math.max(0, position - WINDOW);
  const window = text.slice(from, position + WINDOW);
  const entity = /&[#\w]*$/.exec(text.slice(from, position));
  const to = entity && /^[#\w]*;/.test(text.slice(position, position + WINDOW)) ? from + entity.index : position;
  let whole: number | undefined;
  let clean: number | undefined;
  for (const { index } of segmenter.segment(window)) {
    const at = from + index;
    // The window may start inside a sequence: its first boundary proves nothing.
    if (index === 0 || at <= above || at > to) continue;
    whole = at;
    if (!MARKUP.includes(text.charAt(at - 1)) && !MARKUP.includes(text.charAt(at))) clean = at;
  }
  return clean ?? whole ?? surrogateFloor(text, to > above ? to : position);
}

function surrogateFloor(text: string, position: number): number {
  return /[\ud800-\udbff]/.test(text.charAt(position - 1)) ? position - 1 : position;
}
