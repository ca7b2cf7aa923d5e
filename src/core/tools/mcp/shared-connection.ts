import { toError } from '../../errors.js';
import type { Logger } from '../../ports/logger.js';
import type { Metrics } from '../../ports/metrics.js';
import { createCircuit } from './circuit.js';
import { type McpConnection, openConnection } from './connection.js';
import { McpError, toMcpError } from './failure.js';
import type { UsableServerConfig } from './server-config.js';

/** An older protocol is not remembered for longer: servers are upgraded. */
const LEGACY_KNOWN_MS = 3_600_000;

export interface McpServerOptions {
  readonly name: string;
  readonly config: UsableServerConfig;
  /** All configured servers. */
  readonly servers: readonly string[];
  readonly clientVersion: string;
  readonly logger: Logger;
  readonly metrics: Metrics | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A connection nobody used for so long is closed. */
  readonly idleCloseMs: number;
}

export interface SharedConnectionOptions extends McpServerOptions {
  readonly onToolsChanged: () => void;
  readonly onDeaf: () => void;
  /** Connecting failed. */
  readonly onRefused: () => void;
}

/** The one connection of this process to a server: opened when needed, restarted with pauses, closed when idle. */
export interface SharedConnection {
  readonly state: 'none' | 'opening' | 'open';
  /** Failures since the server last worked. */
  readonly failures: number;
  /** Five failures in a row; nobody waits for this server. */
  readonly circuitOpen: boolean;
  /** The last failure, until the server works again. */
  readonly problem: McpError | undefined;
  /** Milliseconds until the next attempt is due. */
  waitMs(): number;
  /** The open connection, or one that is opened for all who ask. Throws {@link McpError}. */
  open(): Promise<McpConnection>;
  /** Keeps the connection from being closed as idle until the returned function is called. */
  hold(): () => void;
  /** The server proved that it works. */
  worked(): void;
  /** The connection is of no use any more. */
  drop(broken: McpConnection, error: McpError): void;
  /** Ends the connection, also one that is being opened, and its processes. */
  close(): Promise<void>;
  /** Aborted by {@link close}. */
  readonly closed: AbortSignal;
}

export function createSharedConnection(options: SharedConnectionOptions): SharedConnection {
  const { name, config, logger, metrics, now } = options;
  const circuit = createCircuit(now);
  const shutdown = new AbortController();
  const closing = new Set<Promise<void>>();
  let connection: McpConnection | undefined;
  let opening: Promise<McpConnection> | undefined;
  let legacyUntil = 0;
  let problem: McpError | undefined;
  let holders = 0;
  let idleTimer: NodeJS.Timeout | undefined;

  async function connect(): Promise<McpConnection> {
    const startedAt = performance.now();
    const { clientVersion, onToolsChanged, onDeaf } = options;
    try {
      if (shutdown.signal.aborted) throw new McpError('closed', { kind: 'unavailable' });
      const opened = await openConnection({
        ...{ name, config, logger, clientVersion, onToolsChanged, onDeaf, signal: shutdown.signal },
        legacy: now() < legacyUntil,
        onLost: (error) => drop(opened, error),
      });
      if (opened.era === 'legacy') legacyUntil = now() + LEGACY_KNOWN_MS;
      connection = opened;
      metrics?.observe('mcp_connect', performance.now() - startedAt, { server: name });
      rest();
      return opened;
    } catch (thrown) {
      const error = toMcpError(thrown, { name, config });
      failed(error);
      options.onRefused();
      throw error;
    }
  }

  function drop(broken: McpConnection, error: McpError): void {
    if (connection !== broken) return;
    connection = undefined;
    failed(error);
    end(broken);
  }

  function failed(error: McpError): void {
    if (shutdown.signal.aborted) return;
    circuit.failed();
    problem = error;
    metrics?.count('mcp_failures', { server: name, kind: error.kind });
    const fields = { server: name, kind: error.kind, problem: error.message, output: error.output };
    logger.error({ ...fields, failures: circuit.failures, retryInMs: circuit.waitMs() }, 'MCP server failed');
  }

  function end(ended: McpConnection): void {
    const done = ended
      .close()
      .catch((error: unknown) => {
        const { message } = toMcpError(toError(error), { name, config });
        logger.warn({ server: name, problem: message }, 'MCP server did not close cleanly');
      })
      .finally(() => closing.delete(done));
    closing.add(done);
  }

  /** Begins the time after which an unused connection is closed. */
  function rest(): void {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => {
      if (holders > 0 || !connection) return;
      const idle = connection;
      connection = undefined;
      logger.debug({ server: name }, 'MCP server idle, connection closed');
      end(idle);
    }, options.idleCloseMs).unref();
  }

  return {
    get state() {
      return opening ? 'opening' : connection ? 'open' : 'none';
    },
    get failures() {
      return circuit.failures;
    },
    get circuitOpen() {
      return circuit.open;
    },
    get problem() {
      return problem;
    },
    closed: shutdown.signal,
    waitMs: circuit.waitMs,
    drop,
    open() {
      if (connection) return Promise.resolve(connection);
      opening ??= connect().finally(() => {
        opening = undefined;
      });
      return opening;
    },
    hold() {
      holders += 1;
      return () => {
        holders -= 1;
        rest();
      };
    },
    worked() {
      circuit.worked();
      problem = undefined;
    },
    async close() {
      shutdown.abort();
      clearTimeout(idleTimer);
      await Promise.allSettled([opening]);
      if (connection) end(connection);
      connection = undefined;
      await Promise.all(closing);
    },
  };
}
