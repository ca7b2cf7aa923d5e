import type { AgentSpec } from '../../src/core/agent/agent-spec.js';
import type { Model } from '../../src/core/llm/model.js';

const HOUR_MS = 3_600_000;

/** An agent for tests: mode `tools`, every tool allowed; `over` replaces what a test is about. */
export function agentSpec(model: Model, over: Partial<AgentSpec> = {}): AgentSpec {
  return {
    ...{ name: 'assistant', mode: 'tools', model, systemPrompt: '', description: '' },
    ...{ maxIterations: undefined, maxToolCallsPerTurn: 5, maxStopGateRejections: 2, enableTools: true },
    ...{ tools: [], coreToolNames: null, mcpServers: [], subAgents: [], quotes: { role: 'system' } },
    capabilities: { vision: true, audio: true, video: true, reasoning: true },
    permissions: { mode: 'bypass', rules: [] },
    ...{ compressHistory: true, compression: { mode: 'hybrid', threshold: 0.8 } },
    ...{ steering: 'steer', display: 'normal', showReasoning: false, showAnswer: true },
    ...{ approvers: [], admins: [], askExpiresMs: 168 * HOUR_MS, approvalExpiresMs: 24 * HOUR_MS },
    ...over,
  };
}
