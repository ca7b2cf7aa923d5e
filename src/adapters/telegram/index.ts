import type { Adapter } from '../../core/chat/adapter.js';
import type { Logger } from '../../core/ports/logger.js';
import type { Records } from '../../core/ports/store.js';
import { createTelegramApi } from './api.js';
import { botIdOf, type TelegramConfig } from './config.js';
import { TELEGRAM_LIMITS } from './limits.js';
import { createListener, type TelegramTiming, TIMING } from './listener.js';
import { createOutbound } from './outbound.js';
import { renderTelegram, type TelegramPayload } from './render.js';
import { createThreads } from './threads.js';
import type { WebhookRoute } from './webhook.js';

export interface TelegramDeps {
  readonly logger: Logger;
  /** Also in a worker: a post records which conversation it belongs to, so that a reply to it can be told. */
  readonly records: Records;
  /** Address under which Telegram reaches this gateway; with it, mode webhook sets the webhook itself. */
  readonly publicUrl?: string | undefined;
  readonly timing?: Partial<TelegramTiming> | undefined;
}

export interface TelegramAdapter extends Adapter<TelegramPayload> {
  /** Mode webhook: what the HTTP server has to mount. */
  readonly webhook?: WebhookRoute | undefined;
}

/** One Telegram bot. Opens no connection before `start()` or the first outbound call. */
export function createTelegramAdapter(config: TelegramConfig, deps: TelegramDeps): TelegramAdapter {
  const { logger, records, publicUrl } = deps;
  const { account } = config;
  const api = createTelegramApi(config);
  const threads = createThreads(records, account);
  const timing = { ...TIMING, ...deps.timing };
  const listener = createListener({ config, api, threads, logger, timing, publicUrl });
  return {
    ...createOutbound({ api, botId: botIdOf(config), account, threads, logger }),
    platform: 'telegram',
    account,
    limits: TELEGRAM_LIMITS,
    render: renderTelegram,
    silentEdits: true,
    webhook: listener.webhook,
    start: listener.start,
    stop: listener.stop,
    health: listener.health,
  };
}
