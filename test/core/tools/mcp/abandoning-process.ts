import { createMcpServers } from '../../../../src/core/tools/mcp/mcp-servers.js';
import { mcpServerConfig } from '../../../../src/core/tools/mcp/server-config.js';
import { quietLogger } from '../../../fakes/quiet.js';

// Connects a server and ends without closing it.
const { INPUT = '' } = process.env;
const servers = createMcpServers({ servers: { fake: mcpServerConfig.parse(JSON.parse(INPUT)) }, logger: quietLogger });
const { tools } = await servers.tools(['fake'], new AbortController().signal);
process.send?.(tools.length, () => process.exit(0));
