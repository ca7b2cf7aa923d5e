/** What shall happen to calls of one method. Exactly the described calls are hit, the others pass. */
export interface Fault {
  /** Answer with this HTTP status and a matching Bot API error. 502 has an HTML body, as a proxy would send it. */
  readonly status?: number;
  readonly description?: string;
  /** Seconds, for status 429. */
  readonly retryAfter?: number;
  /** Cut the connection: `before` the call has an effect, or `after` it (the answer is lost). */
  readonly drop?: 'before' | 'after';
  /** Never answer; the call has its effect only with `after`. */
  readonly hang?: 'before' | 'after';
  /** Answer only after so many milliseconds (added to the server's own latency). */
  readonly latencyMs?: number;
  /** The first hit is the n-th matching call from now, 1 by default. */
  readonly nth?: number;
  /** How many calls in a row are hit, 1 by default. */
  readonly times?: number;
  readonly match?: (payload: Readonly<Record<string, unknown>>) => boolean;
}

export interface PlacedFault {
  /** How often it has hit so far. */
  readonly hits: number;
  remove(): void;
}

export interface Faults {
  /** `*` stands for every method. */
  place(method: string, fault: Fault): PlacedFault;
  /** The fault that hits this call, if any; counts it. */
  next(method: string, payload: Readonly<Record<string, unknown>>): Fault | undefined;
}

export function createFaults(): Faults {
  let placed: { method: string; fault: Fault; seen: number; hits: number }[] = [];
  return {
    place(method, fault) {
      const entry = { method, fault, seen: 0, hits: 0 };
      placed.push(entry);
      return {
        get hits() {
          return entry.hits;
        },
        remove() {
          placed = placed.filter((other) => other !== entry);
        },
      };
    },
    next(method, payload) {
      for (const entry of placed) {
        if (entry.method !== '*' && entry.method !== method) continue;
        if (entry.fault.match && !entry.fault.match(payload)) continue;
        entry.seen += 1;
        const first = entry.fault.nth ?? 1;
        if (entry.seen < first || entry.hits >= (entry.fault.times ?? 1)) continue;
        entry.hits += 1;
        return entry.fault;
      }
      return undefined;
    },
  };
}
