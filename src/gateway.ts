import { randomUUID } from 'node:crypto';
import { platforms } from './adapters/index.js';
import type { WebhookRoute } from './adapters/telegram/webhook.js';
import { createAgents } from './agents.js';
import { agentFor, type Config } from './config.js';
import type { Adapter } from './core/chat/adapter.js';
import { createTexts } from './core/chat/texts/index.js';
import { toError } from './core/errors.js';
import type { Logger } from './core/ports/logger.js';
import { type HttpServer, type Readiness, startHttpServer, type Webhook } from './http.js';
import { type Deployment, openDeployment } from './jobs/deployment.js';
import { createInbox } from './jobs/inbox.js';
import { createRunProcessor } from './jobs/run-processor.js';
import { startSweeper } from './jobs/sweeper.js';
import { createTelemetry } from './telemetry.js';

export type Role = 'all' | 'gateway' | 'worker';

export interface GatewayOptions {
  readonly config: Config;
  readonly role: Role;
  readonly logger: Logger;
  /** Gets one line for a person when something takes long. */
  readonly onProgress: (line: string) => void;
}

export interface Gateway {
  /** Where the HTTP server listens. */
  readonly url: string;
  /** Stops listening, lets runs finish within `worker.shutdownSeconds`, then hands them over. */
  close(): Promise<void>;
}

interface Platforms {
  readonly all: readonly Adapter[];
  readonly webhooks: readonly Webhook[];
}

/**
 * The composition root: opens the store, makes adapters and agents, and starts what the role asks for. A `gateway`
 * listens to platforms and stores what comes; a `worker` runs the loop and only calls platforms; `all` does both.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, role, logger } = options;
  const deployment = await openDeployment({ ...config.store, logger, onProgress: options.onProgress });
  const closers: (() => Promise<void>)[] = [() => deployment.close()];
  try {
    const parts = await startParts(options, deployment, closers);
    logger.info({ role, store: deployment.kind, url: parts.url }, 'ready');
    return { url: parts.url, close: () => closeAll(closers, logger) };
  } catch (thrown) {
    await closeAll(closers, logger);
    throw thrown;
  }
}

async function startParts(
  { config, role, logger }: GatewayOptions,
  deployment: Deployment,
  closers: (() => Promise<void>)[],
): Promise<{ url: string }> {
  const { store, addRun, relay } = deployment;
  const telemetry = createTelemetry();
  const { metrics } = telemetry;
  const texts = createTexts(config.locale);
  const { all: adapters, webhooks } = await createPlatforms(config, deployment, logger);
  const inbox = createInbox({ conversations: store.conversations, addRun, relay, logger, metrics });
  const owner = randomUUID();

  if (role !== 'gateway') {
    const agents = createAgents(config);
    const byAccount = new Map(adapters.map((adapter) => [`${adapter.platform}:${adapter.account}`, adapter]));
    const worker = await deployment.startRunWorker({
      concurrency: config.worker.concurrency,
      logger,
      process: createRunProcessor({
        store,
        adapter: (platform, account) => byAccount.get(`${platform}:${account}`),
        route: (place) => agentFor(config, place).name,
        agent: (name) => agents.get(name),
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
    metricsText: telemetry.metricsText,
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
    reasons.push({ part: `store (${kind})`, reason: toError(thrown).message });
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

/** Newest first: entrances close before the worker, the worker before the store. */
async function closeAll(closers: (() => Promise<void>)[], logger: Logger): Promise<void> {
  for (let close = closers.pop(); close; close = closers.pop()) {
    await close().catch((error: unknown) => logger.error({ err: toError(error) }, 'a part did not stop in order'));
  }
}
