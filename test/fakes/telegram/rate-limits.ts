import { tooManyRequests } from './bot-api-error.js';
import type { StoredChat } from './world.js';

/** Sends and edits count alike. The figures are those of Telegram's FAQ; the burst is an assumption. */
export interface RateLimits {
  /** Calls per second to one chat … */
  readonly chatPerSecond: number;
  /** … with so many at once. */
  readonly chatBurst: number;
  readonly groupPerMinute: number;
  readonly overallPerSecond: number;
}

export const TELEGRAM_RATES: RateLimits = { chatPerSecond: 1, chatBurst: 3, groupPerMinute: 20, overallPerSecond: 30 };

/** Throws 429 for a call above a limit; a refused call does not count. */
export function createRateLimiter(limits: RateLimits): (chat: StoredChat) => void {
  const arrival = new Map<number, number>();
  const groups = new Map<number, number[]>();
  const all: number[] = [];

  return (chat) => {
    const now = performance.now();
    const step = 1000 / limits.chatPerSecond;
    const due = Math.max(arrival.get(chat.id) ?? now, now);
    const chatWait = due - (limits.chatBurst - 1) * step - now;
    const group = chat.type === 'private' ? undefined : (groups.get(chat.id) ?? []);
    const groupWait = group ? windowWait(group, 60_000, limits.groupPerMinute, now) : 0;
    const wait = Math.max(chatWait, groupWait, windowWait(all, 1000, limits.overallPerSecond, now));
    if (wait > 0) throw tooManyRequests(wait / 1000);
    arrival.set(chat.id, due + step);
    all.push(now);
    if (group) {
      group.push(now);
      groups.set(chat.id, group);
    }
  };
}

/** Milliseconds until one more event fits the sliding window; forgets what left it. */
function windowWait(times: number[], windowMs: number, most: number, now: number): number {
  while (times[0] !== undefined && times[0] <= now - windowMs) times.shift();
  return times.length < most ? 0 : (times[0] ?? now) + windowMs - now;
}
