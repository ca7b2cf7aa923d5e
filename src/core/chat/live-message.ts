import { PlatformError, SupersededError, toError } from '../errors.js';
import type { Budgets } from '../ports/budget.js';
import type { Logger } from '../ports/logger.js';
import type { Adapter, Button, MessageBody } from './adapter.js';
import type { Place } from './message.js';
import type { PlanView } from './plan-view.js';
import type { Slots } from './slots.js';
import { createPager } from './split.js';

/** An answer while it is being written: shows what there is, at the platform's rhythm, never waiting for it. */
export interface LiveMessage {
  text(delta: string): void;
  reasoning(delta: string): void;
  /** Replaces the status lines (tool progress). */
  status(lines: readonly string[]): void;
  plan(plan: PlanView | undefined): void;
  buttons(buttons: readonly Button[]): void;
  /** Takes the text of the current draft back (the gate refused it). */
  retract(): void;
  /** Ends streaming: no new edit starts; resolves when the one in flight has ended. The outbox shows the rest. */
  stop(): Promise<void>;
  /** The whole text so far. */
  readonly source: string;
}

export interface LiveMessageOptions {
  /** Slots are `${prefix}.0`, `${prefix}.1`, … */
  readonly prefix: string;
  readonly adapter: Adapter;
  readonly place: Place;
  readonly slots: Slots;
  readonly budgets: Budgets;
  readonly logger: Logger;
  /** Told once, when a newer worker holds the conversation; the run must end. */
  readonly onSuperseded: (error: SupersededError) => void;
}

const TIMES = {
  /** The first post waits this long for more text … */
  firstPostMs: 700,
  /** … or for this many characters. */
  firstPostChars: 24,
  /** After a temporary failure the rhythm is this many times slower, once. */
  failureFactor: 2,
} as const;

/** Whether a page fits one message of this platform; used while streaming and again by the final delivery. */
export function fitsOn(adapter: Adapter): (markdown: string) => boolean {
  return (markdown) => adapter.render({ state: 'final', markdown }).length <= adapter.limits.page;
}

/**
 * Rules (design 5): edits are never awaited by the token loop; one call in flight, the newest text wins, identical
 * text is not sent; the clock moves also when an edit fails; a permanent refusal ends streaming but keeps the text.
 */
export function createLiveMessage(options: LiveMessageOptions): LiveMessage {
  const { adapter, place, slots, budgets, logger, prefix } = options;
  let pager = createPager({ fits: fitsOn(adapter) });
  let statusLines: readonly string[] = [];
  let buttonRow: readonly Button[] = [];
  let checklist: PlanView | undefined;
  let reasoningText = '';
  let frozenShown = 0;
  let pagesShown = 0;
  let dirty = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let flight: Promise<void> | undefined;
  let firstSeenAt: number | undefined;
  let notBefore = 0;
  /** The budget named `notBefore` as this message's turn. */
  let reserved = false;

  function changed(): void {
    dirty = true;
    firstSeenAt = isBlank() ? undefined : (firstSeenAt ?? Date.now());
    schedule();
  }

  /** Nothing is shown and what there was is gone again: a message of its own would only notify of a placeholder. */
  function isBlank(): boolean {
    const isBare = pager.source === '' && reasoningText === '' && !checklist;
    return pagesShown === 0 && isBare && statusLines.length === 0 && buttonRow.length === 0;
  }

  function schedule(): void {
    if (stopped || flight || timer || !dirty || isBlank()) return;
    const now = Date.now();
    const first = pagesShown === 0 && pager.source.length < TIMES.firstPostChars;
    const due = Math.max(notBefore, first ? (firstSeenAt ?? now) + TIMES.firstPostMs : now);
    timer = setTimeout(tick, Math.max(0, due - now));
  }

  function tick(): void {
    timer = undefined;
    if (stopped || isBlank()) return;
    // A short first text that just became long enough does not wait for the timer's old due time.
    flight = draw()
      .catch(failed)
      .finally(() => {
        flight = undefined;
        schedule();
      });
  }

  /** Shows one slot: the oldest frozen page not yet shown whole, else the open page. */
  async function draw(): Promise<void> {
    if (!reserved) {
      const wait = await budgets.take(adapter.budgets(place), 'edit');
      reserved = wait > 0;
      notBefore = Date.now() + wait;
      if (reserved) return;
    }
    if (isBlank()) return;
    reserved = false;
    notBefore = Date.now() + adapter.editIntervalMs(place);
    const pages = pager.pages;
    const index = Math.min(frozenShown, pages.length - 1);
    const open = index === pages.length - 1;
    if (open) dirty = false;
    await slots.put(`${prefix}.${index}`, place, body(pages[index] ?? '', open), { notify: index === 0 });
    pagesShown = Math.max(pagesShown, index + 1);
    if (!open) {
      frozenShown = index + 1;
      // The text went past the limit: the next page may follow at once, it is another message.
      dirty = true;
    }
  }

  function body(markdown: string, open: boolean): MessageBody {
    if (!open) return { state: 'final', markdown };
    return {
      state: 'streaming',
      markdown,
      ...(statusLines.length > 0 ? { status: statusLines } : {}),
      ...(checklist && { plan: checklist }),
      ...(reasoningText && { reasoning: reasoningText }),
      ...(buttonRow.length > 0 ? { buttons: buttonRow } : {}),
    };
  }

  function failed(thrown: unknown): void {
    dirty = true;
    if (thrown instanceof SupersededError) {
      stopped = true;
      options.onSuperseded(thrown);
      return;
    }
    const interval = adapter.editIntervalMs(place);
    if (thrown instanceof PlatformError && thrown.kind === 'rate_limited') {
      notBefore = Date.now() + Math.max(thrown.retryAfterMs ?? 0, interval);
    } else if (thrown instanceof PlatformError && thrown.kind === 'temporary') {
      notBefore = Date.now() + TIMES.failureFactor * interval;
    } else {
      stopped = true;
    }
    logger.warn({ err: toError(thrown), slot: prefix, streaming: !stopped }, 'live message could not be shown');
  }

  return {
    text(delta) {
      if (delta === '') return;
      pager.append(delta);
      // The first characters may release a first post that waits for its 700 ms.
      if (timer && pagesShown === 0 && pager.source.length >= TIMES.firstPostChars) {
        clearTimeout(timer);
        timer = undefined;
      }
      changed();
    },
    reasoning(delta) {
      reasoningText += delta;
      changed();
    },
    status(lines) {
      statusLines = lines;
      changed();
    },
    plan(plan) {
      checklist = plan;
      changed();
    },
    buttons(buttons) {
      buttonRow = buttons;
      changed();
    },
    retract() {
      pager = createPager({ fits: fitsOn(adapter) });
      frozenShown = 0;
      changed();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      timer = undefined;
      await flight;
    },
    get source() {
      return pager.source;
    },
  };
}
