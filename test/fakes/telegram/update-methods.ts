import { BotApiError, badRequest } from './bot-api-error.js';
import type { Payload } from './bot-methods.js';
import type { UpdateQueue } from './update-queue.js';
import type { WebhookSender } from './webhook-sender.js';

/** A method that may wait; the signal is aborted when the caller hangs up. */
export type SlowMethod = (payload: Payload, signal: AbortSignal) => unknown;

const WEBHOOK_ACTIVE =
  "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";

/** Long polling and webhooks, which exclude each other. */
export function createUpdateMethods(parts: {
  queue: UpdateQueue;
  webhooks: WebhookSender;
}): Record<string, SlowMethod> {
  const { queue, webhooks } = parts;
  return {
    getUpdates(payload, signal) {
      if (webhooks.current) throw new BotApiError(409, WEBHOOK_ACTIVE);
      queue.allow(payload.allowed_updates as string[] | undefined);
      return queue.poll({
        offset: Number(payload.offset ?? 0),
        limit: Math.min(Math.max(Number(payload.limit ?? 100), 1), 100),
        timeoutMs: Math.min(Number(payload.timeout ?? 0), 50) * 1000,
        signal,
      });
    },
    setWebhook(payload) {
      const url = String(payload.url ?? '');
      const secret = payload.secret_token === undefined ? undefined : String(payload.secret_token);
      if (secret !== undefined && !/^[A-Za-z0-9_-]{1,256}$/.test(secret)) {
        throw badRequest('secret token contains unallowed characters');
      }
      if (url !== '' && !URL.canParse(url)) throw badRequest('bad webhook: invalid URL specified');
      if (payload.drop_pending_updates === true) queue.clear();
      queue.allow(payload.allowed_updates as string[] | undefined);
      queue.abortPoll('Conflict: terminated by setWebhook request');
      const maxConnections = Number(payload.max_connections ?? 40);
      webhooks.set(url === '' ? undefined : { url, secret, maxConnections });
      return true;
    },
    deleteWebhook(payload) {
      webhooks.set(undefined);
      if (payload.drop_pending_updates === true) queue.clear();
      return true;
    },
    getWebhookInfo: () => ({
      url: webhooks.current?.url ?? '',
      has_custom_certificate: false,
      pending_update_count: queue.pending.length,
      ...(webhooks.current && { max_connections: webhooks.current.maxConnections }),
      ...(webhooks.lastError && { last_error_message: webhooks.lastError }),
    }),
  };
}
