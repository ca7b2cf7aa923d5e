export interface WaitOptions {
  /** Gives up after so many milliseconds; 10,000 by default. */
  readonly timeoutMs?: number;
  /** Named in the error. */
  readonly what?: string | (() => string);
  /** Called with a function that makes the condition be looked at again; returns the function that ends that. */
  readonly onChange?: (look: () => void) => () => void;
}

/**
 * Resolves with the first value of `condition` that is neither undefined nor false. It is looked at whenever
 * `onChange` says so, and every 20 ms.
 */
export function waitFor<T>(condition: () => T | undefined | false, options: WaitOptions = {}): Promise<T> {
  const timeoutMs = options.timeoutMs ?? 10_000;
  return new Promise<T>((resolve, reject) => {
    let unsubscribe = (): void => {};
    const timers: NodeJS.Timeout[] = [];
    function end(settle: () => void): void {
      for (const timer of timers) clearTimeout(timer);
      unsubscribe();
      settle();
    }
    function look(): void {
      try {
        const value = condition();
        if (value !== undefined && value !== false) end(() => resolve(value));
      } catch (error) {
        end(() => reject(error));
      }
    }
    timers.push(
      setInterval(look, 20),
      setTimeout(() => {
        const what = typeof options.what === 'function' ? options.what() : (options.what ?? condition.toString());
        end(() => reject(new Error(`not within ${timeoutMs} ms: ${what}`)));
      }, timeoutMs),
    );
    unsubscribe = options.onChange?.(look) ?? unsubscribe;
    look();
  });
}
