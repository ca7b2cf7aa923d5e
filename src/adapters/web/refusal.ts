import { ThreadloopError } from '../../core/errors.js';

/** Statuses the API answers a refused call with. */
export type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 429 | 500 | 503;

/** A call that is answered with an error: status, machine-readable code, a sentence, and what to do about it. */
export class Refusal extends ThreadloopError {
  readonly status: RefusalStatus;
  /** Seconds after which the same call may pass; sent as Retry-After. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: RefusalStatus,
    details: {
      code: string;
      message: string;
      hint?: string | undefined;
      retryAfterSeconds?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(details.message, details);
    this.status = status;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

/** The answer to a refused call: `{ error: { code, message, hint } }`. */
export function refusalResponse(refusal: Refusal): Response {
  const { code, message, hint = '' } = refusal;
  const headers = refusal.retryAfterSeconds === undefined ? {} : { 'Retry-After': String(refusal.retryAfterSeconds) };
  return Response.json({ error: { code, message, hint } }, { status: refusal.status, headers });
}

/** A store that does not answer in this time counts as down. */
const STORE_TIMEOUT_MS = 10_000;

/**
 * Waits for the store on behalf of a caller. Whatever goes wrong becomes a 503: nothing is known to be lost, and the
 * same call may be repeated.
 */
export async function fromStore<T>(operation: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${STORE_TIMEOUT_MS} ms`)), STORE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([operation, timeout]);
  } catch (cause) {
    throw new Refusal(503, {
      code: 'store_unavailable',
      message: 'The store does not answer, so nothing was accepted for certain.',
      hint: 'Repeat the call in a moment; with the same clientMessageId a message is never taken twice.',
      retryAfterSeconds: 2,
      cause,
    });
  } finally {
    clearTimeout(timer);
  }
}
