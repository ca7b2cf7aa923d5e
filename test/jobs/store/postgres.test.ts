import { afterAll, beforeAll, inject, it } from 'vitest';
import { createPostgresStore } from '../../../src/jobs/store/postgres/store.js';
import { describeStoreContract } from '../../contracts/store-contract.js';
import { quietLogger } from '../../fakes/quiet.js';
import { createDatabase } from '../../services.js';

const postgres = inject('postgres');

if ('missing' in postgres) {
  it.skip(postgres.missing, () => undefined);
} else {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  beforeAll(async () => {
    database = await createDatabase(postgres.url);
  });
  afterAll(() => database.drop());
  describeStoreContract('the store on PostgreSQL', async () => {
    const { store } = await createPostgresStore({ url: database.url, logger: quietLogger });
    return { store, close: () => store.close() };
  });
}
