import type { Logger } from '../../src/core/ports/logger.js';
import type { Metrics } from '../../src/core/ports/metrics.js';
import type { Relay } from '../../src/core/ports/relay.js';

/** A logger that says nothing. */
export const quietLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => quietLogger,
};

/** Metrics that count in a map, by name. */
export function createCountingMetrics(): Metrics & { readonly counts: ReadonlyMap<string, number> } {
  const counts = new Map<string, number>();
  return {
    counts,
    count: (name, _labels, by = 1) => void counts.set(name, (counts.get(name) ?? 0) + by),
    observe: () => undefined,
  };
}

/** A relay whose hints are all lost: the once-a-second looks must be enough. */
export const deafRelay: Relay = {
  publish: async () => undefined,
  subscribe: async () => async () => undefined,
};
