import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How the fake platform behaves when a post is repeated or looked for. */
export type PlatformMode = 'idempotent' | 'lookup' | 'blind';

export interface PlatformMessage {
  readonly id: string;
  readonly position: number;
  readonly space: string;
  readonly nonce: string;
  readonly mode: PlatformMode;
  text: string;
  removed: boolean;
  /** Every text it ever showed, with the time of the change. */
  readonly versions: { text: string; at: number }[];
}

export interface PlatformFaults {
  /** Share of calls that are carried out but whose answer is lost. */
  drop?: number;
  /** Share of posts and edits answered with 429. */
  limit?: number;
  /** Longest latency of one way, ms. */
  latencyMs?: number;
}

export interface PlatformServer {
  readonly url: string;
  readonly messages: readonly PlatformMessage[];
  close(): Promise<void>;
}

interface Call {
  space: string;
  nonce: string;
  text: string;
  id: string;
  mode: PlatformMode;
}

/**
 * A chat platform of our own on loopback: post, edit, remove, find, dump. Every message keeps all versions, so that a
 * judge can tell losses, doubles and frozen halves. Runs in the test's process or alone (`main` below).
 */
export async function startPlatformServer(faults: PlatformFaults = {}, port = 0): Promise<PlatformServer> {
  const messages: PlatformMessage[] = [];
  const chance = (share: number | undefined): boolean => Math.random() < (share ?? 0);
  const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * (faults.latencyMs ?? 0)));

  const byNonce = (nonce: string) => messages.filter((m) => m.nonce === nonce && !m.removed);

  function carryOut(operation: string, call: Call): object {
    if (operation === 'post') {
      const existing = byNonce(call.nonce)[0];
      if (call.mode === 'idempotent' && existing) return { id: existing.id };
      const id = `m${messages.length + 1}`;
      messages.push({
        ...{ id, position: messages.length, space: call.space, nonce: call.nonce, mode: call.mode, text: call.text },
        removed: false,
        versions: [{ text: call.text, at: Date.now() }],
      });
      return { id };
    }
    if (operation === 'find') return { ids: byNonce(call.nonce).map((m) => m.id) };
    const message = messages.find((m) => m.id === call.id);
    if (!message || message.removed) return { gone: true };
    if (operation === 'remove') message.removed = true;
    else if (message.text !== call.text) {
      message.text = call.text;
      message.versions.push({ text: call.text, at: Date.now() });
    }
    return {};
  }

  const server = createServer((request, response) => {
    void (async () => {
      const operation = (request.url ?? '').slice(1);
      const call = await readJson(request);
      if (operation === 'dump') return void response.end(JSON.stringify(messages));
      await pause();
      const limited = (operation === 'post' || operation === 'edit') && chance(faults.limit);
      const answer = limited ? { retryAfterMs: 300 + Math.random() * 700 } : carryOut(operation, call);
      if (!limited && chance(faults.drop)) return void response.destroy();
      await pause();
      response.statusCode = limited ? 429 : 200;
      response.end(JSON.stringify(answer));
    })();
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readJson(request: IncomingMessage): Promise<Call> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return JSON.parse(body || '{}') as Call;
}
