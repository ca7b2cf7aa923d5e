import { randomUUID } from 'node:crypto';
import { inject, it } from 'vitest';
import { createRedisStore } from '../../../src/jobs/store/redis/store.js';
import { describeStoreContract } from '../../contracts/store-contract.js';
import { quietLogger } from '../../fakes/quiet.js';

const redis = inject('redis');

if ('missing' in redis) {
  it.skip(redis.missing, () => undefined);
} else {
  const prefix = `test-${randomUUID()}-`;
  describeStoreContract('the store on Redis', async () => {
    const store = await createRedisStore({ url: redis.url, prefix, logger: quietLogger });
    return { store, close: () => store.close() };
  });
}
