// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
const UNWANTED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Neither spaces nor characters without a shape: controls, joiners, fillers, variation selectors, the empty braille cell. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Text as it may be stored, parsed and shown, a person's as well as a model's: line ends are `\n`, and removed is what
 * no chat text needs and some reader trips over: control characters other than line feed and tab, bidi overrides and
 * isolates (they make text read differently from what it says), half a surrogate pair. Joiners stay, emoji are made of
 * them. Cleaning twice changes nothing.
 */
export function cleanText(source: string): string {
  return source
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(UNWANTED, '')
    .replace(/\p{Surrogate}/gu, '');
}

/** Whether nobody would see anything of it: then there is nothing to answer. */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text);
}
