import pino, { type DestinationStream } from 'pino';
import type { Logger } from './core/ports/logger.js';

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export type LogLevel = (typeof LEVELS)[number];

export function isLogLevel(text: string): text is LogLevel {
  return LEVELS.some((level) => level === text);
}

export interface LoggerOptions {
  readonly level?: LogLevel | undefined;
  /** `json`: one object per line; `lines`: short lines for people. */
  readonly format?: 'json' | 'lines' | undefined;
  /** Where finished lines go; standard error by default, so that standard output stays for answers. */
  readonly write?: ((line: string) => void) | undefined;
}

/** A logger that also learns secrets whose values must never appear in a line. */
export interface RootLogger extends Logger {
  /** Everything logged after this call has `value` replaced, wherever it stands. Values under 6 letters are ignored. */
  registerSecret(value: string): void;
  /** The text with every registered secret replaced, for what is printed beside the log. */
  redact(text: string): string;
}

const REDACTED = '[secret]';

/** Field names that hold secrets by convention; their values are removed at any depth down to three. */
const SECRET_FIELDS = ['apiKey', 'authorization', 'Authorization', 'botToken', 'cookie', 'password', 'secret', 'token'];
const SECRET_PATHS = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);

/** Shorter values (`true`, `1234`) would blank out ordinary words. */
const SHORTEST_SECRET = 6;

/**
 * The process's log. Errors under `error` or `err` keep type, message, stack and the family's fields. A registered
 * secret is replaced in the finished line, so it cannot slip through in a message, a stack or an unexpected field.
 */
export function createLogger(options: LoggerOptions = {}): RootLogger {
  const { level = 'info', format = 'json', write = (line: string) => process.stderr.write(line) } = options;
  const secrets = new Map<string, string>();
  const stream: DestinationStream = {
    write: (json) => write(hide(format === 'lines' ? readable(json) : json, secrets)),
  };
  const root = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.errWithCause, error: pino.stdSerializers.errWithCause },
      redact: { paths: SECRET_PATHS, censor: REDACTED },
    },
    stream,
  );
  return { ...wrap(root), registerSecret: (value) => register(value, secrets), redact: (text) => hide(text, secrets) };
}

function wrap(inner: pino.Logger): Logger {
  return {
    debug: (fields, message) => inner.debug(fields, message),
    info: (fields, message) => inner.info(fields, message),
    warn: (fields, message) => inner.warn(fields, message),
    error: (fields, message) => inner.error(fields, message),
    child: (fields) => wrap(inner.child(fields)),
  };
}

/** Also what the secret looks like inside a JSON string and inside a URL. */
function register(value: string, secrets: Map<string, string>): void {
  if (value.length < SHORTEST_SECRET) return;
  for (const form of [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)])
    secrets.set(form, REDACTED);
}

function hide(line: string, secrets: ReadonlyMap<string, string>): string {
  let hidden = line;
  for (const [secret, replacement] of secrets) hidden = hidden.replaceAll(secret, replacement);
  return hidden;
}

/** `12:03:04.005 WARN  message  key=value …`; a stack follows on its own lines. */
function readable(json: string): string {
  const { time, level, msg, err, error, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const pairs = Object.entries(fields).map(([key, value]) => `${key}=${oneLine(value)}`);
  const failures = [err, error].filter((failure) => failure !== undefined).map(failureText);
  const head = `${clock} ${String(level).toUpperCase().padEnd(5)} ${printable(String(msg ?? ''))}`;
  return `${[head, ...pairs].join('  ')}${failures.join('')}\n`;
}

function oneLine(value: unknown): string {
  return printable(typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value));
}

/** Untrusted text must not move the operator's cursor or forge a second line. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed here
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ');
}

function failureText(failure: unknown): string {
  if (typeof failure !== 'object' || failure === null) return `  ${oneLine(failure)}`;
  const { stack, message, hint } = failure as { stack?: unknown; message?: unknown; hint?: unknown };
  const lines = String(stack ?? message ?? JSON.stringify(failure)).split('\n');
  const shown = typeof hint === 'string' ? [...lines, `  hint: ${hint}`] : lines;
  return shown.map((line) => `\n    ${printable(line)}`).join('');
}
