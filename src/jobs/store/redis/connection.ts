import { Redis, type RedisOptions, ReplyError } from 'ioredis';
import { StoreError, toError } from '../../../core/errors.js';
import type { Logger } from '../../../core/ports/logger.js';
import { attemptMs, attemptUntil, within } from '../attempts.js';

export interface ConnectionOptions {
  readonly url: string;
  readonly logger: Logger;
  /** A call gives up after this many ms. */
  readonly timeoutMs: number;
  /** The first connection must stand after this many ms. */
  readonly connectTimeoutMs: number;
}

export interface RedisConnection {
  readonly redis: Redis;
  /** Host and port, without credentials; for texts. */
  readonly address: string;
  /**
   * Runs one command, again and again over a lost connection until it is answered or the time is up; so a command must
   * be harmless when repeated.
   *
   * @throws StoreError `store_timeout`, `store_full`, `store_unauthorized`, `store_closed` or `store_failed`.
   */
  run<T>(command: () => Promise<T>, limitMs?: number): Promise<T>;
  close(): Promise<void>;
}

/** Replies that a later try may not get: start-up, a fail-over, a script of somebody else that runs too long. */
const PASSING_REPLY = /^(LOADING|READONLY|MASTERDOWN|BUSY|TRYAGAIN|CLUSTERDOWN)/;
const FULL_REPLY = /^(OOM|MISCONF)/;
const UNAUTHORIZED_REPLY = /^(WRONGPASS|NOAUTH|NOPERM)|invalid.*password/i;
const CLOSE_MS = 2_000;

const isReply = (error: Error): boolean => error instanceof ReplyError;

/** ioredis puts a command's arguments (passwords, people's texts) on its errors: only the message goes on. */
const bare = (error: Error): Error => new Error(error.message);

function redisAddress(url: string): string {
  if (url.startsWith('/')) return url;
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) {
    throw new StoreError('the Redis URL is not usable', {
      code: 'store_url',
      hint: 'write it as redis://user:password@host:6379/0, or rediss:// for TLS',
    });
  }
  const { hostname, port, pathname } = new URL(url);
  return hostname === '' ? pathname : `${hostname}:${port || 6379}`;
}

/**
 * Repeating is done here and not by ioredis: its queues would send a command long after its caller was told that it
 * failed. So nothing waits inside the client; what a lost connection interrupts is rejected at once.
 */
function clientOptions(options: ConnectionOptions): RedisOptions & { replyMapping: 'legacy' } {
  return {
    lazyConnect: true,
    protocol: 2,
    replyMapping: 'legacy',
    connectionName: 'threadloop',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Start-up and LOADING are handled by server-check and by PASSING_REPLY.
    enableReadyCheck: false,
    connectTimeout: options.connectTimeoutMs,
    // A connection whose other end is gone without a word is given up after this time.
    socketTimeout: attemptMs(options.timeoutMs),
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 6), 1_000),
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
}

/**
 * Connects and waits until the connection stands.
 *
 * @throws StoreError `store_unreachable` or `store_unauthorized`; never shows credentials.
 */
export async function openConnection(options: ConnectionOptions): Promise<RedisConnection> {
  const { url, logger, timeoutMs } = options;
  const address = redisAddress(url);
  const redis = new Redis(url, clientOptions(options));
  const gate = createGate(redis);
  let closed = false;
  let lost = false;
  let lastError = 'no answer';

  const unauthorized = new Promise<never>((_, reject) => {
    redis.on('error', (error: Error) => {
      // A host with several addresses gives an error without a message.
      lastError = error.message || ('code' in error ? String(error.code) : lastError);
      if (isReply(error) && UNAUTHORIZED_REPLY.test(error.message)) reject(bare(error));
    });
  });
  unauthorized.catch(() => undefined);
  try {
    redis.connect().catch(() => undefined);
    await within(Promise.race([gate.ready(), unauthorized]), options.connectTimeoutMs, () => new Error(lastError));
  } catch (thrown) {
    redis.disconnect();
    throw openError(toError(thrown), address);
  }

  redis.on('close', () => {
    if (closed || lost) return;
    lost = true;
    logger.warn({ address, error: lastError }, 'the connection to Redis is lost; reconnecting');
  });
  redis.on('ready', () => {
    if (lost) logger.info({ address }, 'the connection to Redis is back');
    lost = false;
  });
  const late = () => new Error(lost ? lastError : 'no answer');
  return {
    redis,
    address,
    run: (command, limitMs = timeoutMs) =>
      attemptUntil({
        timeoutMs: limitMs,
        attempt: async (leftMs) => {
          const deadline = performance.now() + leftMs;
          if (!closed) await within(gate.ready(), leftMs, late);
          return await within(command(), deadline - performance.now(), late);
        },
        transient: (error) => !closed && (!isReply(error) || PASSING_REPLY.test(error.message)),
        failed: (error) => (closed ? closedError() : callError(error, address, limitMs)),
      }),
    async close() {
      if (closed) return;
      closed = true;
      await within(redis.quit(), CLOSE_MS, () => new Error('no answer')).catch(() => undefined);
      redis.disconnect();
    },
  };
}

/** Lets callers wait for the next "ready" without one listener each; they go on in the order they came. */
function createGate(redis: Redis): { ready(): Promise<void> } {
  let open: () => void = () => undefined;
  let next = new Promise<void>((resolve) => {
    open = resolve;
  });
  redis.on('ready', () => {
    open();
    next = new Promise((resolve) => {
      open = resolve;
    });
  });
  return { ready: async () => (redis.status === 'ready' ? undefined : next) };
}

function openError(error: Error, address: string): StoreError {
  if (UNAUTHORIZED_REPLY.test(error.message)) return unauthorizedError(error, address);
  return new StoreError(`Redis at ${address} cannot be reached: ${error.message}`, {
    code: 'store_unreachable',
    hint: 'start Redis there, or correct store.redisUrl (REDIS_URL); without either the embedded store is used',
    cause: bare(error),
  });
}

function unauthorizedError(error: Error, address: string): StoreError {
  return new StoreError(`Redis at ${address} refuses the credentials: ${error.message}`, {
    code: 'store_unauthorized',
    hint: 'check user and password in store.redisUrl (REDIS_URL)',
    cause: bare(error),
  });
}

function closedError(): StoreError {
  return new StoreError('the store is closed', { code: 'store_closed' });
}

function callError(error: Error, address: string, timeoutMs: number): StoreError {
  const cause = bare(error);
  if (!isReply(error) || PASSING_REPLY.test(error.message)) {
    return new StoreError(`Redis at ${address} did not answer within ${timeoutMs} ms: ${error.message}`, {
      code: 'store_timeout',
      hint: 'check that Redis runs and is not overloaded',
      cause,
    });
  }
  if (UNAUTHORIZED_REPLY.test(error.message)) return unauthorizedError(error, address);
  if (FULL_REPLY.test(error.message)) {
    return new StoreError(`Redis at ${address} accepts no writes: ${error.message}`, {
      code: 'store_full',
      hint: 'give Redis more memory or disk space',
      cause,
    });
  }
  return new StoreError(`Redis at ${address} refused a command: ${error.message}`, { code: 'store_failed', cause });
}
