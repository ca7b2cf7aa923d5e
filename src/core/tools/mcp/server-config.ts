import { z } from 'zod';

const milliseconds = (most: number) => z.int().min(1).max(most);

const ofEveryServer = {
  enabled: z.boolean().default(true).describe('false: agents that name the server go on without it'),
  allow: z
    .array(z.string().min(1))
    .default(['*'])
    .describe("Tools offered to models, by the server's own names; * stands for anything"),
  deny: z.array(z.string().min(1)).default([]).describe('Tools never offered; wins over allow'),
  trust: z
    .boolean()
    .default(false)
    .describe("true: believe the server's hints that a tool only reads or may be repeated; others count as writing"),
  connectTimeoutMs: milliseconds(300_000).default(15_000).describe('Longest time to start or reach the server'),
  listTimeoutMs: milliseconds(300_000).default(10_000).describe('Longest time to list its tools'),
  callTimeoutMs: milliseconds(3_600_000).default(60_000).describe('Longest silence of a call; progress starts it anew'),
  maxTotalMs: milliseconds(86_400_000).default(600_000).describe('Longest call, progress or not'),
  maxResultChars: z
    .int()
    .min(1_000)
    .max(1_000_000)
    .default(20_000)
    .describe('Results still longer after compression are cut to this many characters'),
  elicitationMinutes: z
    .number()
    .positive()
    .max(1_440)
    .default(10)
    .describe(
      'How long a call is held open for a person to answer, with servers of the older protocol; over HTTP at most 4',
    ),
};

const stdioServer = z.strictObject({
  transport: z.literal('stdio').describe('The server is a program started by Threadloop'),
  command: z.string().min(1).describe('Program to start'),
  args: z.array(z.string()).default([]).describe('Its arguments'),
  cwd: z.string().min(1).optional().describe('Its working directory; unset: that of Threadloop'),
  env: z
    .record(z.string().min(1), z.string().meta({ description: 'Value of the variable', secret: true }))
    .default({})
    .describe('Environment variables; of the own ones only PATH, HOME and the like are passed on'),
  ...ofEveryServer,
});

const httpServer = z.strictObject({
  transport: z.literal('http').describe('Streamable HTTP'),
  url: z
    .url({ protocol: /^https?$/, error: 'write the whole address of the endpoint, like https://example.com/mcp' })
    .meta({ description: 'Address of the endpoint', secret: true }),
  headers: z
    .record(z.string().min(1), z.string().meta({ description: 'Value of the header', secret: true }))
    .default({})
    .describe('Headers of every request, for example Authorization'),
  ...ofEveryServer,
});

/** Configurations written for other programs name these; such a server is left out with a warning. */
const unsupportedServer = z.looseObject({
  transport: z.enum(['sse', 'websocket']).describe('Not supported: the server is left out with a warning'),
  enabled: z.boolean().default(true).describe('false: agents that name the server go on without it'),
});

/** One entry of `mcpServers`. */
export const mcpServerConfig = z.discriminatedUnion('transport', [stdioServer, httpServer, unsupportedServer], {
  error: 'set transport to stdio (with command) or http (with url)',
});

export type McpServerConfig = z.infer<typeof mcpServerConfig>;
/** A server Threadloop can talk to. */
export type UsableServerConfig = z.infer<typeof stdioServer> | z.infer<typeof httpServer>;
export type StdioServerConfig = z.infer<typeof stdioServer>;
export type HttpServerConfig = z.infer<typeof httpServer>;
