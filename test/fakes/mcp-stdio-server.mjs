import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { createFakeMcpServer } from './mcp-tools.mjs';

// The fake MCP server as a program; with the argument `legacy` it knows the older protocol only.
if (process.argv.includes('legacy')) await createFakeMcpServer().connect(new StdioServerTransport());
else serveStdio(createFakeMcpServer);
