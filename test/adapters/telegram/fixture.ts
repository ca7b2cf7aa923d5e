import { type TelegramConfig, telegramConfig } from '../../../src/adapters/telegram/config.js';
import {
  createTelegramAdapter,
  type TelegramAdapter,
  type TelegramDeps,
} from '../../../src/adapters/telegram/index.js';
import type { TelegramPayload } from '../../../src/adapters/telegram/render.js';
import type { GatewayPorts, Rendered } from '../../../src/core/chat/adapter.js';
import { createTexts } from '../../../src/core/chat/texts/index.js';
import {
  createMemoryInbox,
  createMemoryLeases,
  createMemoryLogger,
  createMemoryRecords,
  type MemoryInbox,
  type MemoryRecords,
} from '../../fakes/memory-ports.js';
import { startTelegramServer, type TelegramServer, type TelegramServerOptions } from '../../fakes/telegram-server.js';

/** Rhythms short enough for a test; the mechanisms are the same. */
const QUICK = { conflictSeconds: 1, leaseTtlMs: 10_000, leaseRenewMs: 60, backoffMs: { least: 20, most: 60 } };

export type Leases = ReturnType<typeof createMemoryLeases>;

/** A gateway's view of one bot: the fake Telegram, and ports that remember what they were given. */
export interface Fixture {
  readonly server: TelegramServer;
  readonly inbox: MemoryInbox;
  readonly records: MemoryRecords;
  readonly leases: Leases;
  readonly logger: ReturnType<typeof createMemoryLogger>;
  /** Another adapter on the same server; its ports are the fixture's unless given. Stopped by `close`. */
  adapter(options?: AdapterOptions): TelegramAdapter;
  ports(other?: Partial<GatewayPorts>): GatewayPorts;
  /** Makes an adapter and starts it. */
  start(options?: AdapterOptions): Promise<TelegramAdapter>;
  close(): Promise<void>;
}

export interface AdapterOptions {
  readonly config?: Partial<Record<keyof TelegramConfig, unknown>>;
  readonly deps?: Partial<TelegramDeps>;
  readonly ports?: Partial<GatewayPorts>;
}

export async function startFixture(options: TelegramServerOptions = {}): Promise<Fixture> {
  const server = await startTelegramServer({ conflictDelayMs: 40, ...options });
  const inbox = createMemoryInbox();
  const records = createMemoryRecords();
  const leases = createMemoryLeases();
  const logger = createMemoryLogger();
  const made: TelegramAdapter[] = [];

  const ports = (other: Partial<GatewayPorts> = {}): GatewayPorts => ({
    inbox,
    records,
    leases,
    logger,
    texts: createTexts('auto'),
    ...other,
  });
  function adapter({ config, deps }: AdapterOptions = {}): TelegramAdapter {
    const base = { botToken: server.token, apiRoot: server.apiRoot, access: { users: ['*'] } };
    const parsed = telegramConfig.parse({ ...base, ...config });
    const one = createTelegramAdapter(parsed, { logger, records, ...deps, timing: { ...QUICK, ...deps?.timing } });
    made.push(one);
    return one;
  }
  return {
    server,
    inbox,
    records,
    leases,
    logger,
    adapter,
    ports,
    async start(adapterOptions = {}) {
      const one = adapter(adapterOptions);
      await one.start(ports(adapterOptions.ports));
      return one;
    },
    async close() {
      await Promise.all(made.map((one) => one.stop()));
      await server.close();
    },
  };
}

export function rendered(text: string, more: Partial<TelegramPayload> = {}): Rendered<TelegramPayload> {
  return { payload: { text, entities: [], ...more }, length: text.length, digest: text };
}
