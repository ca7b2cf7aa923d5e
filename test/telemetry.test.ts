import { describe, expect, it } from 'vitest';
import { createTelemetry } from '../src/telemetry.js';

describe('createTelemetry', () => {
  it('counts and measures under the threadloop_ prefix, beside the figures of the process', async () => {
    const { metrics, metricsText, contentType } = createTelemetry();
    metrics.count('items_accepted', { result: 'accepted' });
    metrics.count('items_accepted', { result: 'accepted' }, 2);
    metrics.observe('model_request', 40, { model: 'm' });
    const text = await metricsText();
    expect(text).toContain('threadloop_items_accepted_total{result="accepted"} 3');
    expect(text).toContain('threadloop_model_request_milliseconds_bucket{le="50",model="m"} 1');
    expect(text).toContain('threadloop_model_request_milliseconds_bucket{le="25",model="m"} 0');
    expect(text).toContain('process_cpu_user_seconds_total');
    expect(contentType).toContain('text/plain');
  });

  it('keeps each process of measuring apart', async () => {
    createTelemetry().metrics.count('once');
    expect(await createTelemetry().metricsText()).not.toContain('threadloop_once_total');
  });

  it('keeps the first labels of a name, so that a later call cannot throw', async () => {
    const { metrics, metricsText } = createTelemetry();
    metrics.count('calls', { platform: 'web' });
    metrics.count('calls', { other: 'x' });
    expect(await metricsText()).toContain('threadloop_calls_total{platform=""} 1');
  });

  it('counts label values beyond a thousand as other', async () => {
    const { metrics, metricsText } = createTelemetry();
    for (let index = 0; index < 1_010; index += 1) metrics.count('calls', { chat: String(index) });
    const text = await metricsText();
    expect(text).toContain('threadloop_calls_total{chat="other"} 10');
    expect(text.match(/^threadloop_calls_total/gm)).toHaveLength(1_001);
  });
});
