const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
const FAILURES_TO_OPEN = 5;

/** When a server that failed may be tried again. */
export interface Circuit {
  /** Failures since it last worked. */
  readonly failures: number;
  /** Five failures in a row: nobody waits for this server, one attempt a minute finds out whether it is back. */
  readonly open: boolean;
  /** Milliseconds until the next attempt; 0: now. */
  waitMs(): number;
  failed(): void;
  worked(): void;
}

/** Waits of 1, 2, 4 … 60 s after failures in a row. */
export function createCircuit(now: () => number): Circuit {
  let failures = 0;
  let retryAt = 0;
  return {
    get failures() {
      return failures;
    },
    get open() {
      return failures >= FAILURES_TO_OPEN;
    },
    waitMs: () => Math.max(0, retryAt - now()),
    failed() {
      failures += 1;
      const wait = failures >= FAILURES_TO_OPEN ? LONGEST_WAIT_MS : FIRST_WAIT_MS * 2 ** (failures - 1);
      retryAt = now() + Math.min(LONGEST_WAIT_MS, wait);
    },
    worked() {
      failures = 0;
      retryAt = 0;
    },
  };
}
