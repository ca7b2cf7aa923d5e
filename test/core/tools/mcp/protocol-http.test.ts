import { startFakeMcpHttpServer } from '../../../fakes/mcp-http-server.js';
import { endpoint } from './fixture.js';
import { describeProtocol, type ReachableServer } from './protocol-table.js';

async function listening(era: 'modern' | 'legacy'): Promise<ReachableServer> {
  const server = await startFakeMcpHttpServer(era);
  return { config: endpoint(server.url), close: () => server.close() };
}

describeProtocol('over Streamable HTTP', () => listening('modern'));
describeProtocol('over Streamable HTTP in the older protocol', () => listening('legacy'));
