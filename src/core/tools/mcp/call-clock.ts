/** Why a call was given up. */
export type Expiry = 'silent' | 'total';

/** The time limits of one call; a person who is asked stops the clock. */
export interface CallClock {
  /** The server showed life. */
  touch(): void;
  /** Stops both limits until the returned function is called. */
  pause(): () => void;
  stop(): void;
  readonly expired: Expiry | undefined;
}

/**
 * Calls `onExpire` once: after `silenceMs` without {@link CallClock.touch}, or after `totalMs` in all. Pauses count
 * for neither; several may overlap.
 */
export function createCallClock(silenceMs: number, totalMs: number, onExpire: () => void): CallClock {
  let expired: Expiry | undefined;
  let stopped = false;
  let pauses = 0;
  let totalLeft = totalMs;
  let since = 0;
  let silence: NodeJS.Timeout | undefined;
  let total: NodeJS.Timeout | undefined;

  function end(why: Expiry): void {
    expired = why;
    stop();
    onExpire();
  }

  function run(): void {
    since = performance.now();
    silence = setTimeout(end, silenceMs, 'silent');
    total = setTimeout(end, totalLeft, 'total');
  }

  function halt(): void {
    clearTimeout(silence);
    clearTimeout(total);
  }

  function stop(): void {
    stopped = true;
    halt();
  }

  run();
  return {
    get expired() {
      return expired;
    },
    touch() {
      if (!stopped && pauses === 0) silence?.refresh();
    },
    pause() {
      if (pauses === 0) {
        halt();
        totalLeft = Math.max(0, totalLeft - (performance.now() - since));
      }
      pauses += 1;
      let over = false;
      return () => {
        if (over) return;
        over = true;
        pauses -= 1;
        if (pauses === 0 && !stopped) run();
      };
    },
    stop,
  };
}
