import { Api, GrammyError, HttpError, type RawApi } from 'grammy';
import { AbortedError, PlatformError, toError } from '../../core/errors.js';
import type { TelegramConfig } from './config.js';

/** Longer than a long poll waits, so that one client serves both. */
const TIMEOUT_SECONDS = 30;

/** Node's codes for a connection that was never made: the request cannot have been carried out. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'CERT_HAS_EXPIRED',
]);

const TOKEN_HINT = 'check adapters.telegram.botToken: copy it again from @BotFather (and check apiRoot if you set it)';

/** The type of abort signals in grammY's signatures; it differs from Node's only in the event handler's type. */
type GrammySignal = NonNullable<Parameters<RawApi['sendMessage']>[1]>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The call makes something new: without an answer it is unknown whether it exists. */
  readonly creates?: boolean | undefined;
}

/** One bot's Bot API. Errors leave it as PlatformError (or AbortedError) and never contain the token. */
export interface TelegramApi {
  /** Runs one Bot API call; `run` gets grammY's raw methods and the signal to hand on. */
  call<T>(run: (raw: RawApi, signal: GrammySignal | undefined) => Promise<T>, options?: CallOptions): Promise<T>;
}

/** Why Telegram refused, beyond what PlatformError can say; attached as `cause`. */
export class BotApiRefusal extends Error {
  readonly status: number;
  readonly description: string;
  readonly migrateToChatId: number | undefined;

  constructor(error: GrammyError) {
    super(`${error.error_code}: ${error.description}`);
    this.name = 'BotApiRefusal';
    this.status = error.error_code;
    this.description = error.description;
    this.migrateToChatId = error.parameters.migrate_to_chat_id;
  }
}

/** The refusal behind an error, if Telegram answered at all. */
export function refusalOf(error: unknown): BotApiRefusal | undefined {
  return error instanceof PlatformError && error.cause instanceof BotApiRefusal ? error.cause : undefined;
}

export function createTelegramApi(config: Pick<TelegramConfig, 'botToken' | 'apiRoot'>): TelegramApi {
  const { raw } = new Api(config.botToken, {
    apiRoot: config.apiRoot.replace(/\/+$/, ''),
    timeoutSeconds: TIMEOUT_SECONDS,
  });
  return {
    async call(run, options = {}) {
      const { signal, creates = false } = options;
      try {
        return await run(raw, signal as GrammySignal | undefined);
      } catch (error) {
        if (signal?.aborted) throw new AbortedError('Telegram call aborted');
        if (error instanceof GrammyError) throw platformError(error, creates);
        throw networkError(error, config.botToken, creates);
      }
    },
  };
}

const GONE = [
  'message to edit not found',
  "message can't be edited",
  'message to delete not found',
  'message_id_invalid',
];
const REFUSED = [
  'chat not found',
  'not enough rights',
  'have no rights',
  'need administrator rights',
  'chat_write_forbidden',
  'message thread not found',
  'topic_closed',
  'topic_deleted',
  'peer_id_invalid',
  "message can't be deleted",
  'group chat was upgraded',
];

function platformError(error: GrammyError, creates: boolean): PlatformError {
  const cause = new BotApiRefusal(error);
  const message = `Telegram refused ${error.method}: ${cause.message}`;
  const status = error.error_code;
  const says = (texts: readonly string[]): boolean =>
    texts.some((text) => error.description?.toLowerCase().includes(text) ?? false);
  if (status === 429) {
    const retryAfterMs = (error.parameters.retry_after ?? 1) * 1000;
    return new PlatformError(message, { kind: 'rate_limited', retryAfterMs, cause });
  }
  // A token that is not even of the right form is answered with 404.
  if (status === 401 || status === 404)
    return new PlatformError(message, { kind: 'unauthorized', hint: TOKEN_HINT, cause });
  if (status === 403) return new PlatformError(message, { kind: 'refused', cause });
  if (status === 400) {
    const kind = says(GONE) ? 'gone' : says(REFUSED) ? 'refused' : 'invalid';
    return new PlatformError(message, { kind, cause });
  }
  return new PlatformError(message, { kind: 'temporary', outcomeUnknown: creates && status !== 409, cause });
}

/**
 * node-fetch puts the whole URL, and so the token, into its messages: only a scrubbed text goes on, never the error
 * itself.
 */
function networkError(error: unknown, token: string, creates: boolean): PlatformError {
  const inner = error instanceof HttpError ? toError(error.error) : toError(error);
  const secret = token.split(':').slice(1).join(':');
  const text = inner.message
    .replaceAll(token, '<token>')
    .replaceAll(encodeURIComponent(token), '<token>')
    .replaceAll(secret, '<token>');
  const code = 'code' in inner ? String(inner.code) : '';
  return new PlatformError(`Telegram did not answer: ${text}`, {
    kind: 'temporary',
    hint: 'check the network and adapters.telegram.apiRoot',
    outcomeUnknown: creates && !NEVER_SENT.has(code),
  });
}
