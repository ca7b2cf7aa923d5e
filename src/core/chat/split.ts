import { cleanText } from './clean-text.js';
import { type Container, joinContainers, locate, type Unindented, unindent } from './containers.js';
import { graphemeFloor } from './cut-positions.js';
import { type Cut, cutsOf } from './page-cut.js';

export interface PagerOptions {
  /** Whether this standalone markdown fits one message. Should not become true again when text is added. */
  readonly fits: (markdown: string) => boolean;
}

/** A growing text as pages that each fit one message. */
export interface Pager {
  append(delta: string): void;
  /**
   * At least one page, each standalone markdown; all but the last never change again. Computed on demand: without an
   * overflow one call of `fits`, without new text none. Ended pages are never looked at again.
   */
  readonly pages: readonly string[];
  /** The whole text so far, sanitised by `cleanText`. */
  readonly source: string;
}

/** How the current page begins. */
interface Opening {
  readonly prefix: string;
  readonly containers: readonly Container[];
  readonly midLine: boolean;
}

/** A page as it would be shown: `text` = prefix + body. */
interface Draft {
  readonly text: string;
  readonly body: Unindented;
}

const SIZES = {
  /** Source characters first looked at for a page; doubled while they fit. */
  window: 4_096,
  smallestWindow: 256,
  /** The end of a full page is searched in steps of this size, so that it does not depend on how text arrived. */
  step: 16,
  /** Progress per page when `fits` refuses everything. */
  forced: 64,
} as const;

/**
 * Splits text that arrives in pieces. Where a page ends is a function of the text up to the longest prefix (in steps
 * of 16 characters) that fits: for a `fits` that never turns true again when text is added, any way of cutting the
 * source into deltas, and drawing at any time, gives the pages of {@link paginate}. A rendered length shrinks a little
 * when a mark or link is completed; then the end of a page may differ by a block, but nothing is lost or doubled.
 */
export function createPager({ fits }: PagerOptions): Pager {
  const ended: string[] = [];
  let done = '';
  let rest = '';
  let opening: Opening = { prefix: '', containers: [], midLine: true };
  /** Source characters of this page known to fit; of the page before when it is new. */
  let guess: number = SIZES.window / 2;
  let fitting = 0;
  let carry = '';
  let shown: { length: number; pages: readonly string[] } | undefined;

  function draft(size: number): Draft {
    const body = unindent(rest.slice(0, size), opening.containers, opening.midLine);
    return { text: opening.prefix + body.text, body };
  }

  /** Ends pages while there is too much for one; returns the open page. */
  function settle(): string {
    for (let size = firstWindow(); ; ) {
      const page = draft(size);
      if (rest.trim() !== '' && !fits(page.text.trimEnd())) {
        endPage(page);
        size = firstWindow();
        continue;
      }
      fitting = page.text.trimEnd().length;
      guess = Math.max(guess, size);
      if (size >= rest.length) return page.text.trimEnd();
      size = Math.min(rest.length, 2 * size);
    }
  }

  function firstWindow(): number {
    return Math.min(rest.length, Math.max(SIZES.smallestWindow, 2 * guess));
  }

  function endPage(page: Draft): void {
    const blank = rest.search(/\S/);
    if (blank > SIZES.smallestWindow) {
      drop(blank);
      return;
    }
    const floor = opening.prefix.length + (page.body.lines[0]?.page.content ?? 0);
    const cut = chooseCut(page.text, floor);
    const { source, open } = locate(page.body, cut.at - opening.prefix.length, cut.midLine);
    ended.push(cut.head);
    opening = { prefix: cut.prefix, containers: joinContainers(open, cut.containers), midLine: cut.midLine };
    drop(source);
    guess = source;
    fitting = 0;
  }

  function drop(length: number): void {
    done += rest.slice(0, length);
    rest = rest.slice(length);
  }

  function chooseCut(text: string, floor: number): Cut {
    const limit = longestFitting(text, floor);
    for (const cut of cutsOf(text, limit, floor)) if (fits(cut.head)) return cut;
    // No good place: the longest text that fits; when not even a character does, go on rather than being stuck.
    const longest = limit > floor ? graphemeFloor(text, limit, floor) : floor;
    const at = longest > floor ? longest : graphemeFloor(text, Math.min(text.length, floor + SIZES.forced), floor);
    return { head: text.slice(0, at), at, prefix: '', containers: [], midLine: true };
  }

  function longestFitting(text: string, floor: number): number {
    const probe = (length: number): boolean => fits(text.slice(0, length).trimEnd());
    const coarse = search(Math.floor(fitting / SIZES.step), Math.ceil(text.length / SIZES.step), (n) =>
      probe(n * SIZES.step),
    );
    const limit = coarse * SIZES.step;
    return limit > floor + SIZES.step ? limit : search(floor, floor + 2 * SIZES.step, probe);
  }

  return {
    append(delta) {
      const text = carry + delta;
      // Half a surrogate pair or half a CRLF waits for the other half.
      const whole = /[\r\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
      carry = text.slice(whole);
      rest += cleanText(text.slice(0, whole));
    },
    get pages() {
      if (shown?.length !== rest.length + done.length) {
        const open = settle();
        shown = { length: rest.length + done.length, pages: [...ended, open] };
      }
      return shown.pages;
    },
    get source() {
      return done + rest;
    },
  };
}

/** The pages of a whole text. */
export function paginate(source: string, fits: (markdown: string) => boolean): string[] {
  const pager = createPager({ fits });
  pager.append(source);
  return [...pager.pages];
}

/** The largest number from `low` (taken as good) below `high` (taken as bad) that is good. */
function search(low: number, high: number, isGood: (candidate: number) => boolean): number {
  let good = low;
  let bad = high;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isGood(middle)) good = middle;
    else bad = middle;
  }
  return good;
}
