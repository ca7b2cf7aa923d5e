import type { LookupAddress } from 'node:dns';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { ThreadloopError, toError } from '../../errors.js';
import type { AddressGuard } from './address-guard.js';

const MOST_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];

const HEADERS = {
  'user-agent': 'Mozilla/5.0 (compatible; Threadloop web_fetch)',
  accept: 'text/html,application/xhtml+xml,application/json;q=0.9,application/xml;q=0.9,text/*;q=0.8,*/*;q=0.1',
  'accept-encoding': 'gzip, br',
} as const;

export interface DownloadOptions {
  readonly guard: AddressGuard;
  readonly signal: AbortSignal;
  /** Of the body, decompressed; what is longer is cut there. */
  readonly maxBytes: number;
}

export interface Download {
  /** Where the last redirect led. */
  readonly url: string;
  readonly status: number;
  /** The header as it came, '' without one. */
  readonly contentType: string;
  readonly body: Buffer;
  /** The body was longer than `maxBytes`. */
  readonly cut: boolean;
}

/**
 * GETs a URL without cookies or credentials; each redirect is checked like the first address. Throws ThreadloopError
 * `web_fetch_refused` or `web_fetch_failed`; anything may be thrown after `signal` was aborted.
 */
export async function download(from: URL, { guard, signal, maxBytes }: DownloadOptions): Promise<Download> {
  let url = from;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop += 1) {
    const addresses = await orAborted(guard.addressesOf(url), signal);
    const response = await open(url, addresses, signal);
    try {
      const location = REDIRECTS.includes(response.statusCode ?? 0) ? response.headers.location : undefined;
      if (location === undefined) return { ...factsOf(url, response), ...(await readBody(response, maxBytes)) };
      if (!URL.canParse(location, url.href)) throw failed(`${url.host} redirects to something that is not an address`);
      url = new URL(location, url);
    } finally {
      response.destroy();
    }
  }
  throw failed(`more than ${MOST_REDIRECTS} redirects`);
}

function factsOf(url: URL, { statusCode = 0, headers }: IncomingMessage) {
  return { url: url.href, status: statusCode, contentType: headers['content-type'] ?? '' };
}

function open(url: URL, addresses: readonly LookupAddress[], signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const fail = (error?: Error) => reject(failed(`no answer from ${url.host}: ${reasonOf(error)}`, error));
    request(url, {
      // A connection of its own, so that none is used that was made for another check.
      ...{ agent: false, headers: HEADERS, lookup: only(addresses), signal },
    })
      .once('response', resolve)
      .once('error', fail)
      .once('close', () => fail())
      .end();
  });
}

/** Answers every question for an address with those that were checked. */
function only(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, { all }, answer) => {
    const [first = { address: '', family: 4 }] = addresses;
    if (all) answer(null, [...addresses]);
    else answer(null, first.address, first.family);
  };
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Pick<Download, 'body' | 'cut'>> {
  const chunks: Buffer[] = [];
  let room = maxBytes;
  try {
    for await (const chunk of decompressed(response) as AsyncIterable<Buffer>) {
      chunks.push(chunk.subarray(0, room));
      if (chunk.length > room) return { body: Buffer.concat(chunks), cut: true };
      room -= chunk.length;
    }
  } catch (thrown) {
    if (thrown instanceof ThreadloopError) throw thrown;
    const error = toError(thrown);
    throw failed(`the answer broke off: ${reasonOf(error)}`, error);
  }
  return { body: Buffer.concat(chunks), cut: false };
}

function decompressed(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() || 'identity';
  if (encoding === 'identity') return response;
  const decoder = decoderOf(encoding);
  if (!decoder) throw failed(`the encoding ${JSON.stringify(encoding.slice(0, 40))} is not known`);
  // What goes wrong reaches the reader as an error of the decoder.
  return pipeline(response, decoder, () => {});
}

function decoderOf(encoding: string) {
  // Servers that forget the end of the stream are common; what came before it is fine.
  const lenient = { finishFlush: constants.Z_SYNC_FLUSH };
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip(lenient);
  if (encoding === 'deflate') return createInflate(lenient);
  return encoding === 'br' ? createBrotliDecompress() : undefined;
}

/** A name lookup cannot be aborted; it is left alone. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function reasonOf(error: Error | undefined): string {
  if (!error) return 'the connection was closed';
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? error.message : `${code}`;
}

function failed(problem: string, cause?: Error): ThreadloopError {
  return new ThreadloopError(problem, { code: 'web_fetch_failed', cause });
}
