import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../../../core/errors.js';
import type { Logger } from '../../../core/ports/logger.js';
import type { RedisConnection } from './connection.js';

const OLDEST = [6, 2] as const;
const LOADING_POLL_MS = 250;
const LOADING_LIMIT_MS = 10 * 60_000;

type Info = ReadonlyMap<string, string>;

function parseInfo(text: string): Info {
  const lines = text.split('\r\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

/**
 * Checks what the protocol relies on, by INFO alone (CONFIG is often blocked): version 6.2 or newer, nothing is ever
 * evicted, not a cluster. Waits while the server loads its data. Warns when it keeps no log on disk.
 *
 * @throws StoreError `store_version`, `store_eviction`, `store_cluster`, or what the connection throws.
 */
export async function checkServer(connection: RedisConnection, logger: Logger): Promise<void> {
  const info = await loadedInfo(connection, logger);
  const { address } = connection;
  const version = info.get('redis_version') ?? '0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new StoreError(`Redis at ${address} has version ${version}`, {
      code: 'store_version',
      hint: `use Redis ${OLDEST.join('.')} or newer, or Valkey`,
    });
  }
  if (info.get('redis_mode') === 'cluster') {
    throw new StoreError(`Redis at ${address} is a cluster`, {
      code: 'store_cluster',
      hint: 'use a single Redis server (with replicas if you like)',
    });
  }
  const policy = info.get('maxmemory_policy');
  if (policy === undefined) {
    logger.warn({ address }, 'Redis does not tell its maxmemory-policy; it must be noeviction');
  } else if (policy !== 'noeviction') {
    throw new StoreError(`Redis at ${address} may drop accepted messages: maxmemory-policy is ${policy}`, {
      code: 'store_eviction',
      hint: 'set it with: redis-cli config set maxmemory-policy noeviction (and in redis.conf)',
    });
  }
  if (info.get('aof_enabled') === '0') {
    logger.warn(
      { address, hint: 'redis-cli config set appendonly yes (and in redis.conf)' },
      'Redis keeps no append-only file: what was accepted since its last snapshot is lost when it stops',
    );
  }
}

async function loadedInfo(connection: RedisConnection, logger: Logger): Promise<Info> {
  const deadline = performance.now() + LOADING_LIMIT_MS;
  for (let waits = 0; ; waits++) {
    const info = parseInfo(await connection.run(() => connection.redis.info()));
    const loading = info.get('loading') === '1' || info.get('async_loading') === '1';
    if (!loading) return info;
    if (performance.now() > deadline) {
      throw new StoreError(`Redis at ${connection.address} is still loading its data`, { code: 'store_timeout' });
    }
    if (waits === 0) logger.info({ address: connection.address }, 'Redis is loading its data; waiting');
    await sleep(LOADING_POLL_MS);
  }
}
