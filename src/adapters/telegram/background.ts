import { toError } from '../../core/errors.js';
import type { Logger } from '../../core/ports/logger.js';

export interface Background {
  /** Starts the task as soon as a slot is free; a task above the limit is dropped, with a line in the log. */
  run(name: string, task: () => Promise<void>): void;
  /** Resolves when nothing is left to do, or after `ms`. */
  drain(ms: number): Promise<void>;
}

export interface BackgroundOptions {
  readonly logger: Logger;
  readonly concurrency: number;
  /** Most tasks that may wait. */
  readonly limit: number;
}

/**
 * Small courtesies towards people (a refusal, the answer to a press) that must never hold up the intake: lost when
 * the process ends or Telegram says no.
 */
export function createBackground({ logger, concurrency, limit }: BackgroundOptions): Background {
  const waiting: { name: string; task: () => Promise<void> }[] = [];
  const idle = new Set<() => void>();
  let active = 0;
  let dropped = 0;

  function next(): void {
    const entry = active < concurrency ? waiting.shift() : undefined;
    if (!entry) {
      if (active === 0) for (const resolve of idle) resolve();
      return;
    }
    active += 1;
    entry
      .task()
      .catch((error: unknown) => logger.warn({ err: toError(error) }, `telegram: ${entry.name} failed`))
      .finally(() => {
        active -= 1;
        next();
      });
  }

  return {
    run(name, task) {
      if (waiting.length >= limit) {
        dropped += 1;
        // The first drop and then every thousandth: a flood must not flood the log too.
        if (dropped % 1_000 === 1) logger.warn({ dropped }, `telegram: too busy for ${name}`);
        return;
      }
      waiting.push({ name, task });
      next();
    },
    drain(ms) {
      if (active === 0 && waiting.length === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(done, ms);
        function done(): void {
          clearTimeout(timer);
          idle.delete(done);
          resolve();
        }
        idle.add(done);
      });
    },
  };
}
