import { afterEach, describe, expect, it } from 'vitest';
import { runChatTurn } from '../../../src/core/agent/chat-turn.js';
import type { AgentEvent } from '../../../src/core/agent/events.js';
import { runAgentLoop } from '../../../src/core/agent/run-agent-loop.js';
import { createLoopState } from '../../../src/core/agent/transcript.js';
import { AbortedError, ThreadloopError } from '../../../src/core/errors.js';
import { createOpenAiModel } from '../../../src/core/llm/client.js';
import { agentToolName, createAgentTool } from '../../../src/core/subagents/agent-tool.js';
import { createToolCatalog } from '../../../src/core/tools/catalog.js';
import type { ToolContext } from '../../../src/core/tools/tool.js';
import { type ModelScript, type ModelServer, startModelServer } from '../../fakes/model-server.js';

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function modelOf(name: string, script: ModelScript) {
  const server = await startModelServer(script);
  servers.push(server);
  const { url: baseUrl } = server;
  const model = createOpenAiModel({ name, baseUrl, model: 'm', contextWindow: 1_000, maxOutputTokens: 100 });
  return { server, model };
}

describe('an agent as a tool', () => {
  /** An agent that may call a chat agent called `helper.1`; both models are scripted servers. */
  async function delegate(inner: ModelScript, stop = new AbortController(), onEvent?: (event: AgentEvent) => void) {
    const task = { toolCalls: [{ name: 'agent_helper_1', arguments: { task: 'count the words' }, id: 'c1' }] };
    const outer = await modelOf('outer', [task, { text: 'It has three.' }]);
    const helper = await modelOf('helper', inner);
    const events: AgentEvent[] = [];
    const tool = createAgentTool({
      name: 'helper.1',
      description: 'Counts.',
      async run(text, { signal, callId = '', onEvent }) {
        const result = await runChatTurn({
          model: helper.model,
          state: createLoopState([{ role: 'user', content: text }]),
          signal,
          onEvent: (event) => onEvent?.({ type: 'subagent', callId, agent: 'helper.1', event }),
        });
        if (result.finish === 'error') throw result.error;
        return { text: result.text, failed: result.finish !== 'final' };
      },
    });
    const catalog = createToolCatalog([tool]);
    const tell = (event: AgentEvent) => {
      events.push(event);
      onEvent?.(event);
    };
    const result = await runAgentLoop({
      model: outer.model,
      state: createLoopState([{ role: 'user', content: 'how many words?' }]),
      hooks: {
        getRequestControl: () => ({ tools: catalog.schemas }),
        onRunTool: (call, context) => catalog.run(call, { ...context, now: () => 0, callId: call.id, onEvent: tell }),
        onEvent: tell,
      },
      signal: stop.signal,
    });
    return { result, events, outer: outer.server, helper: helper.server };
  }

  it('gets the task alone, answers with its text, and its events are part of the call', async () => {
    const { result, events, outer, helper } = await delegate({ text: 'three', reasoning: 'hm' });
    expect(result).toMatchObject({ finish: 'final', text: 'It has three.' });
    expect(helper.requests.map(({ body }) => body.messages)).toEqual([[{ role: 'user', content: 'count the words' }]]);
    expect(outer.requests[1]?.body.messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'c1', content: 'three' });
    const inner = events.flatMap((event) => (event.type === 'subagent' ? [event] : []));
    expect(inner.every(({ callId, agent }) => callId === 'c1' && agent === 'helper.1')).toBe(true);
    expect(inner.map(({ event }) => event.type)).toEqual([
      'round.started',
      'reasoning.delta',
      'text.delta',
      'request.finished',
    ]);
    expect(outer.requests[0]?.body.tools[0].function).toMatchObject({
      name: 'agent_helper_1',
      description: 'Counts.',
      parameters: { type: 'object', required: ['task'], properties: { task: { type: 'string' } } },
    });
  });

  it('that fails is an error text for the model, and the run goes on', async () => {
    const { result, outer } = await delegate({ fault: { kind: 'status', status: 401 } });
    expect(result.finish).toBe('final');
    expect(outer.requests[1]?.body.messages.at(-1).content).toMatch(/^Error: model "helper"/);
  });

  it('ends with the run that called it', async () => {
    const stop = new AbortController();
    const { result, helper } = await delegate({ words: 500, tokensPerSecond: 100 }, stop, (event) => {
      if (event.type === 'subagent' && event.event.type === 'text.delta') stop.abort();
    });
    expect(result.finish).toBe('stopped');
    expect(await helper.requests[0]?.aborted).toBe(true);
    expect(helper.requests).toHaveLength(1);
  });
});

describe('the tool of an agent', () => {
  const context: ToolContext = { signal: new AbortController().signal, now: () => 0 };
  const tool = (run: Parameters<typeof createAgentTool>[0]['run']) =>
    createAgentTool({ name: 'x', description: '', run });

  it('has a name every vendor accepts', () => {
    expect(agentToolName('researcher')).toBe('agent_researcher');
    expect(agentToolName('a.b c/d')).toBe('agent_a_b_c_d');
    expect(agentToolName('x'.repeat(80))).toHaveLength(64);
  });

  it('says when the inner run ended without an answer of its own', async () => {
    expect(await tool(async () => ({ text: 'half', failed: true })).run('{"task":"t"}', context)).toEqual({
      content: 'half',
      failed: true,
    });
  });

  it('takes a task and nothing else', async () => {
    const echo = tool(async (task) => ({ text: task }));
    expect(await echo.run('{"task":" t "}', context)).toMatchObject({ content: 't' });
    for (const args of ['{}', '{"task":" "}', '{"task":1}', '{"task":"t","more":1}']) {
      await expect(echo.run(args, context)).rejects.toMatchObject({ code: 'tool_arguments' });
    }
  });

  it('passes aborts and errors on unchanged', async () => {
    for (const error of [new AbortedError(), new ThreadloopError('no', { code: 'x' })]) {
      await expect(tool(() => Promise.reject(error)).run('{"task":"t"}', context)).rejects.toBe(error);
    }
  });

  it('counts as writing and not repeatable unless said otherwise, and describes itself', () => {
    const plain = tool(async () => ({ text: '' }));
    expect(plain).toMatchObject({ risk: 'write', idempotent: false, description: expect.stringContaining('"x"') });
    const reader = createAgentTool({
      name: 'x',
      description: 'd',
      risk: 'read',
      idempotent: true,
      run: async () => ({ text: '' }),
    });
    expect(reader).toMatchObject({ risk: 'read', idempotent: true, description: 'd' });
  });
});
