import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Metrics } from './core/ports/metrics.js';

/** Milliseconds; wide enough for a queue hop and for a long answer. */
const BUCKETS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

/** Series per name; further label combinations are counted under `other`, so that memory stays bounded. */
const MOST_SERIES = 1_000;

export interface Telemetry {
  readonly metrics: Metrics;
  /** The text for `/metrics`, in the Prometheus exposition format. */
  metricsText(): Promise<string>;
  /** The value of the `Content-Type` header that belongs to it. */
  readonly contentType: string;
}

/** Counters and durations of this process, besides Node's own figures. A metric's labels are fixed by its first use. */
export function createTelemetry(): Telemetry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counters = new Map<string, Metric<Counter>>();
  const histograms = new Map<string, Metric<Histogram>>();
  return {
    contentType: registry.contentType,
    metricsText: () => registry.metrics(),
    metrics: {
      count(name, labels = {}, by = 1) {
        const metric = remember(counters, name, labels, (labelNames) => {
          const help = `Number of ${name.replaceAll('_', ' ')}`;
          return new Counter({ name: `threadloop_${name}_total`, help, labelNames, registers: [registry] });
        });
        metric.instrument.inc(bounded(metric, labels), by);
      },
      observe(name, milliseconds, labels = {}) {
        const metric = remember(histograms, name, labels, (labelNames) => {
          const help = `Duration of ${name.replaceAll('_', ' ')} in milliseconds`;
          const full = `threadloop_${name}_milliseconds`;
          return new Histogram({ name: full, help, labelNames, buckets: BUCKETS, registers: [registry] });
        });
        metric.instrument.observe(bounded(metric, labels), milliseconds);
      },
    },
  };
}

interface Metric<Instrument> {
  readonly instrument: Instrument;
  readonly labelNames: readonly string[];
  readonly seen: Set<string>;
}

function remember<Instrument>(
  known: Map<string, Metric<Instrument>>,
  name: string,
  labels: Record<string, string>,
  create: (labelNames: string[]) => Instrument,
): Metric<Instrument> {
  const existing = known.get(name);
  if (existing) return existing;
  const labelNames = Object.keys(labels);
  const metric = { instrument: create(labelNames), labelNames, seen: new Set<string>() };
  known.set(name, metric);
  return metric;
}

/** Labels of the metric only; once it has too many combinations, a new one counts as `other`. */
function bounded({ labelNames, seen }: Metric<unknown>, labels: Record<string, string>): Record<string, string> {
  const chosen = Object.fromEntries(labelNames.map((label) => [label, labels[label] ?? '']));
  const series = JSON.stringify(chosen);
  if (seen.has(series)) return chosen;
  if (seen.size >= MOST_SERIES) return Object.fromEntries(labelNames.map((label) => [label, 'other']));
  seen.add(series);
  return chosen;
}
