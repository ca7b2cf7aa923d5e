import {
  type BackendFactory,
  Relay as BullRelay,
  createPostgresBackend,
  createPostgresRelayBackend,
  createRedisBackend,
  createRedisRelayBackend,
  type IQueueBackend,
  type PgPool,
  type RelayBackendFactory,
  runMigrations,
  withBackend,
} from 'bullmq';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { ConversationKey } from '../core/chat/message.js';
import type { Logger } from '../core/ports/logger.js';
import { createErrorLog } from './error-log.js';

/** What the run queue carries: which conversation has something to do. What that is stands in its inbox. */
interface RunJob {
  readonly key: ConversationKey;
}

export interface RunConsumer {
  /** Stops taking jobs; resolves when the running ones have ended. */
  close(): Promise<void>;
  /** Cuts the connections without waiting for the running jobs. */
  disconnect(): Promise<void>;
}

export interface RunConsumerOptions {
  readonly concurrency: number;
  /** One run; `jobId` is what `lockLost` names. Must not reject: a rejected job would wake nobody up. */
  readonly handle: (jobId: string, key: ConversationKey) => Promise<void>;
  /** Another worker may have these jobs now. */
  readonly lockLost: (jobIds: readonly string[]) => void;
  readonly logger: Logger;
}

/** BullMQ, bound to one database. */
export interface RunQueue {
  /** Wakes a conversation up; calls for one that already waits are one job, a call during its run makes one more. */
  addRun(key: ConversationKey): Promise<void>;
  consume(options: RunConsumerOptions): Promise<RunConsumer>;
  openRelay(logger: Logger): BullRelay;
  close(): Promise<void>;
}

const QUEUE = 'threadloop-run';
/** Redis only; the braces keep all keys of the queue in one slot. */
const PREFIX = '{threadloop}';
/** PostgreSQL only; BullMQ's default, because a pool that is handed over cannot carry another one. */
const SCHEMA = 'bullmq';

/**
 * A killed worker's job is free again when its lock has run out and the next check has seen that: at most
 * `lockDuration` + 2 × `stalledInterval`. Locks are renewed every `lockDuration / 2`.
 */
const WORKER_TIMING = {
  lockDuration: 5_000,
  stalledInterval: 1_500,
  /** A job that stalled too often would be failed without a run, together with every wake-up coalesced into it. */
  maxStalledCount: 1_000_000,
  /** Pause before the next try over a lost connection; BullMQ's 15 s would be felt. */
  runRetryDelay: 1_000,
} as const;

/** The job never waits or retries: every wait is a `wakeAt` of the conversation, every failure left to the sweeper. */
const JOB = { removeOnComplete: true, removeOnFail: true, attempts: 1 } as const;

/** Nobody reads BullMQ's own event stream. */
const STREAMS = { events: { maxLen: 100 } } as const;

/** Hints that nobody read in time may go. */
const RELAY = { namespace: 'threadloop', inboxMaxLength: 1_000 } as const;

export interface PostgresQueueOptions {
  /** Shared with the workers and the relay, which keep one connection each; not ended here. */
  readonly pool: Pool;
  /** No other process uses this database: jobs of a killed predecessor are dropped, as if their locks had run out. */
  readonly alone: boolean;
  readonly logger: Logger;
}

/** Opens the queue on Redis. The connection is shared with the workers and the relay and is not closed here. */
export function openRedisQueue(redis: Redis, logger: Logger): Promise<RunQueue> {
  return openQueue({ backend: createRedisBackend, relay: createRedisRelayBackend, connection: redis }, logger);
}

/** Opens the queue on PostgreSQL and brings BullMQ's schema up to date; processes that start together take turns. */
export async function openPostgresQueue({ pool, alone, logger }: PostgresQueueOptions): Promise<RunQueue> {
  const client = await pool.connect();
  try {
    await runMigrations(client, SCHEMA);
  } finally {
    client.release();
  }
  // The types of pg and BullMQ differ in overloads only.
  const connection = pool as PgPool;
  const binding = { backend: createPostgresBackend, relay: createPostgresRelayBackend, connection };
  if (alone) await dropJobs(binding, logger);
  return openQueue(binding, logger);
}

/** Lets the queue's statements, which name no schema, find their tables. For the pool's `onConnect`. */
export const QUEUE_SEARCH_PATH = `SET search_path TO ${SCHEMA}, public`;

interface QueueBinding<Backend extends IQueueBackend, Connection> {
  readonly backend: BackendFactory<Backend, Connection>;
  readonly relay: RelayBackendFactory<Connection>;
  readonly connection: Connection;
}

async function dropJobs<Backend extends IQueueBackend, Connection>(
  { backend, connection }: QueueBinding<Backend, Connection>,
  logger: Logger,
): Promise<void> {
  const { Queue } = withBackend(backend);
  const queue = new Queue(QUEUE, { connection, prefix: PREFIX, skipMetasUpdate: true });
  queue.on('error', createErrorLog(logger, 'the run queue has a problem'));
  await queue.obliterate({ force: true });
  await queue.close();
}

async function openQueue<Backend extends IQueueBackend, Connection>(
  binding: QueueBinding<Backend, Connection>,
  logger: Logger,
): Promise<RunQueue> {
  const { connection } = binding;
  const { Queue, Worker } = withBackend(binding.backend);
  const queue = new Queue<RunJob>(QUEUE, { connection, prefix: PREFIX, streams: STREAMS });
  queue.on('error', createErrorLog(logger, 'the run queue has a problem'));
  await queue.waitUntilReady();
  return {
    async addRun(key) {
      await queue.add('run', { key }, { ...JOB, deduplication: { id: key, keepLastIfActive: true } });
    },
    async consume(options) {
      const handle = async ({ id, data }: { id?: string | undefined; data: RunJob }) =>
        options.handle(id ?? '', data.key);
      const { concurrency } = options;
      const worker = new Worker<RunJob, void>(QUEUE, handle, {
        connection,
        prefix: PREFIX,
        concurrency,
        ...WORKER_TIMING,
      });
      worker.on('error', createErrorLog(options.logger, 'the run worker has a problem'));
      worker.on('lockRenewalFailed', (jobIds: string[]) => options.lockLost(jobIds));
      await worker.waitUntilReady();
      return worker;
    },
    openRelay(relayLogger) {
      const relay = new BullRelay({ connection, backend: binding.relay, prefix: PREFIX, ...RELAY });
      relay.on('error', createErrorLog(relayLogger, 'hints between processes have a problem; they may come late'));
      return relay;
    },
    close: () => queue.close(),
  };
}
