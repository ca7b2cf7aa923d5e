/** A time limit that can be pushed forward cheaply, once per network read. */
export interface Deadline {
  /** Starts anew with this limit. */
  set(milliseconds: number): void;
  /** Starts anew with the same limit. */
  touch(): void;
  clear(): void;
  readonly expired: boolean;
  /** The limit in force. */
  readonly milliseconds: number;
}

/** Calls `onExpire` once when the limit passes without `set` or `touch`. Nothing runs until the first `set`. */
export function createDeadline(onExpire: () => void): Deadline {
  let timer: NodeJS.Timeout | undefined;
  let limit = 0;
  let expired = false;
  return {
    set(milliseconds) {
      clearTimeout(timer);
      limit = milliseconds;
      timer = setTimeout(() => {
        expired = true;
        onExpire();
      }, milliseconds);
    },
    touch: () => void timer?.refresh(),
    clear: () => clearTimeout(timer),
    get expired() {
      return expired;
    },
    get milliseconds() {
      return limit;
    },
  };
}
