import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AgentConfig, Config, ModelConfig } from './config.js';
import type { AgentSpec, KnowledgeSearch } from './core/agent/agent-spec.js';
import { createKnowledge, joinKnowledge, type Knowledge } from './core/knowledge/knowledge.js';
import { renderQuotes } from './core/knowledge/quote-text.js';
import { createOpenAiModel } from './core/llm/client.js';
import { createDemoModel } from './core/llm/demo-model.js';
import type { Model } from './core/llm/model.js';
import type { Logger } from './core/ports/logger.js';
import { builtinTools } from './core/tools/builtin/index.js';

const HOUR_MS = 3_600_000;

/** The agents and models of the configuration, made once per process, by name. */
export interface Agents {
  readonly agents: ReadonlyMap<string, AgentSpec>;
  readonly models: ReadonlyMap<string, Model>;
}

export function createAgents(config: Config, logger: Logger): Agents {
  const models = new Map(Object.entries(config.models).map(([name, model]) => [name, createModel(name, model)]));
  // Only when no model is configured at all: a wrong key or address must never be answered by a demo.
  if (models.size === 0) models.set('default', createDemoModel({ docs: ownDocs() }));
  const folders = new Map(
    Object.entries(config.knowledge).map(([name, folder]) => [name, createKnowledge({ name, ...folder, logger })]),
  );
  const agents = Object.entries(config.agents).map(
    ([name, agent]) => [name, createAgent(name, agent, { models, folders })] as const,
  );
  return { agents: new Map(agents), models };
}

interface Parts {
  readonly models: ReadonlyMap<string, Model>;
  readonly folders: ReadonlyMap<string, Knowledge>;
}

function createAgent(name: string, agent: AgentConfig, { models, folders }: Parts): AgentSpec {
  const { approvals, compression, vision, audio, video, reasoning } = agent;
  const known = agent.knowledge.flatMap((folder) => folders.get(folder) ?? []);
  return {
    ...{ name, mode: agent.mode, model: modelNamed(models, agent.model), description: agent.description },
    systemPrompt: agent.systemPrompt,
    maxIterations: agent.maxIterations,
    maxToolCallsPerTurn: agent.maxToolCallsPerTurn,
    maxStopGateRejections: agent.maxStopGateRejections,
    enableTools: agent.enableTools,
    tools: builtinTools.filter((tool) => agent.tools.includes(tool.name)),
    coreToolNames: agent.coreToolNames,
    mcpServers: agent.mcpServers,
    subAgents: agent.subAgents,
    ...(known.length > 0 ? { knowledge: searchOf(known) } : {}),
    quotes: { role: agent.quoteRole, template: agent.quoteTemplate },
    capabilities: { vision, audio, video, reasoning },
    permissions: agent.permissions,
    compressHistory: agent.compressHistory,
    compression: {
      ...{ mode: compression.mode, threshold: compression.threshold },
      ...(compression.model === undefined ? {} : { model: modelNamed(models, compression.model) }),
    },
    ...{ steering: agent.steering, display: agent.display, notifyAfterMs: agent.notifyAfterSeconds * 1_000 },
    ...{ showReasoning: agent.showReasoning, showAnswer: agent.showAnswer },
    ...{ approvers: approvals.approvers, admins: approvals.admins },
    askExpiresMs: agent.ask.expiresHours * HOUR_MS,
    approvalExpiresMs: approvals.expiresHours * HOUR_MS,
  };
}

function modelNamed(models: ReadonlyMap<string, Model>, name: string): Model {
  const model = models.get(name);
  if (!model) throw new TypeError(`loadConfig guarantees that model ${name} exists`);
  return model;
}

function searchOf(folders: readonly Knowledge[]): KnowledgeSearch {
  const known = joinKnowledge(folders);
  return { search: async (question, signal) => renderQuotes(await known.search(question, signal)) };
}

function createModel(name: string, model: ModelConfig): Model {
  const { vision, audio, video, reasoning, price } = model;
  return createOpenAiModel({
    ...{ name, baseUrl: model.baseUrl, apiKey: model.apiKey, model: model.model },
    ...{ contextWindow: model.contextWindow, maxOutputTokens: model.maxOutputTokens },
    ...{ price: price?.tiers ?? [], capabilities: { vision, audio, video, reasoning } },
    ...{ defaultSystemPrompt: model.defaultSystemPrompt, headers: model.headers },
    ...{ temperature: model.temperature, topP: model.topP },
  });
}

/** README, ARCHITECTURE and docs/ of this installation: what the demo model answers from. */
function ownDocs(): { title: string; text: string }[] {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const folder = `${root}docs`;
  const inDocs = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  const files = ['README.md', 'ARCHITECTURE.md', ...inDocs.filter((f) => f.endsWith('.md')).map((f) => `docs/${f}`)];
  return files
    .filter((file) => existsSync(`${root}${file}`))
    .map((file) => ({ title: file, text: readFileSync(`${root}${file}`, 'utf8') }));
}
