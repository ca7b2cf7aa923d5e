import type { Adapter, MessageBody, Rendered } from '../../../src/core/chat/adapter.js';
import { PlatformError } from '../../../src/core/errors.js';
import type { PlatformMode } from './server.js';

export interface PlatformAdapterOptions {
  readonly url: string;
  readonly mode: PlatformMode;
  readonly editIntervalMs?: number;
  readonly pageLength?: number;
  /** Marks put on people's messages, in order. */
  readonly marks?: { messageId: string; mark: string }[];
}

/** An adapter for the fake platform of server.ts; its payload is plain text with state and footer visible. */
export function createPlatformAdapter(options: PlatformAdapterOptions): Adapter<string> {
  const { url, mode } = options;
  const page = options.pageLength ?? 2_000;

  async function call<T>(operation: string, body: object): Promise<T & { gone?: boolean }> {
    let response: Response;
    try {
      response = await fetch(`${url}/${operation}`, {
        method: 'POST',
        body: JSON.stringify({ ...body, mode }),
        signal: AbortSignal.timeout(10_000),
      });
    } catch (cause) {
      throw new PlatformError(`${operation} got no answer`, { kind: 'temporary', outcomeUnknown: true, cause });
    }
    const answer = (await response.json()) as T & { gone?: boolean; retryAfterMs?: number };
    if (response.status === 429) {
      throw new PlatformError('too many calls', { kind: 'rate_limited', retryAfterMs: answer.retryAfterMs });
    }
    return answer;
  }

  function render(body: MessageBody): Rendered<string> {
    const payload = [...(body.status ?? []), body.markdown, body.footer ?? ''].filter(Boolean).join('\n') || '…';
    return { payload, length: payload.length, digest: `${body.state}|${payload}` };
  }

  return {
    platform: 'fake',
    account: mode,
    limits: { text: page, page },
    render,
    editIntervalMs: () => options.editIntervalMs ?? 50,
    budgets: () => [],
    async post(place, rendered, { nonce }) {
      return (await call<{ id: string }>('post', { space: place.space, nonce, text: rendered.payload })).id;
    },
    async edit(_place, id, rendered) {
      const answer = await call('edit', { id, text: rendered.payload });
      if (answer.gone) throw new PlatformError('no such message', { kind: 'gone' });
    },
    async remove(_place, id) {
      await call('remove', { id });
    },
    ...(mode === 'blind'
      ? {}
      : {
          async find(_place, nonce: string) {
            return (await call<{ ids: string[] }>('find', { nonce })).ids;
          },
        }),
    async react(_place, messageId, mark) {
      options.marks?.push({ messageId, mark });
    },
    start: async () => undefined,
    stop: async () => undefined,
    health: () => ({ ready: true }),
  };
}
