import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { BotApiError, tooManyRequests } from './bot-api-error.js';
import type { Fault, Faults } from './faults.js';
import type { SlowMethod } from './update-methods.js';

/** One call of the bot. Times are `Date.now()`. */
export interface ApiCall {
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: number;
  /** When the answer left; undefined while it waits, and for dropped or hanging calls. */
  answeredAt: number | undefined;
  /** HTTP status; 0 when the connection was cut. */
  status: number | undefined;
  description: string | undefined;
}

export interface HttpHandlerOptions {
  readonly token: string;
  readonly methods: Readonly<Record<string, SlowMethod>>;
  readonly faults: Faults;
  readonly latencyMs: number;
  readonly calls: ApiCall[];
  readonly onChange: () => void;
}

const PATH = /^\/bot([^/]*)\/([A-Za-z]+)$/;
const TOKEN = /^\d+:[\w-]+$/;
const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
};

/** Turns HTTP into Bot API calls: token, parameters, faults, envelope. */
export function createHttpHandler(options: HttpHandlerOptions): RequestListener {
  return (request, response) => {
    void handle(request, response, options).catch((error: unknown) => {
      response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error));
    });
  };
}

async function handle(request: IncomingMessage, response: ServerResponse, options: HttpHandlerOptions): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const [, token = '', method = ''] = PATH.exec(url.pathname) ?? [];
  const payload = await readPayload(request, url);
  const call: ApiCall = {
    method,
    payload,
    at: Date.now(),
    answeredAt: undefined,
    status: undefined,
    description: undefined,
  };
  options.calls.push(call);
  options.onChange();
  const fault = options.faults.next(method, payload);
  const hangUp = new AbortController();
  response.on('close', () => hangUp.abort());

  const delay = options.latencyMs + (fault?.latencyMs ?? 0);
  if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
  if (fault?.hang === 'before') return;
  if (fault?.drop === 'before') return cut(request, call, options);
  const answer = fault?.status
    ? scripted(fault, fault.status)
    : await perform({ call, token, signal: hangUp.signal }, options);
  if (fault?.hang === 'after') return;
  if (fault?.drop === 'after') return cut(request, call, options);
  call.answeredAt = Date.now();
  call.status = answer.status;
  call.description = answer.description;
  response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body);
  options.onChange();
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly description: string | undefined;
}

async function perform(
  { call, token, signal }: { call: ApiCall; token: string; signal: AbortSignal },
  options: HttpHandlerOptions,
): Promise<Answer> {
  try {
    if (!TOKEN.test(token)) throw new BotApiError(404, 'Not Found');
    if (token !== options.token) throw new BotApiError(401, 'Unauthorized');
    const method = options.methods[call.method];
    if (!method) throw new BotApiError(404, 'Not Found: method not found');
    const result = await method(call.payload, signal);
    return json(200, { ok: true, result }, undefined);
  } catch (error) {
    if (error instanceof BotApiError) return refusal(error);
    throw error;
  }
}

function scripted(fault: Fault, status: number): Answer {
  if (status === 502) {
    return { status, type: 'text/html', body: '<html><h1>502 Bad Gateway</h1></html>', description: 'Bad Gateway' };
  }
  if (status === 429) return refusal(tooManyRequests(fault.retryAfter ?? 1));
  return refusal(new BotApiError(status, fault.description ?? STATUS_NAMES[status] ?? 'Error'));
}

function refusal({ status, message, parameters }: BotApiError): Answer {
  return json(
    status,
    { ok: false, error_code: status, description: message, ...(parameters && { parameters }) },
    message,
  );
}

function json(status: number, body: object, description: string | undefined): Answer {
  return { status, type: 'application/json', body: JSON.stringify(body), description };
}

function cut(request: IncomingMessage, call: ApiCall, options: HttpHandlerOptions): void {
  call.status = 0;
  request.socket.destroy();
  options.onChange();
}

async function readPayload(request: IncomingMessage, url: URL): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  const query = Object.fromEntries(url.searchParams);
  if (body === '') return query;
  const type = request.headers['content-type'] ?? '';
  if (type.includes('json')) return { ...query, ...(JSON.parse(body) as Record<string, unknown>) };
  return { ...query, ...Object.fromEntries(new URLSearchParams(body)) };
}
