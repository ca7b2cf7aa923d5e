import { fileURLToPath } from 'node:url';
import {
  createMcpServers,
  type McpServers,
  type McpServersOptions,
} from '../../../../src/core/tools/mcp/mcp-servers.js';
import { type McpServerConfig, mcpServerConfig } from '../../../../src/core/tools/mcp/server-config.js';
import type { Tool, ToolContext, ToolOutcome, ToolQuestion } from '../../../../src/core/tools/tool.js';
import { createRecordingLogger, type RecordedLine } from '../../../fakes/recording-logger.js';

const SERVER = fileURLToPath(new URL('../../../fakes/mcp-stdio-server.mjs', import.meta.url));

/** The fake server on standard input and output, with all its tools. */
export function pipe(era: 'modern' | 'legacy', more: object = {}): McpServerConfig {
  const given = { transport: 'stdio', command: process.execPath, args: [SERVER, era], connectTimeoutMs: 60_000 };
  return mcpServerConfig.parse({ ...given, ...more });
}

export function endpoint(url: string, more: object = {}): McpServerConfig {
  return mcpServerConfig.parse({ transport: 'http', url, ...more });
}

export interface OpenServers {
  readonly servers: McpServers;
  readonly lines: readonly RecordedLine[];
  /** The tool with this name of the server `fake`. */
  tool(name: string): Promise<Tool>;
  /** Runs it with no arguments, or these. */
  run(name: string, args?: object, context?: Partial<ToolContext>): Promise<ToolOutcome>;
}

/** MCP servers with one called `fake`; the test closes `servers`. */
export function openServers(fake: McpServerConfig, options: Partial<McpServersOptions> = {}): OpenServers {
  const logger = createRecordingLogger();
  const servers = createMcpServers({ servers: { fake }, logger, ...options });
  const tool = async (name: string) => {
    const { tools, skipped } = await servers.tools(['fake'], new AbortController().signal);
    const found = tools.find((one) => one.name === `mcp_fake_${name}`);
    if (!found) throw new Error(`no tool ${name}: ${JSON.stringify({ skipped, tools: tools.map((one) => one.name) })}`);
    return found;
  };
  return {
    servers,
    lines: logger.lines,
    tool,
    async run(name, args = {}, context = {}) {
      return outcomeOf(await (await tool(name)).run(JSON.stringify(args), contextOf(context)));
    },
  };
}

export function contextOf(more: Partial<ToolContext> = {}): ToolContext {
  return { signal: new AbortController().signal, now: Date.now, ...more };
}

export function outcomeOf(outcome: string | ToolOutcome): ToolOutcome {
  return typeof outcome === 'string' ? { content: outcome } : outcome;
}

/** A person who gives these answers in order and then none. */
export function person(...answers: readonly string[]): {
  readonly questions: ToolQuestion[];
  readonly ask: NonNullable<ToolContext['ask']>;
} {
  const questions: ToolQuestion[] = [];
  const left = [...answers];
  return {
    questions,
    async ask(question) {
      questions.push(question);
      const answer = left.shift();
      return answer === undefined ? {} : { answer };
    },
  };
}

/** A promise somebody else resolves. */
export function held<T = undefined>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: (value) => resolve(value) };
}
