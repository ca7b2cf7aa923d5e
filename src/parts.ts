import { randomUUID } from 'node:crypto';
import { platforms } from './adapters/index.js';
import type { WebhookRoute } from './adapters/telegram/webhook.js';
import { createAgents } from './agents.js';
import { agentFor, type Config } from './config.js';
import type { Adapter } from './core/chat/adapter.js';
import { createTexts } from './core/chat/texts/index.js';
import { ThreadloopError, toError } from './core/errors.js';
import type { Logger } from './core/ports/logger.js';
import { createMcpServers } from './core/tools/mcp/mcp-servers.js';
import { type HttpServer, type Readiness, startHttpServer, type Webhook } from './http.js';
import type { Deployment } from './jobs/deployment.js';
import { createInbox } from './jobs/inbox.js';
import { createRunProcessor } from './jobs/run-processor.js';
import { startSweeper } from './jobs/sweeper.js';
import { packageVersion } from './package-version.js';
import { createTelemetry } from './telemetry.js';

export type Role = 'all' | 'gateway' | 'worker';

export interface PartsOptions {
  readonly config: Config;
  readonly role: Role;
  readonly logger: Logger;
  readonly deployment: Deployment;
  /** Gets a step for everything that was started, also when a later part fails; run them newest first. */
  readonly closers: (() => Promise<void>)[];
}

interface Platforms {
  readonly all: readonly Adapter[];
  readonly webhooks: readonly Webhook[];
}

/**
 * Makes adapters and agents on an open store and starts what the role asks for. A `gateway` listens to platforms and
 * stores what comes; a `worker` runs the loop and only calls platforms; `all` does both.
 *
 * @returns where the HTTP server listens.
 */
export async function startParts(options: PartsOptions): Promise<{ url: string }> {
  const { config, role, logger, deployment, closers } = options;
  const { store, addRun, relay } = deployment;
  const telemetry = createTelemetry();
  const { metrics } = telemetry;
  const texts = createTexts(config.locale);
  const { all: adapters, webhooks } = await createPlatforms(config, deployment, logger);
  const inbox = createInbox({ conversations: store.conversations, addRun, relay, logger, metrics });
  const owner = randomUUID();

  if (role !== 'gateway') {
    const { agents, models } = createAgents(config, logger);
    const mcp = createMcpServers({ servers: config.mcpServers, logger, metrics, version: packageVersion() });
    closers.push(() => mcp.close());
    const byAccount = new Map(adapters.map((adapter) => [`${adapter.platform}:${adapter.account}`, adapter]));
    const worker = await deployment.startRunWorker({
      concurrency: config.worker.concurrency,
      logger,
      process: createRunProcessor({
        store,
        adapter: (platform, account) => byAccount.get(`${platform}:${account}`),
        route: (place) => agentFor(config, place).name,
        agent: (name) => agents.get(name),
        model: (name) => models.get(name),
        names: { models: [...models.keys()], mcpServers: Object.keys(config.mcpServers) },
        mcp,
        ...{ texts, relay, addRun, logger, metrics },
      }),
    });
    closers.push(() => worker.close(config.worker.shutdownSeconds * 1_000));
    const sweeper = await startSweeper({ store, addRun, owner, logger });
    closers.push(() => sweeper.close());
  }
  if (role !== 'worker') {
    const ports = { inbox, records: store.records, leases: store.leases, logger, texts };
    for (const adapter of adapters) {
      await adapter.start(ports);
      closers.push(() => adapter.stop());
    }
  }
  const listening = role === 'worker' ? [] : adapters;
  const server = await startHttpServer({
    ...config.http,
    role,
    logger,
    readiness: () => readiness(deployment, listening),
    metrics: { text: telemetry.metricsText, contentType: telemetry.contentType },
    ...(role !== 'worker' && config.adapters.web.enabled ? { web: await webRoutes(deployment, inbox, logger) } : {}),
    webhooks: role === 'worker' ? [] : webhooks,
  });
  closers.push(() => server.close());
  return { url: urlOf(config, server) };
}

async function createPlatforms(config: Config, { store, relay }: Deployment, logger: Logger): Promise<Platforms> {
  const all: Adapter[] = [];
  const webhooks: Webhook[] = [];
  if (config.adapters.web.enabled) {
    const { createWebAdapter } = await platforms.web.load();
    all.push(createWebAdapter({ board: store.board, relay }));
  }
  for (const block of config.adapters.telegram) {
    const { createTelegramAdapter } = await platforms.telegram.load();
    const adapter = createTelegramAdapter(block, { logger, records: store.records, publicUrl: config.http.publicUrl });
    all.push(adapter);
    if (adapter.webhook) webhooks.push(mounted(adapter.webhook));
  }
  return { all, webhooks };
}

/** Adapters know no web framework: a webhook is plain headers and text to them. */
function mounted(route: WebhookRoute): Webhook {
  return {
    path: `/${route.path.replace(/^\//, '')}`,
    async handle(request) {
      const headers = Object.fromEntries(request.headers);
      const { status } = await route.handle({ headers, body: await request.text() });
      return new Response(null, { status });
    },
  };
}

async function webRoutes({ store, relay }: Deployment, inbox: ReturnType<typeof createInbox>, logger: Logger) {
  const { createWebRoutes } = await platforms.web.load();
  const { board, records, conversations } = store;
  return createWebRoutes({ board, records, conversations, relay, inbox, logger });
}

async function readiness({ store, kind }: Deployment, adapters: readonly Adapter[]): Promise<Readiness> {
  const reasons: Readiness['reasons'][number][] = [];
  try {
    await store.ping();
    // A store that answers but takes nothing more (full disk, memory limit) cannot keep what people send.
    await store.records.set('health', 'ready', String(Date.now()), 60_000);
  } catch (thrown) {
    const error = toError(thrown);
    const hint = error instanceof ThreadloopError ? error.hint : undefined;
    reasons.push({ part: `store (${kind})`, reason: error.message, hint });
  }
  for (const adapter of adapters) {
    const { ready, reason, hint } = adapter.health();
    if (!ready) reasons.push({ part: `${adapter.platform}:${adapter.account}`, reason: reason ?? 'not ready', hint });
  }
  return { ready: reasons.length === 0, reasons };
}

function urlOf({ http }: Config, server: HttpServer): string {
  const host = http.host.includes(':') ? `[${http.host}]` : http.host;
  return `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${server.port}`;
}
