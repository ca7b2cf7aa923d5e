/** Shared pairs of letters, of all pairs, that make two names similar. */
const ENOUGH = 0.4;

const MOST = 3;

/** Names that somebody who wrote `name` may have meant, the likeliest first; at most three. */
export function similarNames(name: string, names: readonly string[]): readonly string[] {
  const wanted = pairsOf(name);
  return names
    .map((candidate) => ({ candidate, likeness: likeness(wanted, pairsOf(candidate)) }))
    .filter(({ likeness }) => likeness >= ENOUGH)
    .sort((one, other) => other.likeness - one.likeness)
    .slice(0, MOST)
    .map(({ candidate }) => candidate);
}

function pairsOf(name: string): ReadonlySet<string> {
  const letters = `^${name.toLowerCase().slice(0, 100)}`;
  return new Set(Array.from({ length: letters.length - 1 }, (_, at) => letters.slice(at, at + 2)));
}

/** A name that is a part of the other one counts as much as one with a letter wrong. */
function likeness(wanted: ReadonlySet<string>, pairs: ReadonlySet<string>): number {
  const shared = [...wanted].filter((pair) => pairs.has(pair)).length;
  return shared / Math.max(1, Math.min(wanted.size, pairs.size));
}
