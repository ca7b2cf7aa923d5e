import type { Logger } from '../../../core/ports/logger.js';
import type { Store } from '../../../core/ports/store.js';
import { pingMs } from '../attempts.js';
import { openConnection } from './connection.js';
import { createRedisConversations } from './conversations.js';
import { createKeys } from './keys.js';
import { createScriptRunner } from './script-runner.js';
import { checkServer } from './server-check.js';
import { createRedisBoard, createRedisBudgets, createRedisLeases, createRedisRecords } from './side-stores.js';

export interface RedisStoreOptions {
  /** `redis://` or `rediss://`; may hold credentials, which never appear in errors or logs. */
  readonly url: string;
  /** Start of all keys, for installations that share a server. */
  readonly prefix?: string | undefined;
  readonly logger: Logger;
  /** A call gives up after this many ms without an answer. */
  readonly timeoutMs?: number | undefined;
}

const DEFAULTS = { prefix: 'tl', timeoutMs: 15_000, connectTimeoutMs: 5_000 } as const;

/**
 * Opens the store on Redis 6.2 or newer, or Valkey. A connection that is lost later is made again and calls wait for
 * it up to `timeoutMs`; every call is harmless when it arrives twice.
 *
 * @throws StoreError when the server cannot be used: `store_unreachable` (after 5 s), `store_unauthorized`,
 *   `store_url`, `store_version`, `store_eviction`, `store_cluster`.
 */
export async function createRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { logger, timeoutMs = DEFAULTS.timeoutMs } = options;
  const keys = createKeys(options.prefix ?? DEFAULTS.prefix);
  const connection = await openConnection({
    url: options.url,
    logger,
    timeoutMs,
    connectTimeoutMs: DEFAULTS.connectTimeoutMs,
  });
  try {
    await checkServer(connection, logger);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const scripts = createScriptRunner(connection, keys);
  return {
    conversations: createRedisConversations({ connection, keys, scripts, logger }),
    records: createRedisRecords(connection, keys),
    leases: createRedisLeases(scripts, keys),
    board: createRedisBoard(scripts),
    budgets: createRedisBudgets(scripts, keys),
    ping: async () => {
      await connection.run(() => connection.redis.ping(), pingMs(timeoutMs));
    },
    close: connection.close,
  };
}
