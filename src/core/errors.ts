/**
 * The error family. Callers branch on `code` and the typed fields, never on message text; `hint` is the fix an
 * operator should try. `unknown` becomes an error in exactly one place: `toError`.
 */
export interface ErrorDetails {
  readonly code: string;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** Base of all errors Threadloop raises on purpose. */
export class ThreadloopError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code;
    this.hint = details.hint;
  }
}

/** The configuration is wrong; `issues` names each path and its fix. The process exits with 2. */
export class ConfigError extends ThreadloopError {
  readonly issues: readonly string[];

  constructor(message: string, details: Omit<ErrorDetails, 'code'> & { issues?: readonly string[] }) {
    super(message, { code: 'config_invalid', ...details });
    this.issues = details.issues ?? [];
  }
}

/** The configured store cannot be used (unreachable, wrong policy, locked data directory). */
export class StoreError extends ThreadloopError {}

/** A newer worker holds the conversation: stop every external effect, file strays, return normally. */
export class SupersededError extends ThreadloopError {
  constructor(operation: string) {
    super(`superseded at ${operation}`, { code: 'superseded' });
  }
}

/** Work ended because its signal was aborted. Passes through tools, models and compression unchanged. */
export class AbortedError extends ThreadloopError {
  constructor(reason = 'aborted', cause?: unknown) {
    super(reason, { code: 'aborted', cause });
  }
}

/**
 * What a chat platform answered.
 * - `rate_limited`: wait `retryAfterMs`, then the same call is fine
 * - `gone`: the message was deleted; post anew
 * - `refused`: permanent (bot blocked, kicked, no rights); keep the answer, stop calling
 * - `invalid`: the platform rejects this content; a plainer rendering may pass
 * - `temporary`: 5xx, network, time-out; whether a send arrived is unknown when `outcomeUnknown`
 * - `unauthorized`: the token is wrong; the adapter ends with the fix in `/readyz`
 */
export type PlatformErrorKind = 'rate_limited' | 'gone' | 'refused' | 'invalid' | 'temporary' | 'unauthorized';

/** A platform call failed; see {@link PlatformErrorKind}. */
export class PlatformError extends ThreadloopError {
  readonly kind: PlatformErrorKind;
  /** Milliseconds the platform asks to wait; only for `rate_limited`. */
  readonly retryAfterMs: number | undefined;
  /** True when the request may have been carried out although no answer arrived. */
  readonly outcomeUnknown: boolean;

  constructor(
    message: string,
    details: Omit<ErrorDetails, 'code'> & {
      kind: PlatformErrorKind;
      retryAfterMs?: number | undefined;
      outcomeUnknown?: boolean;
    },
  ) {
    super(message, { code: `platform_${details.kind}`, hint: details.hint, cause: details.cause });
    this.kind = details.kind;
    this.retryAfterMs = details.retryAfterMs;
    this.outcomeUnknown = details.outcomeUnknown ?? false;
  }
}

/**
 * A model request failed.
 * - `unreachable`: no connection; `unauthorized`: 401/403; `rate_limited`: 429 after the client's own retries
 * - `quota`: the account has nothing left to spend; waiting does not help
 * - `not_found`: unknown model or path; `bad_request`: 400/422, the vendor's text is in the message
 * - `context_overflow`: the request is longer than the vendor accepts; the same request a little shorter is fine
 * - `stalled`: nothing arrived for the idle limit; `broken_stream`: the stream ended or failed in the middle
 * - `empty`: neither text nor tool calls; `server`: 5xx; `not_configured`: no such model in the config
 */
export type ModelErrorKind =
  | 'unreachable'
  | 'unauthorized'
  | 'rate_limited'
  | 'quota'
  | 'not_found'
  | 'bad_request'
  | 'context_overflow'
  | 'stalled'
  | 'broken_stream'
  | 'empty'
  | 'server'
  | 'not_configured';

/** A model request failed; `model` is the configured name, so that the text can say which one. */
export class ModelError extends ThreadloopError {
  readonly kind: ModelErrorKind;
  readonly model: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    details: Omit<ErrorDetails, 'code'> & {
      kind: ModelErrorKind;
      model: string;
      status?: number | undefined;
      retryAfterMs?: number | undefined;
    },
  ) {
    super(message, { code: `model_${details.kind}`, hint: details.hint, cause: details.cause });
    this.kind = details.kind;
    this.model = details.model;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Turns anything thrown into an Error, keeping an Error as it is. The only such conversion in the code. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new ThreadloopError(typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? 'unknown error'), {
    code: 'unknown',
    cause: thrown,
  });
}
