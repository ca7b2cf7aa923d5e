import { randomUUID } from 'node:crypto';
import type { AdapterHealth, GatewayPorts } from '../../core/chat/adapter.js';
import { PlatformError, ThreadloopError, toError } from '../../core/errors.js';
import type { Logger } from '../../core/ports/logger.js';
import { createAccess } from './access.js';
import type { TelegramApi } from './api.js';
import { createBackground } from './background.js';
import { registerCommands } from './commands.js';
import { botIdOf, type TelegramConfig } from './config.js';
import { pause, whileHolding } from './lease.js';
import { type PersistOptions, persist, STORE_HINT } from './persistence.js';
import { ALLOWED_UPDATES, confirm, poll } from './polling.js';
import { createReceiver, type Receiver } from './receiver.js';
import type { Threads } from './threads.js';
import { createWebhookRoute, type WebhookRoute } from './webhook.js';

/** Rhythms of the listening side. The defaults suit Telegram; tests use shorter ones. */
export interface TelegramTiming {
  readonly pollSeconds: number;
  readonly conflictSeconds: number;
  readonly leaseTtlMs: number;
  readonly leaseRenewMs: number;
  readonly backoffMs: PersistOptions['backoffMs'];
  /** `start()` waits at most this long for the first connection. */
  readonly startMs: number;
}

export const TIMING = {
  pollSeconds: 25,
  conflictSeconds: 5,
  leaseTtlMs: 10_000,
  leaseRenewMs: 3_000,
  backoffMs: { least: 500, most: 30_000 },
  startMs: 5_000,
} as const satisfies TelegramTiming;

const DRAIN_MS = 2_000;

export interface ListenerOptions {
  readonly config: TelegramConfig;
  readonly api: TelegramApi;
  readonly threads: Threads;
  readonly logger: Logger;
  readonly timing: TelegramTiming;
  /** Address of this gateway's HTTP server, for setWebhook. */
  readonly publicUrl: string | undefined;
}

/** The part of the adapter that hears: polling under a lease, or a webhook. */
export interface Listener {
  start(ports: GatewayPorts): Promise<void>;
  stop(): Promise<void>;
  health(): AdapterHealth;
  readonly webhook: WebhookRoute | undefined;
}

export function createListener({ config, api, threads, logger, timing, publicUrl }: ListenerOptions): Listener {
  const { webhookSecret: secret } = config;
  const stopping = new AbortController();
  const background = createBackground({ logger, concurrency: 8, limit: 1_000 });
  let health: AdapterHealth = { ready: false, reason: 'not started' };
  let running: Promise<void> = Promise.resolve();
  let receiver: Receiver | undefined;
  let firstNews = (): void => {};

  const webhook =
    config.mode === 'webhook' && secret !== undefined
      ? createWebhookRoute({ account: config.account, secret, receiver: () => receiver, logger })
      : undefined;

  function onHealth(next: AdapterHealth): void {
    health = next;
    firstNews();
  }
  const persistOptions = { onHealth, logger, backoffMs: timing.backoffMs };

  /** Learns the bot's name: without it no mention can be told. */
  async function identify(ports: GatewayPorts, signal: AbortSignal): Promise<Receiver> {
    const me = await api.call((raw, grammySignal) => raw.getMe(grammySignal), { signal });
    const bot = { id: me.id, username: me.username };
    const context = { bot, account: config.account, access: createAccess(config.access) };
    logger.info({ bot: me.username, account: config.account }, 'telegram: connected');
    if (config.access.users.length === 0) {
      logger.warn(
        { account: config.account },
        'telegram: nobody may use this bot yet; fill adapters.telegram.access.users',
      );
    }
    return createReceiver({ context, ports, api, threads, background, logger });
  }

  function listenByPolling(ports: GatewayPorts): Promise<void> {
    const prepare = async (signal: AbortSignal): Promise<Receiver> => {
      const receive = await identify(ports, signal);
      await api.call((raw, grammySignal) => raw.deleteWebhook({}, grammySignal), { signal });
      background.run('the command menu', () => registerCommands(api));
      return receive;
    };
    const lease = {
      leases: ports.leases,
      name: `telegram:${botIdOf(config)}`,
      owner: randomUUID(),
      ttlMs: timing.leaseTtlMs,
      renewMs: timing.leaseRenewMs,
      logger,
      onStandby: () => onHealth({ ready: true, reason: 'standing by: another gateway polls this bot' }),
      onUnknown: (error: unknown) =>
        onHealth({
          ready: false,
          reason: `the lease cannot be asked for: ${toError(error).message}`,
          hint: STORE_HINT,
        }),
    };
    return whileHolding(lease, stopping.signal, async (signal) => {
      const { pollSeconds, conflictSeconds } = timing;
      const offset = await poll({ ...persistOptions, api, prepare, pollSeconds, conflictSeconds }, signal);
      // Not after a lost lease: the poll would get in the way of the new holder's.
      if (stopping.signal.aborted) await confirm(api, offset);
    });
  }

  function listenByWebhook(route: WebhookRoute, ports: GatewayPorts): Promise<void> {
    return persist(persistOptions, stopping.signal, async () => {
      const receive = await identify(ports, stopping.signal);
      if (publicUrl !== undefined) await setWebhook(new URL(route.path, publicUrl).href, stopping.signal);
      background.run('the command menu', () => registerCommands(api));
      receiver = receive;
      return 'done';
    });
  }

  async function setWebhook(url: string, signal: AbortSignal): Promise<void> {
    const payload = {
      url,
      allowed_updates: [...ALLOWED_UPDATES],
      ...(secret !== undefined && { secret_token: secret }),
    };
    await api.call((raw, grammySignal) => raw.setWebhook(payload, grammySignal), { signal });
  }

  /** The listening side is over for good; the process goes on, and what it says here stays in /readyz. */
  function ended(error: unknown): void {
    const isToken = error instanceof PlatformError && error.kind === 'unauthorized';
    const reason = isToken ? 'Telegram does not know this bot token (401)' : toError(error).message;
    const hint = error instanceof ThreadloopError ? error.hint : undefined;
    onHealth({ ready: false, reason, hint });
    logger.error({ err: toError(error), hint, account: config.account }, `telegram: stopped listening: ${reason}`);
  }

  return {
    webhook,
    health: () => health,
    async start(ports) {
      health = { ready: false, reason: 'connecting to Telegram' };
      const news = new Promise<void>((resolve) => {
        firstNews = resolve;
      });
      running = (webhook ? listenByWebhook(webhook, ports) : listenByPolling(ports)).catch(ended);
      const waiting = new AbortController();
      await Promise.race([news, running, pause(timing.startMs, waiting.signal)]);
      waiting.abort();
    },
    async stop() {
      stopping.abort();
      receiver = undefined;
      await running;
      await background.drain(DRAIN_MS);
      health = { ready: false, reason: 'stopped' };
    },
  };
}
