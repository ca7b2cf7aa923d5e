import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { freshDataDir } from '../jobs/targets.js';
import { type ChaosOptions, compileProcess, runChaos, serveEmbedded } from './chaos.js';

const dataDir = await freshDataDir();
beforeAll(compileProcess, 60_000);
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const common = {
  producers: 2,
  workers: 4,
  sweeper: true,
  forgetJob: 0.03,
  pauseMs: 60,
  killEveryMs: 2_500,
  kills: 8,
  acceptMs: 90_000,
  quietMs: 60_000,
};

async function expectNothingLost(options: ChaosOptions): Promise<void> {
  const result = await runChaos(options);
  expect(result).toMatchObject({ missing: [], doubled: [], disordered: [], halves: [] });
  expect(result.kills).toBeGreaterThanOrEqual(options.kills);
}

const redis = inject('redis');
const postgres = inject('postgres');

describe('kill -9 at random of workers and producers', { timeout: 180_000 }, () => {
  if ('url' in redis) {
    it('loses, doubles and reorders nothing on Redis (200 conversations × 20 messages)', () =>
      expectNothingLost({
        ...common,
        store: { redisUrl: `${redis.url.replace(/\/0$/, '')}/3`, dataDir },
        conversations: 200,
        messages: 20,
      }));

    it('strands what a producer accepted without adding the job when there is no sweeper', async () => {
      const result = await runChaos({
        ...common,
        store: { redisUrl: `${redis.url.replace(/\/0$/, '')}/4`, dataDir },
        ...{
          conversations: 40,
          messages: 3,
          sweeper: false,
          forgetJob: 0.3,
          // Long enough for most runs to be over when the next message comes.
          pauseMs: 800,
          killEveryMs: 60_000,
          kills: 0,
          quietMs: 6_000,
        },
      });
      expect(result.missing.length).toBeGreaterThan(0);
      expect(result).toMatchObject({ doubled: [], disordered: [] });
    });
  } else it.skip(redis.missing, () => undefined);

  if ('url' in postgres) {
    it('loses, doubles and reorders nothing on PostgreSQL (40 conversations × 10 messages)', () =>
      expectNothingLost({ ...common, store: { postgresUrl: postgres.url, dataDir }, conversations: 40, messages: 10 }));
  } else it.skip(postgres.missing, () => undefined);

  it('loses, doubles and reorders nothing on the embedded database, kept open for them (40 conversations × 10 messages)', async () => {
    const ownDir = await freshDataDir();
    const database = await serveEmbedded(ownDir);
    try {
      const store = { postgresUrl: database.url, dataDir: ownDir };
      await expectNothingLost({ ...common, store, conversations: 40, messages: 10 });
    } finally {
      await database.close();
      rmSync(ownDir, { recursive: true, force: true });
    }
  });

  it('loses, doubles and reorders nothing when the only process is killed, embedded (40 conversations × 10 messages)', () =>
    expectNothingLost({
      ...common,
      store: { dataDir },
      ...{ workers: 0, producers: 0, conversations: 40, messages: 10, killEveryMs: 6_000, kills: 3 },
    }));
});
