import type { Capabilities } from '../llm/capabilities.js';
import type { Model } from '../llm/model.js';
import type { PermissionPolicy } from '../policy/permissions.js';
import type { Tool } from '../tools/tool.js';
import type { QuoteOptions } from './quotes.js';

/** How old messages are made shorter; see `agents.*.compression` in the configuration. */
export interface CompressionOptions {
  readonly mode: 'algorithmic' | 'llm' | 'hybrid';
  /** Share of the room for input at which a summary is due. */
  readonly threshold: number;
  /** Writes the summaries; unset: the agent's own model. */
  readonly model?: Model | undefined;
}

/** Full-text search over what the agent knows; see core/knowledge. */
export interface KnowledgeSearch {
  /** The rendered quotes for a question, '' when nothing fits. */
  search(question: string, signal: AbortSignal): Promise<string>;
}

/** An agent of the config with its model and tools resolved. */
export interface AgentSpec {
  readonly name: string;
  readonly mode: 'chat' | 'tools' | 'plan';
  readonly model: Model;
  readonly systemPrompt: string;
  /** What other agents are told about it when they may call it. */
  readonly description: string;
  readonly maxIterations: number | undefined;
  readonly maxToolCallsPerTurn: number;
  readonly maxStopGateRejections: number;
  /** False: no schemas are sent; ask, plan and gate are off too. */
  readonly enableTools: boolean;
  /** Built-in ones first: of two with one name the first wins. */
  readonly tools: readonly Tool[];
  readonly coreToolNames: readonly string[] | null;
  /** Servers every conversation of this agent has; people may bind more (`/mcp`). */
  readonly mcpServers: readonly string[];
  /** Agents this one may call as tools. */
  readonly subAgents: readonly string[];
  readonly knowledge?: KnowledgeSearch | undefined;
  readonly quotes: QuoteOptions;
  readonly capabilities: Capabilities;
  readonly permissions: PermissionPolicy;
  readonly compressHistory: boolean;
  readonly compression: CompressionOptions;
  readonly steering: 'steer' | 'queue';
  readonly display: 'quiet' | 'normal' | 'verbose';
  /** Longer runs end with a short notifying reply, where edits notify nobody (design 5); unset: 60 s. */
  readonly notifyAfterMs?: number | undefined;
  readonly showReasoning: boolean;
  readonly showAnswer: boolean;
  /** Person ids who may answer, approve and stop besides the person who started the run. */
  readonly approvers: readonly string[];
  /** Person ids who may stop any run. */
  readonly admins: readonly string[];
  readonly askExpiresMs: number;
  readonly approvalExpiresMs: number;
}
