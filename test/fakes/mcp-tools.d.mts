import type { McpServer } from '@modelcontextprotocol/server';

export function createFakeMcpServer(): McpServer;
