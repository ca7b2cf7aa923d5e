import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type ServerType } from '@hono/node-server';
import { type Context, Hono, type Next } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { secureHeaders } from 'hono/secure-headers';
import { createGate, type Gate } from './adapters/web/gate.js';
import { Refusal, refusalResponse } from './adapters/web/refusal.js';
import type { WebRoutes } from './adapters/web/routes.js';
import { ThreadloopError, toError } from './core/errors.js';
import type { Logger } from './core/ports/logger.js';
import { checkBinding, type HostRules, hostGuard, isKnownHost } from './http-guard.js';

/** A platform's own entrance. It proves itself (signature, secret header), so neither token nor Host is asked for. */
export interface Webhook {
  readonly path: `/${string}`;
  /** Resolves with the answer once the update is stored; a throw is answered with 503, so the platform repeats it. */
  handle(request: Request): Promise<Response>;
}

/** Whether this process can do its work; every reason names a part that cannot, and what to do. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly { readonly part: string; readonly reason: string; readonly hint?: string | undefined }[];
}

export interface HttpServerOptions extends HostRules {
  /** 0 takes a free port. */
  readonly port: number;
  readonly role: 'all' | 'gateway' | 'worker';
  readonly readiness: () => Promise<Readiness>;
  readonly metrics: {
    /** The metrics in Prometheus' text format. */
    text(): Promise<string>;
    /** The media type of that text. */
    readonly contentType: string;
  };
  /** Absent in a process without console, such as a worker. */
  readonly web?: WebRoutes | undefined;
  readonly webhooks?: readonly Webhook[] | undefined;
  readonly logger: Logger;
}

export interface HttpServer {
  readonly port: number;
  /** Ends event streams, lets running calls finish for a moment, then closes every connection. */
  close(): Promise<void>;
}

const LIMITS = {
  bodyBytes: 1024 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  readinessMs: 5_000,
  closeMs: 2_000,
  idleCheckMs: 25,
} as const;

/**
 * Starts the one HTTP server of a process: `/healthz`, `/readyz`, `/metrics`, webhooks, and with `web` the console and
 * the API (design section 8). Throws ConfigError for an open address without token, and ThreadloopError when the port
 * cannot be had.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  checkBinding(options);
  const { web, token, publicUrl } = options;
  const app = createApp(options, createGate({ token, publicUrl, records: web?.records }));
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: { headersTimeout: LIMITS.headersMs, requestTimeout: LIMITS.requestMs },
  });
  const port = await listen(server, options.host, options.port);
  return {
    port,
    async close() {
      web?.close();
      await closeServer(server);
    },
  };
}

function createApp(options: HttpServerOptions, gate: Gate): Hono {
  const { role, logger, web } = options;
  const app = new Hono();
  app.onError((error, c) => answerError(error, c.req.path, logger));
  app.notFound((c) =>
    refusalResponse(
      new Refusal(404, { code: 'not_found', message: `There is nothing at ${c.req.path}.`, hint: 'Check the path.' }),
    ),
  );
  app.use(securityHeaders(options.publicUrl));
  app.use(methodNotAllowed({ app, onMethodNotAllowed: (_, methods) => wrongMethod(methods) }));
  app.use(limitBody);

  app.get('/healthz', (c) => c.json({ ok: true, role }));
  app.get('/readyz', async (c) => {
    const { ready, reasons } = await readinessWithin(options);
    // Reasons may tell how things are set up; a page that reached us under a foreign name sees none.
    const shown = isKnownHost(c, options) ? reasons : [];
    return c.json({ ready, role, reasons: shown }, ready ? 200 : 503, { 'Cache-Control': 'no-store' });
  });
  for (const webhook of options.webhooks ?? []) {
    app.post(webhook.path, (c) => answerWebhook(webhook, c.req.raw, logger));
  }

  app.use(hostGuard(options));
  app.get('/metrics', async (c) => {
    await gate.require(c);
    const { metrics } = options;
    return c.body(await metrics.text(), 200, { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' });
  });
  if (web) app.route('/', web.mount(gate));
  return app;
}

function securityHeaders(publicUrl: string | undefined) {
  const self = ["'self'"];
  const none = ["'none'"];
  return secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: none,
      scriptSrc: self,
      styleSrc: self,
      imgSrc: self,
      connectSrc: self,
      formAction: self,
      baseUri: none,
      frameAncestors: none,
    },
    xFrameOptions: 'DENY',
    referrerPolicy: 'no-referrer',
    permissionsPolicy: { camera: [], geolocation: [], microphone: [], payment: [], usb: [] },
    strictTransportSecurity: publicUrl?.startsWith('https:') ? 'max-age=31536000' : false,
  });
}

/** The one place where an error becomes an answer. Only refusals tell the caller what happened. */
function answerError(thrown: unknown, path: string, logger: Logger): Response {
  const error = toError(thrown);
  if (error instanceof Refusal) {
    if (error.status >= 500) logger.warn({ err: error, path }, 'http call refused');
    return refusalResponse(error);
  }
  if (isCutBody(error)) {
    // Nobody is left to read this, and anybody can cause it: no line in the log.
    return refusalResponse(
      new Refusal(400, { code: 'body_cut', message: 'The body ended before its end.', hint: 'Send it again.' }),
    );
  }
  logger.error({ err: error, path }, 'http call failed');
  return refusalResponse(
    new Refusal(500, {
      code: 'internal',
      message: 'Something went wrong in the gateway.',
      hint: 'The log of the gateway tells more; the call may be repeated.',
    }),
  );
}

/** What reading a body throws when the client went away in the middle of it. */
function isCutBody(error: Error & { code?: unknown }): boolean {
  return error.code === 'ECONNRESET' && error.message === 'aborted';
}

function wrongMethod(methods: readonly string[]): Response {
  const response = refusalResponse(
    new Refusal(405, {
      code: 'method_not_allowed',
      message: 'This path does not know this method.',
      hint: `Use ${methods.join(', ')}.`,
    }),
  );
  response.headers.set('Allow', methods.join(', '));
  return response;
}

/** Judges by the announced length; a body without one is read here, and given up where it gets too long. */
async function limitBody(c: Context, next: Next): Promise<void> {
  const chunked = c.req.header('transfer-encoding') !== undefined;
  if (Number(c.req.header('content-length') ?? 0) > LIMITS.bodyBytes) throw tooLarge();
  if (chunked && c.req.raw.body) {
    const { url, method, headers } = c.req.raw;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of c.req.raw.body) {
      size += chunk.byteLength;
      if (size > LIMITS.bodyBytes) throw tooLarge();
      chunks.push(chunk);
    }
    c.req.raw = new Request(url, { method, headers, body: Buffer.concat(chunks) });
  }
  await next();
}

function tooLarge(): Refusal {
  return new Refusal(413, {
    code: 'body_too_large',
    message: `The body is larger than ${LIMITS.bodyBytes} bytes.`,
    hint: 'Send less at once.',
  });
}

async function answerWebhook(webhook: Webhook, request: Request, logger: Logger): Promise<Response> {
  try {
    return await webhook.handle(request);
  } catch (thrown) {
    logger.error({ err: toError(thrown), path: webhook.path }, 'webhook update not stored; the platform repeats it');
    return refusalResponse(
      new Refusal(503, { code: 'not_stored', message: 'The update was not stored.', hint: 'Send it again.' }),
    );
  }
}

async function readinessWithin({ readiness, logger }: HttpServerOptions): Promise<Readiness> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Readiness>((resolve) => {
    const reason = `no answer within ${LIMITS.readinessMs} ms`;
    timer = setTimeout(() => resolve({ ready: false, reasons: [{ part: 'readiness', reason }] }), LIMITS.readinessMs);
  });
  try {
    return await Promise.race([readiness(), late]);
  } catch (thrown) {
    logger.error({ err: toError(thrown) }, 'readiness check failed');
    return { ready: false, reasons: [{ part: 'readiness', reason: 'the check itself failed; see the log' }] };
  } finally {
    clearTimeout(timer);
  }
}

function listen(server: ServerType, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const taken = cause.code === 'EADDRINUSE';
      reject(
        new ThreadloopError(`cannot listen on ${host}:${port}: ${taken ? 'the port is taken' : cause.message}`, {
          code: taken ? 'port_taken' : 'listen_failed',
          hint: taken ? 'Stop the other process, or choose another port with --port or http.port.' : 'Check http.host.',
          cause,
        }),
      );
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

async function closeServer(server: ServerType): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  if (!('closeAllConnections' in server)) return closed;
  // A connection becomes idle when its answer ends, for example an event stream that was told to.
  const idle = setInterval(() => server.closeIdleConnections(), LIMITS.idleCheckMs);
  const all = setTimeout(() => server.closeAllConnections(), LIMITS.closeMs);
  await closed;
  clearInterval(idle);
  clearTimeout(all);
}
