import { fileURLToPath } from 'node:url';
import { type ModelServer, type ModelStep, startModelServer } from '../fakes/model-server.js';

interface WireMessage {
  readonly role: string;
  readonly content: string | null;
}

/** A model server whose next answers a test names just before it needs them. */
export interface ScriptedModel {
  readonly server: ModelServer;
  /** The next requests get these answers, in order; what an earlier test left over is dropped. */
  play(...steps: readonly ModelStep[]): void;
  /** Answers not asked for yet. */
  readonly left: number;
  /** What the newest request said. */
  readonly messages: readonly WireMessage[];
  /** The results in the newest request since the last text of a person, oldest first. */
  readonly results: readonly string[];
  /** Names of the tools in the newest request. */
  readonly tools: readonly string[];
}

export async function startScriptedModel(): Promise<ScriptedModel> {
  let steps: ModelStep[] = [];
  const server = await startModelServer(() => steps.shift() ?? { text: 'The script has no answer for this.' });
  const newest = () => server.requests.at(-1)?.body;
  const messages = (): readonly WireMessage[] => newest()?.messages ?? [];
  return {
    server,
    play(...next) {
      steps = [...next];
    },
    get left() {
      return steps.length;
    },
    get messages() {
      return messages();
    },
    get results() {
      const from = messages().findLastIndex(({ role }) => role === 'user');
      return messages()
        .slice(from)
        .flatMap(({ role, content }) => (role === 'tool' ? [content ?? ''] : []));
    },
    get tools() {
      return newest()?.tools?.map((tool: { function: { name: string } }) => tool.function.name) ?? [];
    },
  };
}

/** A round of one call; servers with plain ids give every round the same one, as the script does by default. */
export function calls(name: string, args: object = {}): ModelStep {
  return { toolCalls: [{ name, arguments: args }] };
}

/** The fake MCP server as a program, for `mcpServers` of a configuration. */
export function mcpProgram(era: 'modern' | 'legacy'): object {
  const path = fileURLToPath(new URL('../fakes/mcp-stdio-server.mjs', import.meta.url));
  return { transport: 'stdio', command: process.execPath, args: [path, era], connectTimeoutMs: 60_000 };
}
