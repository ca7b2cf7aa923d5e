/** Counters and durations; names are prometheus names without the `threadloop_` prefix. */
export interface Metrics {
  count(name: string, labels?: Record<string, string>, by?: number): void;
  observe(name: string, milliseconds: number, labels?: Record<string, string>): void;
}
