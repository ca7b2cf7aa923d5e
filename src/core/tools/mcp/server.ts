import { setTimeout as sleep } from 'node:timers/promises';
import { AbortedError } from '../../errors.js';
import type { McpConnection } from './connection.js';
import { McpError, toMcpError } from './failure.js';
import type { UsableServerConfig } from './server-config.js';
import { createSharedConnection, type McpServerOptions } from './shared-connection.js';
import { type ListedTool, listTools } from './tool-list.js';

/** Several changes of a server's tools in a row are one. */
const CHANGE_SETTLES_MS = 200;
/** Older lists are read anew beside the run; servers need not tell of changes. */
const LIST_FRESH_MS = 600_000;
/** Lists older still are not used at all. */
const LIST_USABLE_MS = 3_600_000;
/** A server that did not answer last time is waited for so long only: a run goes on without it. */
const RETRY_PATIENCE_MS = 2_000;
/** A call waits out a pause between attempts up to so long, so that a model can use a restarted server at once. */
const CALL_PATIENCE_MS = 5_000;
/** A server that lets so many calls in a row time out is restarted. */
const TIMEOUTS_TO_RESTART = 3;

export type ServerState = 'idle' | 'connecting' | 'ready' | 'failed' | 'open';

/** A connection for one call. */
export interface Lease {
  readonly connection: McpConnection;
  /** Tells how the call went and gives the connection back. */
  release(error?: McpError): void;
}

/** One configured server: connected when needed, once for everybody. */
export interface McpServer {
  readonly name: string;
  readonly config: UsableServerConfig;
  /** Its tools, from memory where possible. Throws {@link McpError}, or AbortedError. */
  tools(signal: AbortSignal): Promise<readonly ListedTool[]>;
  /** Throws {@link McpError} when the server is not tried at the moment or cannot be reached, or AbortedError. */
  lease(signal: AbortSignal): Promise<Lease>;
  status(): { readonly state: ServerState; readonly tools: number; readonly detail?: string | undefined };
  /** Ends the connection, also one that is being opened. */
  close(): Promise<void>;
}

export function createMcpServer(options: McpServerOptions): McpServer {
  const { name, config, logger, now } = options;
  const shared = createSharedConnection({
    ...options,
    onToolsChanged,
    onDeaf: () => {
      changed = true;
    },
    onRefused: forget,
  });
  const warned = new Set<string>();
  let list: { readonly tools: readonly ListedTool[]; readonly at: number } | undefined;
  let listing: Promise<readonly ListedTool[]> | undefined;
  let changed = false;
  let changeTimer: NodeJS.Timeout | undefined;
  let timeouts = 0;

  function forget(): void {
    list = undefined;
  }

  function refresh(): Promise<readonly ListedTool[]> {
    const release = shared.hold();
    listing ??= readList().finally(() => {
      listing = undefined;
    });
    return listing.finally(release);
  }

  async function readList(): Promise<readonly ListedTool[]> {
    const connection = await shared.open();
    changed = false;
    try {
      const limit = AbortSignal.any([shared.closed, AbortSignal.timeout(config.listTimeoutMs)]);
      const remote = await connection.list(limit);
      const tools = listTools(remote, { server: name, config, servers: options.servers, onWarning: warnOnce });
      list = { tools, at: now() };
      shared.worked();
      return tools;
    } catch (thrown) {
      const error = toMcpError(thrown, { name, config });
      const late = error.kind === 'timeout' && { kind: error.kind, cause: error };
      const told = late ? new McpError('it did not list its tools in time', late) : error;
      shared.drop(connection, told);
      forget();
      throw told;
    }
  }

  function warnOnce(warning: string): void {
    if (warned.has(warning)) return;
    warned.add(warning);
    logger.warn({ server: name, warning }, 'MCP server tools');
  }

  function onToolsChanged(): void {
    changed = true;
    clearTimeout(changeTimer);
    changeTimer = setTimeout(inBackground, CHANGE_SETTLES_MS, refresh).unref();
  }

  /** Failures are counted and logged where they happen. */
  function inBackground(work: () => Promise<unknown>): void {
    if (!shared.closed.aborted) work().catch(() => undefined);
  }

  function unavailable(): McpError {
    const seconds = Math.ceil(shared.waitMs() / 1_000);
    const next = seconds > 0 ? `; next attempt in ${seconds} s` : '';
    return new McpError(`${shared.problem?.message ?? 'it failed before'}${next}`, { kind: 'unavailable' });
  }

  /** The list in memory; one that may be outdated is read anew beside the run. */
  function knownTools(): readonly ListedTool[] | undefined {
    const age = list && now() - list.at;
    if (!list || changed || age === undefined || age > LIST_USABLE_MS) return undefined;
    if ((shared.state !== 'open' || age > LIST_FRESH_MS) && shared.waitMs() === 0) inBackground(refresh);
    return list.tools;
  }

  return {
    name,
    config,
    async tools(signal) {
      if (shared.circuitOpen) {
        if (shared.waitMs() === 0) inBackground(refresh);
        throw unavailable();
      }
      const known = knownTools();
      if (known) {
        shared.hold()();
        return known;
      }
      if (shared.waitMs() > 0) throw unavailable();
      if (shared.problem?.kind !== 'timeout') return within(refresh(), signal);
      return within(refresh(), signal, RETRY_PATIENCE_MS, unavailable);
    },
    async lease(signal) {
      const wait = shared.waitMs();
      if (shared.circuitOpen && wait === 0) inBackground(shared.open);
      if (shared.circuitOpen || wait > CALL_PATIENCE_MS) throw unavailable();
      if (wait > 0) await within(sleep(wait, undefined, { ref: false }), signal);
      const connection = await within(shared.open(), signal);
      const end = shared.hold();
      return {
        connection,
        release(error) {
          end();
          options.metrics?.count('mcp_calls', { server: name, result: error?.kind ?? 'answered' });
          timeouts = error?.kind === 'timeout' ? timeouts + 1 : 0;
          if (!error) shared.worked();
          else if (error.kind !== 'refused' && (error.kind !== 'timeout' || timeouts >= TIMEOUTS_TO_RESTART)) {
            timeouts = 0;
            shared.drop(connection, error);
          }
        },
      };
    },
    status() {
      const tools = list?.tools.length ?? 0;
      if (!shared.circuitOpen && (listing || shared.state === 'opening')) return { state: 'connecting', tools };
      if (!shared.circuitOpen && shared.state === 'open') return { state: 'ready', tools };
      const { problem, failures } = shared;
      const detail = problem?.output ? `${problem.message}; it wrote: ${problem.output}` : problem?.message;
      const state = shared.circuitOpen ? 'open' : failures > 0 ? 'failed' : 'idle';
      return { state, tools, ...(detail !== undefined && { detail }) };
    },
    async close() {
      clearTimeout(changeTimer);
      await shared.close();
      await Promise.allSettled([listing]);
    },
  };
}

/** Waits for `work`, which goes on for others, until the signal or the time says otherwise. */
async function within<T>(work: Promise<T>, signal: AbortSignal, ms?: number, late?: () => Error): Promise<T> {
  work.catch(() => undefined);
  let stop = (): void => {};
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<never>((_, reject) => {
    stop = () => reject(new AbortedError('aborted while waiting for an MCP server', signal.reason));
    if (ms !== undefined && late) timer = setTimeout(() => reject(late()), ms);
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, ended]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}
