import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { Person } from '../../core/chat/message.js';
import type { Records } from '../../core/ports/store.js';
import { cleanName, PLATFORM } from './inbound.js';
import { fromStore, Refusal } from './refusal.js';

/** How a call got in: no token is configured, the token itself, or the cookie of a browser that once showed it. */
export type Access = 'open' | 'bearer' | 'session';

/** Who may call, and who is calling. */
export interface Gate {
  /** Undefined when the call shows neither the token nor a session made with it. */
  access(c: Context): Promise<Access | undefined>;
  /** Throws a 401 Refusal where `access` is undefined. */
  require(c: Context): Promise<Access>;
  /** Gives this browser a session when `token` is right; throws a 401 Refusal otherwise. */
  login(c: Context, token: string): Promise<void>;
  /** The browser's person; a new one gets its cookie here. */
  browserPerson(c: Context): Promise<Person>;
  /** The person a call speaks for: `user` needs the Bearer token, a browser is who its cookie says. */
  person(c: Context, user: { id: string; name: string } | undefined): Promise<Person>;
}

export interface GateOptions {
  readonly token?: string | undefined;
  /** Keeps the secret that signs cookies; without it only the Bearer token opens the gate. */
  readonly records?: Records | undefined;
  readonly publicUrl?: string | undefined;
}

const DAY_MS = 24 * 60 * 60 * 1000;

const TIMES = {
  personDays: 400,
  sessionDays: 30,
  secretTtlMs: 400 * DAY_MS,
  /** The secret is read again, and its life in the store renewed, after this time. */
  secretFreshMs: DAY_MS,
  /** A cookie that does not verify makes us look for a newer secret, at most this often. */
  secretRecheckMs: 5_000,
} as const;

/** Compares in constant time, whatever the lengths. */
function sameSecret(a: string, b: string): boolean {
  const key = randomBytes(32);
  return timingSafeEqual(hmac(key, a), hmac(key, b));
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/**
 * Cookies hold `value.signature`. The signing secret lives in the store, so sessions and persons survive restarts and
 * are the same on every gateway. The token itself is never in a cookie; it is part of the signing key of sessions, so
 * a changed token ends them.
 */
export function createGate(options: GateOptions): Gate {
  const { token } = options;
  const secrets = options.records ? createSecretSource(options.records) : undefined;

  const personKey = (secret: string): Buffer => hmac(secret, 'person');
  const sessionKey = (secret: string): Buffer => hmac(secret, `session\n${token ?? ''}`);
  /** Two gateways with different stores on one host name must not overwrite each other's cookies. */
  const cookieName = (kind: string, secret: string): string =>
    `threadloop_${kind}_${hmac(secret, 'cookie name').toString('hex').slice(0, 8)}`;

  /** The value of a cookie with a right signature. */
  async function readCookie(c: Context, kind: 'person' | 'session'): Promise<string | undefined> {
    if (!secrets || !c.req.header('cookie')?.includes(`threadloop_${kind}_`)) return undefined;
    for (const secret of [await secrets.get(), await secrets.recheck()]) {
      if (secret === undefined) continue;
      const cookie = getCookie(c, cookieName(kind, secret));
      const dot = cookie?.lastIndexOf('.') ?? -1;
      if (cookie === undefined || dot < 0) continue;
      const value = cookie.slice(0, dot);
      const key = kind === 'person' ? personKey(secret) : sessionKey(secret);
      if (sameSecret(hmac(key, value).toString('base64url'), cookie.slice(dot + 1))) return value;
    }
    return undefined;
  }

  async function writeCookie(c: Context, kind: 'person' | 'session', value: string): Promise<void> {
    if (!secrets) return;
    const secret = await secrets.get();
    const key = kind === 'person' ? personKey(secret) : sessionKey(secret);
    setCookie(c, cookieName(kind, secret), `${value}.${hmac(key, value).toString('base64url')}`, {
      path: '/',
      httpOnly: true,
      sameSite: 'Strict',
      secure: isHttps(c, options.publicUrl),
      maxAge: (kind === 'person' ? TIMES.personDays : TIMES.sessionDays) * 86_400,
    });
  }

  async function access(c: Context): Promise<Access | undefined> {
    if (token === undefined) return 'open';
    const authorization = c.req.header('authorization');
    if (authorization !== undefined) {
      // Everything after the scheme: an operator's pass phrase may hold spaces.
      const [, credentials] = /^bearer +(.+)$/i.exec(authorization) ?? [];
      return credentials !== undefined && sameSecret(credentials, token) ? 'bearer' : undefined;
    }
    const session = await readCookie(c, 'session');
    return session !== undefined && Number(session) > Date.now() ? 'session' : undefined;
  }

  async function browserPerson(c: Context): Promise<Person> {
    const id = (await readCookie(c, 'person')) ?? randomBytes(12).toString('base64url');
    await writeCookie(c, 'person', id);
    return { id: `${PLATFORM}:${id}`, name: `Guest ${id.slice(0, 4)}` };
  }

  return {
    access,
    async require(c) {
      const granted = await access(c);
      if (granted) return granted;
      throw new Refusal(401, {
        code: 'unauthorized',
        message: 'This gateway asks for its token.',
        hint: 'Send "Authorization: Bearer <http.token>", or sign in on the console page.',
      });
    },
    async login(c, candidate) {
      if (token === undefined || !sameSecret(candidate, token)) {
        throw new Refusal(401, {
          code: 'wrong_token',
          message: token === undefined ? 'This gateway has no token.' : 'This is not the token of this gateway.',
          hint: 'The token is http.token in the configuration, or THREADLOOP_TOKEN in the environment.',
        });
      }
      await writeCookie(c, 'session', String(Date.now() + TIMES.sessionDays * DAY_MS));
    },
    browserPerson,
    async person(c, user) {
      const granted = await access(c);
      if (user && granted !== 'bearer') {
        throw new Refusal(403, {
          code: 'user_not_allowed',
          message: 'Only a call with the Bearer token may name its person.',
          hint: 'Leave "user" out, or set http.token and send it as "Authorization: Bearer …".',
        });
      }
      if (granted !== 'bearer') return browserPerson(c);
      return user
        ? { id: `${PLATFORM}:${user.id}`, name: cleanName(user.name) }
        : { id: `${PLATFORM}:api`, name: 'API' };
    },
  };
}

/** Behind a TLS proxy only the configured public address tells that the browser's side is https. */
function isHttps(c: Context, publicUrl: string | undefined): boolean {
  if (!publicUrl?.startsWith('https:')) return false;
  return new URL(publicUrl).host === c.req.header('host');
}

interface SecretSource {
  get(): Promise<string>;
  /** The stored secret when it changed and this was not asked a moment ago. */
  recheck(): Promise<string | undefined>;
}

/**
 * The signing secret from the store, made on first use. Two gateways starting together on an empty store may both make
 * one; the last write stays, and whoever holds the other finds out by `recheck`.
 */
function createSecretSource(records: Records): SecretSource {
  let cached: { secret: string; at: number } | undefined;
  let loading: Promise<string> | undefined;

  async function load(): Promise<string> {
    const known = await records.get('web', 'secret');
    await records.set('web', 'secret', known ?? randomBytes(32).toString('base64url'), TIMES.secretTtlMs);
    const secret = await records.get('web', 'secret');
    if (secret === undefined) throw new Error('the store did not keep the signing secret');
    cached = { secret, at: Date.now() };
    return secret;
  }

  function reload(): Promise<string> {
    loading ??= fromStore(load()).finally(() => {
      loading = undefined;
    });
    return loading;
  }

  return {
    async get() {
      return cached && Date.now() - cached.at < TIMES.secretFreshMs ? cached.secret : reload();
    },
    async recheck() {
      const before = cached;
      if (!before || Date.now() - before.at < TIMES.secretRecheckMs) return undefined;
      const secret = await reload();
      return secret === before.secret ? undefined : secret;
    },
  };
}
