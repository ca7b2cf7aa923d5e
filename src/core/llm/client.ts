import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';
import { AbortedError, ModelError } from '../errors.js';
import { type Capabilities, NO_CAPABILITIES } from './capabilities.js';
import { createDeadline, type Deadline } from './deadline.js';
import { createEventDecoder, type ServerEvent } from './event-stream.js';
import type { Model, ModelReply, ModelRequest } from './model.js';
import { type ErrorSource, modelError, reportedError, toModelError } from './model-errors.js';
import type { PriceTier } from './pricing.js';
import { createDialect, type Dialect, learnDialect, type RequestSettings, requestBody } from './request-body.js';
import { createStreamAssembly, type StreamAssembly } from './stream-assembly.js';
import { estimateTokens, textTokens } from './tokens.js';

export interface OpenAiModelOptions extends RequestSettings {
  /** The name under `models:`. */
  readonly name: string;
  /** Ends before `/chat/completions`. */
  readonly baseUrl: string;
  /** Undefined or '': no Authorization header is sent. */
  readonly apiKey?: string | undefined;
  readonly model: string;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly price?: readonly PriceTier[] | undefined;
  readonly defaultSystemPrompt?: string | undefined;
  /** What is not named is off. */
  readonly capabilities?: Partial<Capabilities> | undefined;
  /** False: `<think>` at the beginning of a text is text. Default: it is reasoning. */
  readonly splitThinking?: boolean | undefined;
  /** Sent with every request besides Authorization; secret like the key. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Longest silence inside an answer, ms; keep-alive comments count as a sign of life. */
  readonly idleTimeoutMs?: number | undefined;
  /** Longest wait for the response to begin, ms, connecting included. */
  readonly firstByteTimeoutMs?: number | undefined;
}

const TIMEOUTS = { idleTimeoutMs: 120_000, firstByteTimeoutMs: 120_000 } as const;

/** How long usage may take after the finish reason, and the end after `[DONE]`. The answer stands in any case. */
const GRACE = { afterFinishMs: 2_000, afterDoneMs: 100 } as const;

/** Repeats of a request nothing of which was shown yet. A vendor that asks for a longer wait gets no repeat. */
const RETRIES = { most: 2, firstMs: 500, longestMs: 20_000 } as const;

/** Longest body of a server that answers without streaming. */
const BODY_BYTES = 16 * 1024 * 1024;

interface Endpoint {
  readonly options: OpenAiModelOptions;
  readonly client: OpenAI;
  readonly source: ErrorSource;
  readonly dialect: Dialect;
}

/**
 * A model behind any OpenAI-compatible `chat/completions`. Streams; keeps reasoning apart; repeats 429, 5xx and lost
 * connections twice while nothing was shown. Throws ModelError, or AbortedError when the request's signal aborts.
 *
 * An end of the stream without finish reason and `[DONE]` is the finish reason `cut_off` if the server closed it cleanly
 * and something had come; a connection that breaks, or closes before anything came, is `broken_stream`.
 */
export function createOpenAiModel(options: OpenAiModelOptions): Model {
  const { name, model, contextWindow, maxOutputTokens, price = [], defaultSystemPrompt } = options;
  const host = hostOf(options.baseUrl);
  const endpoint: Endpoint = {
    options,
    client: createClient(options),
    source: { name, model, host, secrets: [options.apiKey ?? '', ...Object.values(options.headers ?? {})] },
    dialect: createDialect(host.replace(/:\d+$/, '')),
  };
  return {
    ...{ name, contextWindow, maxOutputTokens, price, defaultSystemPrompt },
    capabilities: { ...NO_CAPABILITIES, ...options.capabilities },
    request: (request) => requestWithRetries(endpoint, request),
  };
}

/** Everything the client would otherwise read from the environment or write to the console is switched off. */
function createClient({ baseUrl, apiKey, headers }: OpenAiModelOptions): OpenAI {
  return new OpenAI({
    baseURL: baseUrl,
    apiKey: apiKey || 'none',
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    defaultHeaders: { ...(!apiKey && { Authorization: null }), ...headers },
  });
}

async function requestWithRetries(endpoint: Endpoint, request: ModelRequest): Promise<ModelReply> {
  for (let retries = 0; ; ) {
    const assembly = createStreamAssembly({ request, splitThinking: endpoint.options.splitThinking !== false });
    const dialect = { ...endpoint.dialect };
    try {
      return await requestOnce(endpoint, request, { assembly, dialect });
    } catch (thrown) {
      if (!(thrown instanceof ModelError)) throw thrown;
      if (learnDialect(endpoint.dialect, dialect, thrown)) continue;
      const wait = assembly.started || retries >= RETRIES.most ? undefined : retryDelay(thrown, retries);
      if (wait === undefined) throw thrown;
      retries += 1;
      await pause(wait, request.signal);
    }
  }
}

/** Milliseconds before the next try; undefined when another try cannot help or would keep the person waiting. */
function retryDelay(error: ModelError, retries: number): number | undefined {
  if (!['rate_limited', 'server', 'unreachable', 'broken_stream'].includes(error.kind)) return undefined;
  const wait = error.retryAfterMs ?? RETRIES.firstMs * 2 ** retries * (0.75 + Math.random() / 4);
  return wait > RETRIES.longestMs ? undefined : wait;
}

interface Attempt {
  readonly assembly: StreamAssembly;
  readonly dialect: Dialect;
}

async function requestOnce(endpoint: Endpoint, request: ModelRequest, attempt: Attempt): Promise<ModelReply> {
  const { options, source } = endpoint;
  const { assembly } = attempt;
  throwIfAborted(request.signal);
  // Aborting by hand instead of AbortSignal.any: the run's signal outlives many requests and must not collect them.
  const abort = new AbortController();
  const end = () => abort.abort();
  const deadline = createDeadline(end);
  request.signal.addEventListener('abort', end, { once: true });
  let response: Response | undefined;
  let read = false;
  try {
    deadline.set(options.firstByteTimeoutMs ?? TIMEOUTS.firstByteTimeoutMs);
    response = await send(endpoint, request, attempt.dialect, abort.signal);
    deadline.set(options.idleTimeoutMs ?? TIMEOUTS.idleTimeoutMs);
    await readResponse(response, source, assembly, deadline);
    read = true;
    if (!assembly.complete && !assembly.started) throw new Error('it ended before anything came');
    if (assembly.overflowed) throw modelError(source, 'context_overflow', 'says the request is longer than its window');
  } catch (thrown) {
    throwIfAborted(request.signal);
    if (!assembly.complete || thrown instanceof ModelError) throw explained(source, thrown, deadline, response);
  } finally {
    deadline.clear();
    request.signal.removeEventListener('abort', end);
    // An abort after the end would change nothing, but its error alone costs 0.1 ms.
    if (!read) end();
  }
  return finishedReply(request, assembly, response);
}

function send(endpoint: Endpoint, request: ModelRequest, dialect: Dialect, signal: AbortSignal): Promise<Response> {
  const { client, options } = endpoint;
  const body = requestBody(request, { ...options, dialect, reasons: options.capabilities?.reasoning === true });
  // The raw response: reading it here costs less than the client's own decoder and sees keep-alives and odd bodies.
  return client.chat.completions.create(body, { signal, timeout: 2 ** 31 - 1 }).asResponse();
}

async function readResponse(
  response: Response,
  source: ErrorSource,
  assembly: StreamAssembly,
  deadline: Deadline,
): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (type.includes('text/html')) {
    throw modelError(source, 'not_found', 'answered with a web page instead of a stream', { status: response.status });
  }
  const onEvent = ({ name, data }: ServerEvent) => {
    if (data === undefined) return assembly.done();
    const error = reportedError(source, data, name);
    if (error) throw error;
    if (typeof data === 'object' && data !== null) assembly.add(data as Record<string, unknown>);
  };
  const body = response.body?.getReader();
  if (!body) return;
  const decoder = createEventDecoder(onEvent);
  const whole = type.includes('json') ? createBodyCollector() : undefined;
  for (;;) {
    const { done, value } = await body.read();
    if (done) break;
    deadline.touch();
    (whole ?? decoder).push(value);
    if (assembly.complete) deadline.set(assembly.ended ? GRACE.afterDoneMs : GRACE.afterFinishMs);
  }
  if (whole) {
    onEvent({ name: '', data: JSON.parse(whole.text()) });
    return assembly.done();
  }
  decoder.end();
  if (!assembly.started && decoder.stray !== '') throw strayError(source, decoder.stray);
}

/** The whole body of a server that answers with one JSON object although a stream was asked for. */
function createBodyCollector() {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  return {
    push(piece: Uint8Array): void {
      bytes += piece.length;
      if (bytes > BODY_BYTES) throw new RangeError('the answer is too large');
      pieces.push(piece);
    },
    text: () => Buffer.concat(pieces).toString('utf8'),
  };
}

function strayError(source: ErrorSource, stray: string): ModelError {
  try {
    const reported = reportedError(source, JSON.parse(stray));
    if (reported) return reported;
  } catch {
    // Not JSON: shown as it is.
  }
  return modelError(source, 'broken_stream', `sent something that is no event stream: ${stray}`);
}

function explained(
  source: ErrorSource,
  thrown: unknown,
  deadline: Deadline,
  response: Response | undefined,
): ModelError {
  if (!deadline.expired) return toModelError(source, thrown, response !== undefined);
  return modelError(source, 'stalled', `nothing came for ${deadline.milliseconds / 1_000} s`);
}

function finishedReply(request: ModelRequest, assembly: StreamAssembly, response: Response | undefined): ModelReply {
  const reply = assembly.reply();
  const written = [reply.text, reply.reasoning, ...reply.toolCalls.map((call) => call.name + call.arguments)];
  return {
    ...reply,
    usage: reply.usage ?? {
      inputTokens: estimateTokens(request.messages, request.tools),
      outputTokens: written.reduce((sum, text) => sum + textTokens(text), 0),
      estimated: true,
    },
    requestId: response?.headers.get('x-request-id') ?? reply.requestId,
  };
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch {
    throwIfAborted(signal);
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new AbortedError('model request aborted', signal.reason);
}

function hostOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : 'an invalid baseUrl';
}
