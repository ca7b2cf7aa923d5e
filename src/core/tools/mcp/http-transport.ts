import type { JSONRPCMessage, RequestId, Transport, TransportSendOptions } from '@modelcontextprotocol/client';
import type { HttpServerConfig } from './server-config.js';

type Sdk = typeof import('@modelcontextprotocol/client');

/** Longest answer, or event of a stream, as the SDK allows it on stdio. */
const LARGEST_BODY = 10 * 1024 * 1024;

/** `data` of the error answer a call gets when the stream that should have brought its answer ended. */
export const ANSWER_LOST = 'threadloop: the answer was lost';

/**
 * Streamable HTTP with what the SDK's transport leaves open: a call whose stream ends without its answer fails at
 * once instead of at its time limit, a cancelled call's stream is closed, and bodies are bounded. Redirects are
 * followed within the origin only (the SDK's default), so that headers stay with the configured host.
 */
export function createHttpTransport(sdk: Sdk, { url, headers }: HttpServerConfig): Transport {
  const transport: Transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: boundedFetch,
  });
  const waiting = new Map<RequestId, AbortController>();
  const send = transport.send.bind(transport);
  // The client keeps a handler it finds and calls it first.
  transport.onmessage = (message) => {
    if ('id' in message && message.id !== undefined && !('method' in message)) waiting.delete(message.id);
  };
  transport.send = async (message, options) => {
    if (sdk.isJSONRPCRequest(message)) {
      await sendRequest(message, options);
      return;
    }
    await send(message, options);
    const cancelled = cancelledRequest(message);
    if (cancelled === undefined) return;
    waiting.get(cancelled)?.abort();
    waiting.delete(cancelled);
  };

  async function sendRequest(message: JSONRPCMessage & { id: RequestId }, options: TransportSendOptions = {}) {
    const { id } = message;
    const own = new AbortController();
    const requestSignal = options.requestSignal ? AbortSignal.any([options.requestSignal, own.signal]) : own.signal;
    waiting.set(id, own);
    const onRequestStreamEnd = () => {
      options.onRequestStreamEnd?.();
      if (!waiting.delete(id) || options.onRequestStreamEnd) return;
      transport.onmessage?.({
        jsonrpc: '2.0',
        id,
        error: { code: -32_000, message: 'connection lost', data: ANSWER_LOST },
      });
    };
    try {
      await send(message, { ...options, requestSignal, onRequestStreamEnd });
    } catch (error) {
      waiting.delete(id);
      throw error;
    }
  }

  return transport;
}

function cancelledRequest(message: JSONRPCMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  const id = message.params?.requestId;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.body) return response;
  const events = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  let size = 0;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.length;
        if (size > LARGEST_BODY) controller.error(new Error(`the answer is larger than ${LARGEST_BODY} bytes`));
        else controller.enqueue(chunk);
        if (events && endsEvent(chunk)) size = 0;
      },
    }),
  );
  return new Response(bounded, response);
}

/** A blank line ends an event; what follows it in the same chunk is not worth counting. */
function endsEvent(chunk: Uint8Array): boolean {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).includes('\n\n');
}
