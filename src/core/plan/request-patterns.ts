/** A regular expression's alternatives from lists of words; the separator is a comma with a blank, as in prose. */
export function anyOf(...lists: readonly string[]): string {
  return `(?:${lists.join(', ').split(/,\s+/).join('|')})`;
}

/** Patterns of which every occurrence is looked at. */
export function requestPatterns(sources: readonly string[]): readonly RegExp[] {
  return sources.map((source) => new RegExp(source, 'g'));
}

/** One of `requests` occurs, and what stands around this occurrence matches none of the exceptions. */
export function isMeant(
  text: string,
  requests: readonly RegExp[],
  exceptions: { readonly before: readonly RegExp[]; readonly after?: readonly RegExp[] },
): boolean {
  return requests.some((request) =>
    Array.from(text.matchAll(request)).some((match) => {
      const before = text.slice(Math.max(0, match.index - 80), match.index);
      if (exceptions.before.some((exception) => exception.test(before))) return false;
      const after = text.slice(match.index + match[0].length);
      return !exceptions.after?.some((exception) => exception.test(after));
    }),
  );
}
