import { APIConnectionError, APIError } from 'openai';
import { ModelError, type ModelErrorKind, toError } from '../errors.js';
import { isContextOverflow } from './context-overflow.js';

/** What an error text needs to name the model and to hide its secrets. */
export interface ErrorSource {
  /** The name under `models:`. */
  readonly name: string;
  /** The vendor's name of the model. */
  readonly model: string;
  /** Host and port of the base URL; never the whole URL, which may hold a password. */
  readonly host: string;
  /** Key and header values: vendors repeat them in their texts. */
  readonly secrets: readonly string[];
}

/** Longest text of a vendor that is passed on. */
const VENDOR_CHARACTERS = 300;

/** Codes, types and texts by which vendors say that an account has nothing left to spend. */
const QUOTA = /quota|billing|balance|credits?\b|arrear/i;
/** Some call their limit per minute a quota as well. */
const PASSING = /throttl|\brate.?limit|per.?(second|minute)|(retry|try again) (in|after)/i;

/** Builds the one shape of model errors: `model "name" (model at host): problem`, with the fix as hint. */
export function modelError(
  source: ErrorSource,
  kind: ModelErrorKind,
  problem: string,
  details: { status?: number | undefined; retryAfterMs?: number | undefined; cause?: unknown } = {},
): ModelError {
  const { name, model, host } = source;
  return new ModelError(`model "${name}" (${model} at ${host}): ${cleaned(source, problem)}`, {
    kind,
    model: name,
    hint: hintFor(kind, source),
    ...details,
  });
}

/** Turns what a request threw into a ModelError. `answered`: the response had begun. */
export function toModelError(source: ErrorSource, thrown: unknown, answered: boolean): ModelError {
  if (thrown instanceof ModelError) return thrown;
  const cause = toError(thrown);
  if (cause instanceof APIError && cause.status !== undefined) return statusError(source, cause, cause.status);
  if (!answered) {
    const reason = cause instanceof APIConnectionError ? rootReason(cause) : cause.message;
    return modelError(source, 'unreachable', `no connection (${reason})`, { cause: stripped(cause) });
  }
  return modelError(source, 'broken_stream', `the answer broke off (${rootReason(cause)})`, { cause: stripped(cause) });
}

/** An error object inside a stream or a body with status 200. Undefined when there is none. */
export function reportedError(source: ErrorSource, body: unknown, eventName = ''): ModelError | undefined {
  const object = asRecord(body);
  const reported = object?.error ?? (eventName === 'error' ? body : undefined);
  if (reported === undefined || reported === null || reported === false) return undefined;
  const error = asRecord(reported);
  const text = typeof reported === 'string' ? reported : String(error?.message ?? JSON.stringify(reported));
  const status = numericStatus(error?.code) ?? numericStatus(error?.status) ?? numericStatus(object?.status);
  const words = `${error?.type ?? ''} ${error?.code ?? ''}`;
  const kind = kindOf({ status, words, text });
  return modelError(source, kind, `the server reported: ${text}`, { status });
}

function statusError(source: ErrorSource, error: APIError, status: number): ModelError {
  const text = error.message.replace(new RegExp(`^${status} `), '');
  const retryAfterMs = retryAfter(error.headers);
  const kind = kindOf({ status, words: `${error.type ?? ''} ${error.code ?? ''}`, text, retryAfterMs });
  return modelError(source, kind, `answered ${status}: ${text}`, { status, retryAfterMs });
}

interface Reported {
  readonly status: number | undefined;
  /** The vendor's type and code. */
  readonly words: string;
  readonly text: string;
  readonly retryAfterMs?: number | undefined;
}

function kindOf(reported: Reported): ModelErrorKind {
  const { status, words, text } = reported;
  if (isContextOverflow(status, `${words} ${text}`)) return 'context_overflow';
  if (isQuota(reported)) return 'quota';
  if (status === undefined) return /rate.?limit/i.test(words) ? 'rate_limited' : 'server';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404) return 'not_found';
  if (status === 429) return 'rate_limited';
  if (status === 408 || status === 409 || status >= 500) return 'server';
  return 'bad_request';
}

/** By its code or by 402; a text says so only with 429 and where no wait is named. */
function isQuota({ status, words, text, retryAfterMs }: Reported): boolean {
  if (status === 402 || (QUOTA.test(words) && !PASSING.test(words))) return true;
  return status === 429 && retryAfterMs === undefined && QUOTA.test(text) && !PASSING.test(`${words} ${text}`);
}

function hintFor(kind: ModelErrorKind, { name }: ErrorSource): string {
  const path = `models.${name}`;
  switch (kind) {
    case 'unauthorized':
      return `check ${path}.apiKey`;
    case 'not_found':
      return `check ${path}.model and the path of ${path}.baseUrl (it ends before /chat/completions, often in /v1)`;
    case 'unreachable':
      return `check ${path}.baseUrl and that the server behind it runs`;
    case 'rate_limited':
      return `the vendor limits requests of ${path}.apiKey; wait, or raise the limit`;
    case 'quota':
      return `the account of ${path}.apiKey has nothing left to spend; top it up, or set another key`;
    case 'bad_request':
      return `the server rejects the request; its text says why (settings: ${path})`;
    case 'context_overflow':
      return `set ${path}.contextWindow and ${path}.maxOutputTokens to what the server accepts, and leave compressHistory on`;
    case 'stalled':
      return `the server behind ${path}.baseUrl took the request and went silent; look at its log`;
    case 'broken_stream':
    case 'server':
      return `the server behind ${path}.baseUrl failed; ask again, and look at its log if it stays`;
    case 'empty':
    case 'not_configured':
      return `check ${path}`;
  }
}

function retryAfter(headers: Headers | undefined): number | undefined {
  const exact = Number(headers?.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(exact)) return Math.max(0, exact);
  const header = headers?.get('retry-after');
  if (!header) return undefined;
  const milliseconds = Number.isFinite(Number(header)) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : undefined;
}

/** The innermost cause names the fault (ECONNREFUSED, other side closed); the outer ones say "fetch failed". */
function rootReason(error: Error): string {
  let root = error;
  for (let depth = 0; depth < 5 && root.cause instanceof Error; depth += 1) root = root.cause;
  // Several addresses of one host were tried: each attempt's error stands inside.
  const [first] = root instanceof AggregateError ? root.errors : [];
  if (root.message === '' && first instanceof Error) return first.message;
  return root.message;
}

/** The cause without the client's error object, whose headers hold the key. */
function stripped(error: Error): Error {
  return error.cause instanceof Error ? error.cause : error;
}

function cleaned({ secrets }: ErrorSource, text: string): string {
  let clean = text;
  for (const secret of secrets) if (secret.length > 3) clean = clean.replaceAll(secret, '***');
  clean = clean.replace(/\s+/g, ' ').trim();
  return clean.length > VENDOR_CHARACTERS ? `${clean.slice(0, VENDOR_CHARACTERS)}…` : clean;
}

function numericStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined;
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
