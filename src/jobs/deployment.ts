import type { Pool, PoolConfig } from 'pg';
import type { ConversationKey } from '../core/chat/message.js';
import { StoreError, toError } from '../core/errors.js';
import type { Logger } from '../core/ports/logger.js';
import type { Relay } from '../core/ports/relay.js';
import type { Leases, Store } from '../core/ports/store.js';
import { createErrorLog } from './error-log.js';
import type { RunQueue } from './queues.js';
import { createRelay } from './relay.js';
import { type RunWorker, type RunWorkerOptions, startRunWorker } from './worker.js';

export interface DeploymentOptions {
  /** Set: everything is kept in this Redis or Valkey. */
  readonly redisUrl?: string | undefined;
  /** Set: everything is kept in this PostgreSQL. */
  readonly postgresUrl?: string | undefined;
  /** Neither set: an embedded database in this directory. */
  readonly dataDir: string;
  readonly logger: Logger;
  /** Gets one line for a person when opening takes long. */
  readonly onProgress: (line: string) => void;
  /** Called once, when only the store is waited for: a good moment to load what will work on it. */
  readonly onOpening?: (() => void) | undefined;
}

/** Where state and jobs of this process are kept. */
export interface Deployment {
  readonly kind: 'embedded' | 'postgres' | 'redis';
  readonly store: Store;
  readonly leases: Leases;
  readonly relay: Relay;
  /** Wakes a conversation up. */
  addRun(key: ConversationKey): Promise<void>;
  startRunWorker(options: RunWorkerOptions): Promise<RunWorker>;
  /** Close workers, sweeper and adapters first. */
  close(): Promise<void>;
}

/** What is open so far, closed in the opposite order. */
type Closers = (() => Promise<unknown>)[];

interface Opened {
  readonly kind: Deployment['kind'];
  readonly store: Store;
  readonly queue: RunQueue;
}

const POOL = {
  /** One connection each for the worker's and the relay's notifications, the others for short statements. */
  postgres: 6,
  /** For the store too; more would not help, the embedded database does one thing at a time. */
  embedded: 8,
} as const;
const CONNECT_MS = 5_000;
/** The embedded database is there for sure; only a busy machine makes it slow. */
const EMBEDDED_CONNECT_MS = 30_000;

/**
 * Opens the configured store and its queue; never another one than configured. Only the libraries of that store are
 * loaded.
 *
 * @throws StoreError with the address (without credentials) and the fix, e.g. `store_unreachable`, `store_locked`
 */
export async function openDeployment(options: DeploymentOptions): Promise<Deployment> {
  const { redisUrl, postgresUrl, logger } = options;
  if (redisUrl && postgresUrl) {
    throw new StoreError('both a Redis and a PostgreSQL store are configured', {
      code: 'store_ambiguous',
      hint: 'set only one of store.redisUrl (REDIS_URL) and store.postgresUrl (DATABASE_URL)',
    });
  }
  const closers: Closers = [];
  try {
    const opened = await openChosen(options, closers);
    const { kind, store, queue } = opened;
    closers.push(() => queue.close());
    const relay = createRelay(queue.openRelay(logger), logger);
    closers.push(() => relay.close());
    return {
      kind,
      store,
      leases: store.leases,
      relay,
      addRun: queue.addRun,
      startRunWorker: (workerOptions) => startRunWorker(queue, workerOptions),
      close: () => closeAll(closers, logger),
    };
  } catch (thrown) {
    await closeAll(closers, logger);
    throw thrown;
  }
}

function openChosen(options: DeploymentOptions, closers: Closers): Promise<Opened> {
  const { redisUrl, postgresUrl, logger, onOpening } = options;
  if (!redisUrl && !postgresUrl) return openOnEmbedded(options, closers);
  onOpening?.();
  return redisUrl ? openOnRedis(redisUrl, logger, closers) : openOnPostgres(postgresUrl ?? '', logger, closers);
}

async function openOnRedis(url: string, logger: Logger, closers: Closers): Promise<Opened> {
  const [{ createRedisStore }, { Redis }, { openRedisQueue }] = await Promise.all([
    import('./store/redis/store.js'),
    import('ioredis'),
    import('./queues.js'),
  ]);
  const store = await createRedisStore({ url, logger });
  closers.push(() => store.close());
  const redis = new Redis(url, {
    connectionName: 'threadloop-queue',
    // Workers block on copies of this connection; both wait for a server that comes back.
    maxRetriesPerRequest: null,
    connectTimeout: CONNECT_MS,
    retryStrategy: (times) => Math.min(times * 100, 1_000),
  });
  redis.on('error', createErrorLog(logger, 'the connection of the run queue to Redis has a problem'));
  closers.push(async () => redis.disconnect());
  return { kind: 'redis', store, queue: await openRedisQueue(redis, logger) };
}

async function openOnPostgres(url: string, logger: Logger, closers: Closers): Promise<Opened> {
  const { createPostgresStore } = await import('./store/postgres/store.js');
  const { store } = await createPostgresStore({ url, logger });
  closers.push(() => store.close());
  const pool = await openQueuePool({ connectionString: url, max: POOL.postgres, keepAlive: true }, logger, closers);
  return { kind: 'postgres', store, queue: await queueOn(pool, false, logger) };
}

async function openOnEmbedded(options: DeploymentOptions, closers: Closers): Promise<Opened> {
  const { dataDir, logger, onProgress } = options;
  const { openEmbedded } = await import('./store/embedded/open-embedded.js');
  const load = () => Promise.all([import('./store/postgres/store.js'), import('./queues.js')]);
  const onOpening = () => {
    void load();
    options.onOpening?.();
  };
  const embedded = await openEmbedded({ dataDir, logger, onProgress, onOpening });
  closers.push(() => embedded.close());
  const [{ createSqlStore }] = await load();
  const patience = { max: POOL.embedded, connectionTimeoutMillis: EMBEDDED_CONNECT_MS };
  const pool = await openQueuePool({ ...embedded.poolConfig, ...patience }, logger, closers);
  const name = `the database in ${dataDir}`;
  const store = await createSqlStore({ pool, logger, name, openTimeoutMs: EMBEDDED_CONNECT_MS });
  closers.push(() => store.close());
  // The sweeper's first look adds every conversation that has something to do.
  return { kind: 'embedded', store, queue: await queueOn(pool, true, logger) };
}

async function openQueuePool(config: PoolConfig, logger: Logger, closers: Closers): Promise<Pool> {
  const [{ default: pg }, { QUEUE_SEARCH_PATH }] = await Promise.all([import('pg'), import('./queues.js')]);
  const pool = new pg.Pool({
    application_name: 'threadloop-queue',
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: 60_000,
    onConnect: async (client) => {
      await client.query(QUEUE_SEARCH_PATH);
    },
    ...config,
  });
  // BullMQ adds a listener for each queue, worker and relay.
  pool.setMaxListeners(0);
  pool.on('error', createErrorLog(logger, 'a database connection of the run queue is lost'));
  closers.push(() => pool.end());
  return pool;
}

async function queueOn(pool: Pool, alone: boolean, logger: Logger): Promise<RunQueue> {
  const { openPostgresQueue } = await import('./queues.js');
  try {
    return await openPostgresQueue({ pool, alone, logger });
  } catch (thrown) {
    throw new StoreError(`the run queue cannot be opened: ${toError(thrown).message}`, {
      code: 'store_queue',
      hint: 'the database user must be allowed to create the schema "bullmq" and use PostgreSQL 14 or newer',
      cause: thrown,
    });
  }
}

async function closeAll(closers: Closers, logger: Logger): Promise<void> {
  for (let close = closers.pop(); close; close = closers.pop()) {
    try {
      await close();
    } catch (thrown) {
      logger.warn({ error: toError(thrown).message }, 'something did not close cleanly');
    }
  }
}
