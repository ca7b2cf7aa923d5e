import { z } from 'zod';
import type { AgentSpec } from '../../../src/core/agent/agent-spec.js';
import type { AgentEvent } from '../../../src/core/agent/events.js';
import { runTurn, type TurnInput, type TurnResult } from '../../../src/core/agent/run-turn.js';
import { turnState } from '../../../src/core/agent/turn-state.js';
import { createOpenAiModel, type OpenAiModelOptions } from '../../../src/core/llm/client.js';
import type { Model } from '../../../src/core/llm/model.js';
import { defineTool, type Tool, type ToolDefinition } from '../../../src/core/tools/tool.js';
import { agentSpec } from '../../fakes/agent-spec.js';
import { type ModelScript, type ModelStep, type RecordedRequest, startModelServer } from '../../fakes/model-server.js';

export interface Played {
  readonly result: TurnResult;
  /** What the agent's model was sent, over HTTP. */
  readonly requests: readonly RecordedRequest[];
  readonly events: readonly AgentEvent[];
  /** Events of one type, in order. */
  of<Type extends AgentEvent['type']>(type: Type): readonly Extract<AgentEvent, { type: Type }>[];
}

export interface PlayOptions extends Partial<Omit<TurnInput, 'agent' | 'model' | 'host'>> {
  readonly agent?: Partial<AgentSpec>;
  readonly model?: Partial<OpenAiModelOptions>;
  readonly host?: Partial<TurnInput['host']>;
}

/** One turn of an agent over a scripted model server, whose input tokens cost 1 each. Every request is validated. */
export async function play(script: ModelScript, options: PlayOptions = {}): Promise<Played> {
  const { agent, model: settings, host, ...input } = options;
  const events: AgentEvent[] = [];
  const { result, requests } = await withModel(script, settings, (model) =>
    runTurn({
      ...{ agent: agentSpec(model, agent), model, text: 'question', person: 'fake:1', chat: 'fake:c', now: () => 0 },
      ...{ history: [], historyFrom: 0, summary: null, summaryFailures: 0, grants: [], loadedTools: [] },
      ...{ mcpServers: [], agents: () => undefined, signal: new AbortController().signal },
      ...input,
      host: {
        ...{ takeSteering: async () => undefined, save: async () => undefined },
        ...host,
        onEvent(event) {
          events.push(event);
          host?.onEvent?.(event);
        },
      },
    }),
  );
  // Whatever happened: the state stays one that a later process can read.
  turnState.parse(JSON.parse(JSON.stringify(result.turn)));
  return {
    ...{ result, requests, events },
    of: (type) => events.filter((event): event is Extract<AgentEvent, { type: typeof type }> => event.type === type),
  };
}

/** Gives `work` a model behind a scripted server that lives as long as it takes. */
export async function withModel<Result>(
  script: ModelScript,
  settings: Partial<OpenAiModelOptions> | undefined,
  work: (model: Model) => Promise<Result>,
): Promise<{ readonly result: Result; readonly requests: readonly RecordedRequest[] }> {
  const server = await startModelServer(script);
  try {
    const model = createOpenAiModel({
      ...{ name: 'scripted', baseUrl: server.url, model: 'm', contextWindow: 128_000, maxOutputTokens: 4_096 },
      price: [{ input: 1_000_000, output: 0 }],
      ...settings,
    });
    return { result: await work(model), requests: server.requests };
  } finally {
    await server.close();
  }
}

/** A reply that is one call, or several: `[id, name, arguments]`. */
export function calls(...made: readonly (readonly [id: string, name: string, args?: string | object])[]): ModelStep {
  return { toolCalls: made.map(([id, name, args = {}]) => ({ id, name, arguments: args })) };
}

/** A tool without arguments that says that it was done. */
export function simpleTool(name: string, over: Partial<ToolDefinition<z.ZodObject>> = {}): Tool {
  return defineTool({
    ...{ name, description: `Does ${name}.`, parameters: z.object({}), idempotent: true, risk: 'read' },
    execute: async () => `${name} done`,
    ...over,
  });
}

/** Results of tools in the chain, in order. */
export function results({ result }: Pick<Played, 'result'>): readonly string[] {
  return result.state.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}

/** The messages of a request as `role:content`, without the system prompt. */
export function sent({ requests }: Pick<Played, 'requests'>, request: number): readonly string[] {
  const messages: { role: string; content: string | null }[] = requests[request]?.body.messages ?? [];
  return messages.filter(({ role }) => role !== 'system').map(({ role, content }) => `${role}:${content ?? ''}`);
}
