import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { webConversation } from '../../src/adapters/web/inbound.js';
import { createWebRoutes } from '../../src/adapters/web/routes.js';
import type { Board, ConversationSummary, RunMark, UsageEntry } from '../../src/core/ports/store.js';
import { type HttpServerOptions, startHttpServer } from '../../src/http.js';
import { createMemoryBoard, createMemoryRelay } from './memory-board.js';
import { createMemoryInbox, createMemoryLogger, createMemoryRecords, type MemoryRecords } from './memory-ports.js';

export interface WebServerOptions extends Partial<HttpServerOptions> {
  readonly records?: MemoryRecords;
  /** The board of a server that was stopped. */
  readonly board?: Board;
}

/** The real HTTP server with the web routes over a store in memory. `down` makes every read and write of it fail. */
export async function startWebServer(options: WebServerOptions = {}) {
  const state = { down: false };
  const board = options.board ?? createMemoryBoard();
  const relay = createMemoryRelay();
  const inbox = createMemoryInbox();
  const logger = createMemoryLogger();
  const records = options.records ?? createMemoryRecords();
  const summaries = new Map<string, ConversationSummary>();
  const usage: (UsageEntry & { key: string })[] = [];

  inbox.onAccept = () => checkUp();
  const checkUp = (): void => {
    if (state.down) throw new Error('connection refused');
  };
  const store = new Proxy(board, {
    get:
      (target, name: keyof typeof board) =>
      async (...args: never[]) => {
        checkUp();
        return (target[name] as (...all: never[]) => unknown)(...args);
      },
  });
  const web = createWebRoutes({
    board: store,
    relay,
    inbox,
    records,
    logger,
    conversations: {
      async summary(key) {
        checkUp();
        return summaries.get(key);
      },
      async runs({ phase, limit }) {
        checkUp();
        return [...summaries.values()].filter((s) => phase === undefined || s.run?.phase === phase).slice(0, limit);
      },
      async usage(since) {
        checkUp();
        return usage.filter((entry) => entry.at >= since);
      },
    },
  });
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    role: 'all',
    readiness: async () => ({ ready: true, reasons: [] }),
    metrics: { text: async () => 'threadloop_up 1\n', contentType: 'text/plain; version=0.0.4; charset=utf-8' },
    web,
    logger,
    ...options,
  });
  const url = `http://127.0.0.1:${server.port}`;

  return {
    ...{ url, port: server.port, close: server.close, board, relay, inbox, logger, records, usage, state },
    get: (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers }),
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    /** Says what a conversation is doing, as the store would. */
    async setRun(conversation: string, phase: RunMark['phase'] | null, busy = false): Promise<void> {
      const key = webConversation(conversation);
      const common = { allowed: ['*'], agent: 'assistant', model: 'default', startedAt: 1, updatedAt: 2 };
      const run: RunMark | null = phase && { id: `run-of-${conversation}`, phase, ...common };
      summaries.set(key, { key, run, busy, wakeAt: null });
      await relay.publish(key);
    },
    key: webConversation,
  };
}

export type WebServer = Awaited<ReturnType<typeof startWebServer>>;

/** A call with headers that `fetch` does not let one set. */
export function rawCall(
  port: number,
  options: { method?: string; path: string; headers?: Record<string, string>; body?: string | readonly string[] },
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', path, headers = {}, body } = options;
    const call = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      response.on('error', reject);
    });
    call.on('error', reject);
    // Several pieces go out with chunked transfer encoding, without a length.
    if (typeof body === 'string') call.end(body);
    else {
      for (const piece of body ?? []) call.write(piece);
      call.end();
    }
  });
}

/** The error an answer carries. */
export async function errorOf(
  response: Response,
): Promise<{ status: number; code: string; message: string; hint: string }> {
  const { error } = (await response.json()) as { error: { code: string; message: string; hint: string } };
  return { status: response.status, ...error };
}

/** The `name=value` part of the cookies an answer sets, as a request sends them. */
export function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ');
}
