import { createHash, timingSafeEqual } from 'node:crypto';
import type { Update } from 'grammy/types';
import { toError } from '../../core/errors.js';
import type { Logger } from '../../core/ports/logger.js';
import type { Receiver } from './receiver.js';

const SECRET_HEADER = 'x-telegram-bot-api-secret-token';
const MAX_BODY_BYTES = 1024 * 1024;

/** A request as any HTTP server can give it; header names in lower case. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** A path Telegram calls and what to do there; the HTTP server mounts it. */
export interface WebhookRoute {
  readonly path: string;
  handle(request: WebhookRequest): Promise<{ readonly status: number }>;
}

export interface WebhookOptions {
  readonly account: string;
  readonly secret: string;
  /** Undefined until the adapter is ready. */
  readonly receiver: () => Receiver | undefined;
  readonly logger: Logger;
}

/**
 * Answers 200 only when the update is durable; anything else makes Telegram send it again. Telegram keeps the order
 * within a chat: it sends the next update of a chat after the 200 for the one before.
 */
export function createWebhookRoute({ account, secret, receiver, logger }: WebhookOptions): WebhookRoute {
  return {
    path: account === 'default' ? '/telegram/webhook' : `/telegram/webhook/${account}`,
    async handle({ headers, body }) {
      const given = headers[SECRET_HEADER];
      if (typeof given !== 'string' || !isEqual(given, secret)) return { status: 401 };
      if (Buffer.byteLength(body) > MAX_BODY_BYTES) return { status: 413 };
      const update = parseUpdate(body);
      if (!update) return { status: 400 };
      const receive = receiver();
      if (!receive) return { status: 503 };
      try {
        await receive(update);
        return { status: 200 };
      } catch (error) {
        logger.error({ err: toError(error), updateId: update.update_id }, 'telegram: update could not be stored');
        return { status: 503 };
      }
    },
  };
}

/** In constant time, also for different lengths. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

function parseUpdate(body: string): Update | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const isUpdate = typeof value === 'object' && value !== null && 'update_id' in value;
    return isUpdate && Number.isInteger(value.update_id) ? (value as Update) : undefined;
  } catch {
    return undefined;
  }
}
