import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { createFakeMcpServer } from './mcp-tools.mjs';

export interface FakeMcpHttpServer {
  readonly url: string;
  /** Headers of every request so far. */
  readonly seen: readonly IncomingHttpHeaders[];
  /** JSON-RPC messages posted so far. */
  readonly bodies: readonly { readonly method?: string }[];
  /** Open sessions of the older protocol. */
  readonly sessions: number;
  /** Open streams on which clients hear of changes. */
  readonly streams: number;
  /** Answers in place of the server from now on; undefined ends that. */
  intercept: ((request: Request) => Response | undefined | Promise<Response | undefined>) | undefined;
  /** Cuts every connection, as a killed process does. */
  cut(): void;
  /** Forgets all sessions of the older protocol, as a restarted process does. */
  forgetSessions(): void;
  /** Tells clients of the newer protocol that the tools changed; in the older one the tools do so themselves. */
  toolsChanged(): void;
  close(): Promise<void>;
}

/** The fake MCP server over Streamable HTTP on a free port: of the newer protocol, or with sessions of the older one. */
export async function startFakeMcpHttpServer(era: 'modern' | 'legacy', port = 0): Promise<FakeMcpHttpServer> {
  const modern = createMcpHandler(createFakeMcpServer, { legacy: 'reject' });
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const seen: IncomingHttpHeaders[] = [];
  const bodies: { method?: string }[] = [];
  let gets = 0;

  async function legacy(request: Request): Promise<Response> {
    const known = request.headers.get('mcp-session-id');
    if (known) {
      return (
        sessions.get(known)?.handleRequest(request) ?? Response.json({ error: 'no such session' }, { status: 404 })
      );
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await createFakeMcpServer().connect(transport);
    return transport.handleRequest(request);
  }

  const fake: FakeMcpHttpServer & { url: string } = {
    url: '',
    seen,
    bodies,
    get sessions() {
      return sessions.size;
    },
    get streams() {
      return gets + bodies.filter(({ method }) => method === 'subscriptions/listen').length;
    },
    intercept: undefined,
    cut: () => server.closeAllConnections(),
    forgetSessions: () => sessions.clear(),
    toolsChanged: () => modern.notify.toolsChanged(),
    async close() {
      await modern.close();
      for (const session of sessions.values()) await session.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const listener = getRequestListener(async (request) => {
    if (request.method === 'POST') bodies.push((await request.clone().json()) as { method?: string });
    if (request.method === 'GET') gets += 1;
    const instead = await fake.intercept?.(request);
    return instead ?? (era === 'modern' ? modern.fetch(request) : legacy(request));
  });
  const server = createServer((request, response) => {
    seen.push(request.headers);
    void listener(request, response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return fake;
}
