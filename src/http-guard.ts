import { isIP } from 'node:net';
import type { Context, MiddlewareHandler } from 'hono';
import { Refusal } from './adapters/web/refusal.js';
import { ConfigError } from './core/errors.js';
import { isLoopback } from './loopback.js';

export interface HostRules {
  /** Address the server listens on. */
  readonly host: string;
  readonly token?: string | undefined;
  readonly publicUrl?: string | undefined;
  readonly allowedHosts: readonly string[];
}

/** Throws when people on the network could use the console without a token. */
export function checkBinding(rules: HostRules): void {
  if (rules.token !== undefined || isLoopback(rules.host)) return;
  throw new ConfigError(`http.host ${rules.host} can be reached from other machines, so http.token must be set`, {
    issues: ['http.token: missing'],
    hint: 'Set http.token (or THREADLOOP_TOKEN) to the output of: openssl rand -hex 32 — or listen on 127.0.0.1.',
  });
}

/**
 * Refuses what a page of another site could make a browser send (DNS rebinding, cross-site requests) and, without a
 * token, what came through a proxy: then the world would be on the loopback port. Webhooks and health checks do not
 * pass here; they prove themselves in other ways or hold nothing.
 */
export function hostGuard(rules: HostRules): MiddlewareHandler {
  return async (c, next) => {
    if (!isKnownHost(c, rules)) {
      throw new Refusal(403, {
        code: 'host_not_allowed',
        message: 'This server does not answer under the name in the Host header.',
        hint: 'Add the name to http.allowedHosts, or set http.publicUrl; both need http.token.',
      });
    }
    if (rules.token === undefined && isForwarded(c)) {
      throw new Refusal(403, {
        code: 'token_needed',
        message: 'This call came through a proxy, but no token protects the console.',
        hint: 'Set http.token (or THREADLOOP_TOKEN), then sign in with it.',
      });
    }
    if (!isOwnOrigin(c, rules)) {
      throw new Refusal(403, {
        code: 'origin_not_allowed',
        message: 'Pages of other sites may not use this server.',
        hint: 'Open the console under its own address, or set http.publicUrl to the address the browser shows.',
      });
    }
    await next();
  };
}

/**
 * Without a token only loopback names count. With one, so do `host`, `publicUrl`, `allowedHosts` and plain IP
 * addresses, which cannot be rebound (probes and scrapers use them).
 */
export function isKnownHost(c: Context, rules: HostRules): boolean {
  const header = c.req.header('host')?.toLowerCase() ?? '';
  const name = bare(header);
  if (isLoopback(name)) return true;
  if (rules.token === undefined) return false;
  return isIP(name) !== 0 || knownNames(rules).some((known) => known === header || known === name);
}

function knownNames({ host, publicUrl, allowedHosts }: HostRules): string[] {
  const names = [host, ...allowedHosts].map((name) => name.toLowerCase());
  return publicUrl ? [...names, new URL(publicUrl).host, new URL(publicUrl).hostname] : names;
}

function isForwarded(c: Context): boolean {
  return ['forwarded', 'x-forwarded-for', 'x-forwarded-host'].some((name) => c.req.header(name) !== undefined);
}

/** Browsers send Origin with every state-changing request and, on trusted origins, Sec-Fetch-Site with every one. */
function isOwnOrigin(c: Context, rules: HostRules): boolean {
  const reading = c.req.method === 'GET' || c.req.method === 'HEAD';
  const site = c.req.header('sec-fetch-site');
  // A link on another page may lead to the console itself, but nothing else may be read or loaded from there.
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !(reading && c.req.path === '/')) return false;
  const origin = c.req.header('origin');
  if (reading || origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  const { host, hostname } = new URL(origin);
  if (host === c.req.header('host')?.toLowerCase()) return true;
  // A proxy may have replaced the Host header by the loopback address.
  return (
    rules.token !== undefined && !isLoopback(hostname) && knownNames(rules).some((k) => k === host || k === hostname)
  );
}

/** A host name without port and brackets. */
function bare(host: string): string {
  const name = host.toLowerCase();
  if (name.startsWith('[')) return name.slice(1, name.indexOf(']'));
  return name.split(':').length > 2 ? name : name.replace(/:\d+$/, '');
}
