import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AgentConfig, Config, ModelConfig } from './config.js';
import type { AgentSpec } from './core/agent/run-turn.js';
import { createOpenAiModel } from './core/llm/client.js';
import { createDemoModel } from './core/llm/demo-model.js';
import type { Model } from './core/llm/model.js';
import { builtinTools } from './core/tools/builtin/index.js';
import { createToolCatalog } from './core/tools/catalog.js';

/** The agents of the configuration with their models and tools, made once per process, by name. */
export function createAgents(config: Config): ReadonlyMap<string, AgentSpec> {
  const models = new Map(Object.entries(config.models).map(([name, model]) => [name, createModel(name, model)]));
  // Only when no model is configured at all: a wrong key or address must never be answered by a demo.
  if (models.size === 0) models.set('default', createDemoModel({ docs: ownDocs() }));
  return new Map(
    Object.entries(config.agents).map(([name, agent]) => {
      const model = models.get(agent.model);
      if (!model) throw new TypeError(`loadConfig guarantees the model of agent ${name}`);
      return [name, createAgent(name, agent, { model, prompt: config.models[agent.model]?.defaultSystemPrompt ?? '' })];
    }),
  );
}

function createAgent(name: string, agent: AgentConfig, { model, prompt }: { model: Model; prompt: string }): AgentSpec {
  const chosen = builtinTools.filter((tool) => agent.tools.includes(tool.name));
  return {
    name,
    mode: agent.mode,
    model,
    systemPrompt: agent.systemPrompt || prompt,
    maxIterations: agent.maxIterations,
    maxToolCallsPerTurn: agent.maxToolCallsPerTurn,
    enableTools: agent.enableTools,
    catalog: createToolCatalog(chosen),
    steering: agent.steering,
    display: agent.display,
    notifyAfterMs: agent.notifyAfterSeconds * 1_000,
    showReasoning: agent.showReasoning,
    showAnswer: agent.showAnswer,
    stoppers: [...agent.approvals.approvers, ...agent.approvals.admins],
  };
}

function createModel(name: string, model: ModelConfig): Model {
  return createOpenAiModel({
    name,
    baseUrl: model.baseUrl,
    apiKey: model.apiKey,
    model: model.model,
    contextWindow: model.contextWindow,
    maxOutputTokens: model.maxOutputTokens,
    price: model.price?.tiers ?? [],
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
