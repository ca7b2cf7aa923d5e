import type { Update } from 'grammy/types';
import type { UpdateQueue } from './update-queue.js';

export interface Webhook {
  readonly url: string;
  readonly secret: string | undefined;
  readonly maxConnections: number;
}

/** One delivery; `status` 0 means no answer. */
export interface WebhookDelivery {
  readonly update: Update;
  readonly at: number;
  readonly status: number;
}

export interface WebhookSender {
  set(webhook: Webhook | undefined): void;
  readonly current: Webhook | undefined;
  readonly deliveries: readonly WebhookDelivery[];
  readonly lastError: string | undefined;
  close(): Promise<void>;
}

export interface WebhookSenderOptions {
  readonly queue: UpdateQueue;
  /** First pause after a failed delivery; doubles up to sixteen times of it. */
  readonly retryMs: number;
  /** Executes a call that a webhook put into its answer. */
  readonly execute: (method: string, payload: Record<string, unknown>) => void;
  readonly onChange: () => void;
}

const ANSWER_TIMEOUT_MS = 10_000;

/** POSTs updates as Telegram does: in order within a chat, chats side by side, again and again until a 2xx. */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { queue, retryMs } = options;
  const deliveries: WebhookDelivery[] = [];
  const busy = new Set<number>();
  const ending = new AbortController();
  let webhook: Webhook | undefined;
  let lastError: string | undefined;

  function pump(): void {
    if (!webhook || ending.signal.aborted) return;
    for (const { update, lane } of queue.heads(busy)) {
      if (busy.size >= webhook.maxConnections) return;
      busy.add(lane);
      void deliver(update).finally(() => {
        busy.delete(lane);
        pump();
      });
    }
  }

  async function deliver(update: Update): Promise<void> {
    for (let pause = retryMs; webhook && !ending.signal.aborted; pause = Math.min(pause * 2, retryMs * 16)) {
      const status = await post(webhook, update);
      deliveries.push({ update, at: Date.now(), status });
      options.onChange();
      if (status >= 200 && status < 300) {
        queue.confirm(update.update_id);
        return;
      }
      lastError = status === 0 ? 'Connection failed' : `Wrong response from the webhook: ${status}`;
      await sleep(pause, ending.signal);
    }
  }

  async function post(target: Webhook, update: Update): Promise<number> {
    try {
      const response = await fetch(target.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(target.secret && { 'x-telegram-bot-api-secret-token': target.secret }),
        },
        body: JSON.stringify(update),
        signal: AbortSignal.any([ending.signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
      });
      const answer = await response.text();
      if (response.ok && answer.startsWith('{')) executeAnswer(answer);
      return response.status;
    } catch {
      return 0;
    }
  }

  function executeAnswer(answer: string): void {
    const { method, ...payload } = JSON.parse(answer) as Record<string, unknown>;
    if (typeof method === 'string') options.execute(method, payload);
  }

  queue.onPush(pump);
  return {
    set(next) {
      webhook = next;
      pump();
    },
    get current() {
      return webhook;
    },
    deliveries,
    get lastError() {
      return lastError;
    },
    async close() {
      ending.abort();
    },
  };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
