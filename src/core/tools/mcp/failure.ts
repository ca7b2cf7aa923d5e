import type { SdkHttpError } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { ThreadloopError, toError } from '../../errors.js';
import { shownLine } from '../untrusted-text.js';
import { ANSWER_LOST } from './http-transport.js';
import type { UsableServerConfig } from './server-config.js';

/**
 * What went wrong between us and a server.
 * - `unsent`: the request did not reach it; the same request on a new connection is fine
 * - `lost`: the connection ended before the answer; whether the call took effect is unknown
 * - `refused`: it answers, but with an error of the protocol or of HTTP
 * - `unauthorized`: it asks for a token, or for another one
 * - `timeout`: it did not answer in time
 * - `unavailable`: it is not tried at the moment
 */
export type McpErrorKind = 'unsent' | 'lost' | 'refused' | 'unauthorized' | 'timeout' | 'unavailable';

interface McpErrorDetails {
  readonly kind: McpErrorKind;
  readonly cause?: unknown;
  readonly output?: string | undefined;
}

/** A server failed; the message is safe to show and holds no secret of its configuration. */
export class McpError extends ThreadloopError {
  readonly kind: McpErrorKind;
  /** The last line the program wrote to standard error; for operators, not for models. */
  readonly output: string | undefined;

  constructor(message: string, { kind, cause, output }: McpErrorDetails) {
    super(message, { code: `mcp_${kind}`, cause });
    this.kind = kind;
    this.output = output;
  }
}

/** Network errors that come before anything was sent. */
const NOT_REACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name could not be looked up',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'its host does not answer',
};

/** Characters of a part of a path that is taken for a key; names of endpoints are shorter. */
const SECRET_PART = 20;

const needed = z.object({ elicitations: z.array(z.object({ url: z.string() })).min(1) });

export interface FailureSource {
  /** Name of the server in the configuration. */
  readonly name: string;
  readonly config: UsableServerConfig;
  /** End of what the program wrote to standard error. */
  readonly stderr?: string | undefined;
}

/** Puts a failure of the SDK, the network or the program into the words of {@link McpError}. */
export function toMcpError(thrown: unknown, source: FailureSource): McpError {
  if (thrown instanceof McpError) return thrown;
  const error = toError(thrown);
  const status = httpStatus(error);
  if (status === 401 || status === 403 || error.name === 'UnauthorizedError') {
    const text = status === 403 ? 'refuses access (HTTP 403)' : 'needs a token';
    return new McpError(`server ${source.name} ${text}`, { kind: 'unauthorized', cause: error });
  }
  const { kind, text } = explain(error, source, status);
  const output = source.stderr?.trimEnd().split('\n').at(-1);
  return new McpError(withoutSecrets(text, source), {
    kind,
    cause: error,
    output: output ? withoutSecrets(firstLine(output), source) : undefined,
  });
}

function explain(
  error: Error,
  source: FailureSource,
  status: number | undefined,
): { kind: McpErrorKind; text: string } {
  const code = systemCode(error);
  if (code && NOT_REACHED[code]) return { kind: 'unsent', text: NOT_REACHED[code] };
  if (source.config.transport === 'stdio' && code) {
    return { kind: 'unsent', text: startProblem(code, source.config.command, source.config.cwd) };
  }
  // The session is gone, so the request was not looked at; a new connection begins a new one.
  if (status === 404) return { kind: 'unsent', text: 'it knows no such endpoint or session (HTTP 404)' };
  if (status !== undefined) return { kind: 'refused', text: `HTTP ${status}: ${firstLine(error.message)}` };
  const sdkCode = 'code' in error ? error.code : undefined;
  if (sdkCode === 'NOT_CONNECTED' || error.message === 'Not connected')
    return { kind: 'unsent', text: 'not connected' };
  if (sdkCode === 'REQUEST_TIMEOUT') return { kind: 'timeout', text: 'it did not answer in time' };
  if (
    sdkCode === 'CONNECTION_CLOSED' ||
    ('data' in error && error.data === ANSWER_LOST) ||
    error instanceof TypeError
  ) {
    return { kind: 'lost', text: source.config.transport === 'stdio' ? 'the program ended' : 'the connection ended' };
  }
  return { kind: 'refused', text: `${firstLine(error.message)}${linksOf(error)}` };
}

function startProblem(code: string, command: string, cwd: string | undefined): string {
  const program = JSON.stringify(command);
  if (code === 'ENOENT') return `the program ${program} was not found${cwd === undefined ? '' : ', or its folder cwd'}`;
  if (code === 'EACCES') return `the program ${program} may not be executed`;
  return `the program ${program} could not be started or has ended (${code})`;
}

function httpStatus(error: Error): number | undefined {
  const { status } = error as Partial<SdkHttpError>;
  return typeof status === 'number' ? status : undefined;
}

/** The system's code of a failed call, wherever in the chain of causes it is. */
function systemCode(error: Error): string | undefined {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string' && /^(E[A-Z]{2,}|UND_ERR_\w+)$/.test(at.code)) return at.code;
  }
  return undefined;
}

function firstLine(text: string): string {
  return shownLine(text, 300);
}

/** Some calls need a person to open an address first (JSON-RPC error -32042). */
function linksOf(error: Error): string {
  const links = needed.safeParse('data' in error ? error.data : undefined);
  if (!links.success) return '';
  const urls = links.data.elicitations.slice(0, 5).map(({ url }) => shownLine(url, 2_000));
  return `; a person has to open this address and try again: ${urls.join(' , ')}`;
}

/** Servers repeat what they were given: no configured header or variable may leave through an error text. */
function withoutSecrets(text: string, { config }: FailureSource): string {
  const values =
    config.transport === 'stdio'
      ? Object.values(config.env)
      : [...Object.values(config.headers), ...addressSecrets(new URL(config.url))];
  const secrets = values.flatMap((value) => [value, ...value.split(/\s+/)]).filter((value) => value.length >= 6);
  return secrets.sort((a, b) => b.length - a.length).reduce((safe, secret) => safe.replaceAll(secret, '***'), text);
}

/** Many services put the key into the address of an endpoint: as a parameter, as a long part of its path. */
function addressSecrets({ search, searchParams, pathname, username, password }: URL): string[] {
  const parts = pathname.split('/').filter((part) => part.length >= SECRET_PART);
  return [search.slice(1), ...searchParams.values(), ...parts, username, password];
}
