import { AbortedError, toError } from '../../errors.js';
import type { Logger } from '../../ports/logger.js';
import type { Metrics } from '../../ports/metrics.js';
import type { Tool } from '../tool.js';
import { createMcpServer, type McpServer, type ServerState } from './server.js';
import type { McpServerConfig, UsableServerConfig } from './server-config.js';
import { serverTool } from './server-tool.js';

const IDLE_CLOSE_MS = 300_000;

/** Why a run goes on without a server; `detail` is safe to show. */
export interface SkippedServer {
  readonly server: string;
  readonly reason: 'unknown' | 'disabled' | 'unsupported' | 'failed';
  readonly detail: string;
}

export interface McpServerStatus {
  readonly server: string;
  /** `open`: failed five times in a row and is tried once a minute, beside the runs. */
  readonly state: ServerState;
  readonly tools: number;
  readonly detail?: string | undefined;
}

/** The MCP servers of this process. */
export interface McpServers {
  /**
   * The tools of these servers, connecting where needed. A server that cannot be used is skipped and never an error;
   * the longest wait is `connectTimeoutMs` + `listTimeoutMs`, less for one that failed before, none while its circuit
   * is open. Throws AbortedError.
   */
  tools(
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly tools: readonly Tool[]; readonly skipped: readonly SkippedServer[] }>;
  status(): readonly McpServerStatus[];
  /** Ends all connections and server processes, also those being started. */
  close(): Promise<void>;
}

export interface McpServersOptions {
  readonly servers: Readonly<Record<string, McpServerConfig>>;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  /** Milliseconds since the epoch, for pauses after failures and the age of lists. */
  readonly now?: () => number;
  /** A connection unused for so long is closed; 5 minutes. */
  readonly idleCloseMs?: number;
  /** Told to the servers. */
  readonly version?: string;
}

/** Nothing is started or loaded before a server is asked for. */
export function createMcpServers(options: McpServersOptions): McpServers {
  const { logger, metrics, now = Date.now, idleCloseMs = IDLE_CLOSE_MS, version: clientVersion = '0' } = options;
  const configured = new Map(Object.entries(options.servers));
  const servers = [...configured.keys()];
  const usable = new Map<string, McpServer>();
  for (const [name, config] of configured) {
    if (!config.enabled || !isUsable(config)) continue;
    usable.set(name, createMcpServer({ name, config, servers, clientVersion, logger, metrics, now, idleCloseMs }));
  }
  const warned = new Set<string>();

  function unusable(server: string): SkippedServer {
    const config = configured.get(server);
    const skipped: SkippedServer = !config
      ? { server, reason: 'unknown', detail: 'it is not in the configuration' }
      : !config.enabled
        ? { server, reason: 'disabled', detail: 'it is disabled in the configuration' }
        : { server, reason: 'unsupported', detail: `its transport ${config.transport} is not supported` };
    if (!warned.has(server)) logger.warn(skipped, 'MCP server skipped');
    // Names come from people too (/mcp): what is remembered of unknown ones is bounded.
    if (warned.size < 1_000) warned.add(server);
    return skipped;
  }

  async function load(name: string, signal: AbortSignal): Promise<readonly Tool[] | SkippedServer> {
    const server = usable.get(name);
    if (!server) return unusable(name);
    try {
      const listed = await server.tools(signal);
      return listed.map((tool) => serverTool(tool, server));
    } catch (error) {
      if (error instanceof AbortedError) throw error;
      return { server: name, reason: 'failed', detail: toError(error).message };
    }
  }

  return {
    async tools(names, signal) {
      const loaded = await Promise.all([...new Set(names)].map((name) => load(name, signal)));
      return {
        tools: loaded.flatMap((one) => ('reason' in one ? [] : one)),
        skipped: loaded.flatMap((one) => ('reason' in one ? [one] : [])),
      };
    },
    status: () =>
      servers.map((server) => {
        const status = usable.get(server)?.status();
        if (status) return { server, ...status };
        const config = configured.get(server);
        if (!config?.enabled) return { server, state: 'idle', tools: 0, detail: 'disabled' };
        return { server, state: 'failed', tools: 0, detail: `transport ${config.transport} is not supported` };
      }),
    async close() {
      await Promise.all([...usable.values()].map((server) => server.close()));
    },
  };
}

function isUsable(config: McpServerConfig): config is UsableServerConfig {
  return config.transport === 'stdio' || config.transport === 'http';
}
