/** Sequences that move the cursor of a terminal, change its title or colour. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed here
const TERMINAL_SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|.)?/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed here
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/** What makes a text read differently from what it says: direction overrides, invisible and tag characters. */
const DISGUISES = /[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** A server's or page's text as data for the model and the store: well-formed and without control characters. */
export function cleanText(text: string): string {
  return text
    .replace(TERMINAL_SEQUENCES, '')
    .replace(CONTROLS, '')
    .replace(/\p{Surrogate}/gu, '\ufffd');
}

/** A server's text as people see it: besides, nothing invisible in it, and at most `limit` characters. */
export function shownText(text: string, limit: number): string {
  const plain = cleanText(cutText(text, 4 * limit))
    .replace(DISGUISES, '')
    .replace(/\r\n?/g, '\n');
  return cutText(plain.trim(), limit);
}

/** The same on one line. */
export function shownLine(text: string, limit: number): string {
  return cutText(shownText(text, 4 * limit).replace(/\s+/g, ' '), limit);
}

/** At most `limit` characters, ending in `…` when something was cut; never half a surrogate pair. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
