import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** Work at a stretch, ms; then timers and sockets have their turn. */
const SLICE_MS = 12;

/** Call the result between small pieces of work: now and then it lets everything else in the process go on. */
export function createTimeSlices(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < SLICE_MS) return;
    await yieldToOthers();
    since = performance.now();
  };
}
