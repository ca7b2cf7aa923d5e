import { AsyncLocalStorage } from 'node:async_hooks';
import type {
  CallToolResult,
  Client,
  ElicitResult,
  InputRequiredResult,
  Progress,
  Tool as SdkTool,
  Transport,
} from '@modelcontextprotocol/client';
import type { Logger } from '../../ports/logger.js';
import { McpError, toMcpError } from './failure.js';
import { createHttpTransport } from './http-transport.js';
import { createProcessTransport } from './process-transport.js';
import type { UsableServerConfig } from './server-config.js';

export type { CallToolResult, ElicitResult, InputRequiredResult, SdkTool };

type Sdk = typeof import('@modelcontextprotocol/client');

/** Longest wait of the SDK's own timers: the limits of a call are ours ({@link createCallClock}). */
const NEVER_MS = 2 ** 31 - 1;
const GOODBYE_MS = 1_000;
const MOST_PAGES = 16;

/** The person behind a call, for a server that asks while the call stays open. */
export interface CallScope {
  elicit(params: unknown, signal: AbortSignal): Promise<ElicitResult>;
}

export interface RemoteCall {
  /** The definition as the server listed it, without its output schema. */
  readonly tool: SdkTool;
  readonly arguments: Record<string, unknown>;
  /** Continues a call that asked for input: what the server gave, as it gave it, and the answers. */
  readonly continuation?: { readonly requestState?: string | undefined; readonly inputResponses?: object } | undefined;
  readonly scope: CallScope;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/** An open connection to a server. */
export interface McpConnection {
  readonly era: 'modern' | 'legacy';
  /** Throws {@link McpError}. */
  list(signal: AbortSignal): Promise<readonly SdkTool[]>;
  /** Throws {@link McpError}, also when the signal ends the call. */
  call(call: RemoteCall): Promise<CallToolResult | InputRequiredResult>;
  /** Ends the session and the server's processes. */
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly name: string;
  readonly config: UsableServerConfig;
  readonly clientVersion: string;
  /** The server is known to speak the older protocol: it is not asked again. */
  readonly legacy: boolean;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly onToolsChanged: () => void;
  /** Changes of the tools are no longer heard of until the next {@link McpConnection.list}. */
  readonly onDeaf: () => void;
  /** The connection ended without {@link McpConnection.close}. */
  readonly onLost: (error: McpError) => void;
}

/** Starts or reaches a server within its `connectTimeoutMs`. Throws {@link McpError}; then nothing is left running. */
export async function openConnection(options: ConnectionOptions): Promise<McpConnection> {
  const timeout = AbortSignal.timeout(options.config.connectTimeoutMs);
  const signal = AbortSignal.any([options.signal, timeout]);
  try {
    return await connect(options, signal, options.legacy);
  } catch (error) {
    if (!timeout.aborted || options.signal.aborted) throw error;
    const seconds = options.config.connectTimeoutMs / 1_000;
    throw new McpError(`it was not ready within ${seconds} s`, { kind: 'timeout', cause: error });
  }
}

async function connect(options: ConnectionOptions, signal: AbortSignal, legacy: boolean): Promise<McpConnection> {
  const sdk = await import('@modelcontextprotocol/client');
  const { name, config } = options;
  const link = await createLink(sdk, config);
  const failure = (error: unknown) => toMcpError(error, { name, config, stderr: link.stderr() });
  const client = createClient(sdk, options, legacy);
  // Answers and progress that come too late, and lines on a program's output that are no messages.
  client.onerror = (error) =>
    options.logger.debug({ server: name, problem: failure(error).message }, 'MCP message ignored');
  const calls = createCallScopes(options);
  client.setRequestHandler('elicitation/create', (request, context) =>
    calls.elicit(request.params, context.mcpReq.signal),
  );
  client.setNotificationHandler('notifications/tools/list_changed', () => options.onToolsChanged());

  let open = false;
  const lost = () => {
    if (!open) return;
    open = false;
    options.onLost(failure(new sdk.SdkError(sdk.SdkErrorCode.ConnectionClosed, 'Connection closed')));
  };
  client.onclose = lost;
  const giveUp = () => void link.transport.close();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    signal.throwIfAborted();
    await client.connect(link.transport, { timeout: config.connectTimeoutMs });
    signal.throwIfAborted();
    open = true;
  } catch (error) {
    await link.transport.close();
    // Some programs end at the first word they do not know: asked again in the older protocol only.
    if (link.ended() && !legacy && !signal.aborted && isNegotiationFailure(error))
      return connect(options, signal, true);
    throw failure(error);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
  const era = client.getProtocolEra() ?? 'legacy';
  const follow = createFollower(client, () => open && options.onDeaf());
  return {
    era,
    async list(listSignal) {
      if (!client.getServerCapabilities()?.tools) return [];
      if (era === 'modern') follow();
      try {
        const request = { signal: listSignal, timeout: NEVER_MS, cacheMode: 'refresh' as const };
        return (await client.listTools(undefined, request)).tools;
      } catch (error) {
        throw failure(error);
      }
    },
    async call(call) {
      try {
        return await calls.run(call.scope, () => callTool(client, call));
      } catch (error) {
        throw failure(error);
      }
    },
    async close() {
      open = false;
      await goodbye(link.transport);
      await client.close();
      await link.transport.close();
    },
  };
}

function createClient(sdk: Sdk, { config, clientVersion }: ConnectionOptions, legacy: boolean): Client {
  // A program that is silent about its protocol gets the rest of the time for the older greeting.
  const timeoutMs = config.transport === 'stdio' ? Math.ceil((config.connectTimeoutMs * 2) / 3) : NEVER_MS;
  return new sdk.Client(
    { name: 'threadloop', version: clientVersion },
    {
      capabilities: { elicitation: { form: {}, url: {} } },
      versionNegotiation: { mode: legacy ? 'legacy' : 'auto', probe: { timeoutMs } },
      inputRequired: { autoFulfill: false },
      listMaxPages: MOST_PAGES,
    },
  );
}

function callTool(client: Client, call: RemoteCall): Promise<CallToolResult | InputRequiredResult> {
  const params = { name: call.tool.name, arguments: call.arguments, ...call.continuation };
  return client.callTool(params, {
    signal: call.signal,
    timeout: NEVER_MS,
    onprogress: call.onProgress,
    allowInputRequired: true,
    // Without an output schema: models read a result that breaks it as well as one that keeps it.
    toolDefinition: call.tool,
  });
}

/** In the newer protocol a server tells of changes only on a stream that was asked for. */
function createFollower(client: Client, onDeaf: () => void): () => void {
  let following = false;
  const follow = async () => {
    try {
      const subscription = await client.listen({ toolsListChanged: true });
      if ((await subscription.closed) !== 'local') onDeaf();
    } catch {
      onDeaf();
    } finally {
      following = false;
    }
  };
  return () => {
    if (following || !client.getServerCapabilities()?.tools?.listChanged) return;
    following = true;
    void follow();
  };
}

interface Link {
  readonly transport: Transport;
  readonly stderr: () => string | undefined;
  /** The program has ended. */
  readonly ended: () => boolean;
}

async function createLink(sdk: Sdk, config: UsableServerConfig): Promise<Link> {
  if (config.transport === 'http') {
    return { transport: createHttpTransport(sdk, config), stderr: () => undefined, ended: () => false };
  }
  const stdio = await import('@modelcontextprotocol/client/stdio');
  const env = { ...stdio.getDefaultEnvironment(), ...config.env };
  if (process.platform === 'win32') {
    // Windows has no process groups, but command scripts that only the SDK knows how to start.
    const { command, args, cwd } = config;
    const parameters = { command, args, env, stderr: 'ignore' as const, ...(cwd !== undefined && { cwd }) };
    return { transport: new stdio.StdioClientTransport(parameters), stderr: () => undefined, ended: () => false };
  }
  const transport = createProcessTransport(sdk, config, env);
  return { transport, stderr: () => transport.stderr, ended: () => transport.ended };
}

interface CallScopes {
  run<T>(scope: CallScope, call: () => Promise<T>): Promise<T>;
  elicit(params: unknown, signal: AbortSignal): Promise<ElicitResult>;
}

/**
 * Finds the call a question of the older protocol belongs to: over HTTP it arrives in the answer stream of that call,
 * on stdio nothing tells, so it is the only one that runs. When several run nobody is asked: the question of one
 * person's call must not appear before another.
 */
function createCallScopes({ name, logger }: ConnectionOptions): CallScopes {
  const current = new AsyncLocalStorage<CallScope>();
  const running = new Set<CallScope>();
  return {
    async run(scope, call) {
      running.add(scope);
      try {
        return await current.run(scope, call);
      } finally {
        running.delete(scope);
      }
    },
    async elicit(params, signal) {
      const [only, ...others] = running;
      const scope = current.getStore() ?? (others.length === 0 ? only : undefined);
      if (scope) return scope.elicit(params, signal);
      logger.warn({ server: name, calls: running.size }, 'MCP server asked a question that belongs to no single call');
      return { action: 'cancel' };
    },
  };
}

function isNegotiationFailure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERA_NEGOTIATION_FAILED';
}

/** Tells an HTTP server that the session is over; a server that does not listen is not waited for. */
async function goodbye(transport: Transport): Promise<void> {
  if (!('terminateSession' in transport) || typeof transport.terminateSession !== 'function') return;
  const ended = Promise.resolve(transport.terminateSession()).catch(() => undefined);
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, GOODBYE_MS).unref())]);
}
