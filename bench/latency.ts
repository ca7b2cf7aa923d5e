import { setTimeout as sleep } from 'node:timers/promises';
import { type ModelServer, startModelServer } from '../test/fakes/model-server.js';
import { findProgram, startRedis } from '../test/services.js';
import { benchFolder, quantile, startBenchGateway } from './gateway.js';

const QUESTIONS = 300;
const EVERY_MS = 40;

/** From the accepted message to the model's request, on Redis: HTTP call sent to request arrived, one machine's clock. */
export async function acceptToRequest(): Promise<void> {
  if (!findProgram('redis-server')) return void console.log('accept to model request: skipped, redis-server not found');
  const folder = benchFolder();
  const redis = await startRedis();
  const arrived = new Map<string, number>();
  const model: ModelServer = await startModelServer(({ body }) => {
    arrived.set(body.messages.at(-1).content, performance.now());
    return { text: 'ok' };
  });
  const gateway = await startBenchGateway(folder.path, {
    store: { redisUrl: redis.url },
    models: { default: { baseUrl: model.url, apiKey: 'none', model: 'fake' } },
  });
  try {
    const accepted = new Map<string, number>();
    for (let i = 0; i < QUESTIONS; i++) {
      const text = `question ${i}`;
      void fetch(`${gateway.url}/api/conversations/bench-${i}/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ text }),
      }).then(() => accepted.set(text, performance.now()));
      await sleep(EVERY_MS);
    }
    await sleep(2_000);
    const times = [...arrived].map(([text, at]) => at - (accepted.get(text) ?? at)).slice(50);
    console.log(`accepted (202 received) to model request, Redis, ${times.length} conversations`);
    console.log(`  p50 / p99            ${quantile(times, 0.5).toFixed(1)} / ${quantile(times, 0.99).toFixed(1)} ms`);
    console.log(`  start to ready       ${gateway.startMs.toFixed(0)} ms, ${gateway.rssMb().toFixed(0)} MB`);
  } finally {
    await gateway.stop();
    await model.close();
    await redis.stop();
    folder.remove();
  }
}
