import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { framesOf, type ModelStep, wholeCompletion } from './model-frames.js';
import { requestFaults } from './request-validator.js';

export { type ModelStep, numberedWords, type ScriptedCall, type ToolCallShape } from './model-frames.js';

export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
  readonly body: any;
  /** Resolves when the answer was sent or the client went away: true means it went away first. */
  readonly aborted: Promise<boolean>;
}

/** One step for every request, one step per request (more requests are answered with 500), or a decision each time. */
export type ModelScript =
  | ModelStep
  | readonly ModelStep[]
  | ((request: RecordedRequest, index: number) => ModelStep | Promise<ModelStep>);

export interface ModelServer {
  /** The `baseUrl` of a model: ends in `/v1`. */
  readonly url: string;
  /** In order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** The nth request (from 0), as soon as it has arrived. */
  request(index: number): Promise<RecordedRequest>;
  /** Rejects when a request was one that a strict vendor refuses: every test with a model checks them all. */
  close(): Promise<void>;
}

/** An OpenAI-compatible server on a free loopback port that plays a script. */
export async function startModelServer(script: ModelScript, port = 0): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const faults: string[] = [];
  const waiting: { readonly index: number; readonly resolve: (request: RecordedRequest) => void }[] = [];
  const server = createServer((message, response) => {
    answer(message, response).catch(() => response.destroy());
  });

  async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await record(message, response);
    const index = requests.push(request) - 1;
    faults.push(...requestFaults(request.body ?? {}).map((fault) => `request ${index}: ${fault}`));
    for (const { resolve } of waiting.filter((wait) => wait.index === index)) resolve(request);
    await play(await stepFor(script, request, index), response);
  }

  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async request(index) {
      return requests[index] ?? new Promise((resolve) => waiting.push({ index, resolve }));
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      if (faults.length > 0) throw new Error(`a strict vendor would refuse this:\n${faults.join('\n')}`);
    },
  };
}

async function record(message: IncomingMessage, response: ServerResponse): Promise<RecordedRequest> {
  const aborted = new Promise<boolean>((resolve) => {
    response.once('close', () => resolve(!response.writableFinished));
  });
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return {
    path: message.url ?? '',
    headers: message.headers,
    body: text === '' ? undefined : JSON.parse(text),
    aborted,
  };
}

async function stepFor(script: ModelScript, request: RecordedRequest, index: number): Promise<ModelStep> {
  if (typeof script === 'function') return script(request, index);
  if (!Array.isArray(script)) return script as ModelStep;
  return (
    script[index] ?? {
      fault: { kind: 'status', status: 500, body: { error: { message: 'the script is at its end' } } },
    }
  );
}

async function play(step: ModelStep, response: ServerResponse): Promise<void> {
  const { fault, delayMs = 0 } = step;
  if (delayMs > 0) await sleep(delayMs);
  switch (fault?.kind) {
    case 'refuse':
      response.destroy();
      return;
    case 'silent':
      return;
    case 'status':
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
      response.end(
        typeof fault.body === 'string' ? fault.body : JSON.stringify(fault.body ?? { error: { message: 'no' } }),
      );
      return;
    case 'raw':
      response.writeHead(200, { 'content-type': fault.contentType });
      response.end(fault.body);
      return;
    case 'json':
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(wholeCompletion(step)));
      return;
    default:
      await stream(step, response);
  }
}

async function stream(step: ModelStep, response: ServerResponse): Promise<void> {
  const { fault, tokensPerSecond } = step;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': step.requestId ?? 'req_fake' });
  const frames = framesOf(step);
  if (step.writeBytes) return streamBytes(frames.map(({ data }) => data).join(''), step.writeBytes, response);
  const after = fault && 'after' in fault ? fault.after : undefined;
  const began = performance.now();
  let tokens = 0;
  for (const frame of frames) {
    if (response.destroyed) return;
    if (frame.token) {
      if (tokens === after && fault?.kind === 'keep_alive') await keepAlive(fault, response);
      else if (tokens === after) return breakOff(step, response);
      tokens += 1;
      if (tokensPerSecond) {
        const wait = began + (tokens * 1_000) / tokensPerSecond - performance.now();
        if (wait > 1) await sleep(wait);
      }
    }
    if (!response.write(frame.data))
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
  }
  if (fault?.kind !== 'keep_open') response.end();
}

async function keepAlive({ everyMs, times }: { everyMs: number; times: number }, response: ServerResponse) {
  for (let time = 0; time < times; time += 1) {
    response.write(': keep-alive\n\n');
    await sleep(everyMs);
  }
}

async function streamBytes(text: string, size: number, response: ServerResponse): Promise<void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    await new Promise(setImmediate);
  }
  response.end();
}

/** What happens after `after` tokens. */
function breakOff({ fault }: ModelStep, response: ServerResponse): void {
  switch (fault?.kind) {
    case 'cut':
      // What was written must arrive first, or the client sees a failed request instead of a broken stream.
      response.write(': about to break\n\n', () => setTimeout(() => response.destroy(), 20));
      return;
    case 'eof':
      response.end();
      return;
    case 'stall':
      return;
    case 'error_event':
      response.end(`data: ${JSON.stringify({ error: fault.error })}\n\n`);
      return;
    case 'malformed':
      response.write('data: {"choices":[{"delta":{"content":"half\n\n');
      response.end('data: [DONE]\n\n');
      return;
    default:
      response.end();
  }
}

/** Stand-alone: `tsx test/fakes/model-server.ts --words 600 --rate 60 [--port 0]`; prints `{"url":…}` and serves. */
async function serve(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      words: { type: 'string', default: '600' },
      rate: { type: 'string', default: '60' },
      delay: { type: 'string', default: '0' },
    },
  });
  const step = { words: Number(values.words), tokensPerSecond: Number(values.rate), delayMs: Number(values.delay) };
  const server = await startModelServer(step, Number(values.port));
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve();
