import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AgentSpec } from '../../../src/core/agent/agent-spec.js';
import type { AgentEvent } from '../../../src/core/agent/events.js';
import { runTurn, type TurnInput } from '../../../src/core/agent/run-turn.js';
import { turnState } from '../../../src/core/agent/turn-state.js';
import { AbortedError } from '../../../src/core/errors.js';
import { defineTool } from '../../../src/core/tools/tool.js';
import { agentSpec } from '../../fakes/agent-spec.js';
import { call, type Script, type ScriptedModel, scriptedModel } from './scripted-model.js';

const tool = (name: string, over: object = {}) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, parameters: z.object({}), idempotent: true },
    execute: async () => `${name} done`,
    ...over,
  });

interface Played {
  readonly result: Awaited<ReturnType<typeof runTurn>>;
  readonly model: ScriptedModel;
  readonly events: readonly AgentEvent[];
}

async function turn(script: Script, over: Partial<AgentSpec> = {}, input: Partial<TurnInput> = {}): Promise<Played> {
  const model = scriptedModel(script, [{ input: 1_000_000, output: 0 }]);
  const events: AgentEvent[] = [];
  const agent = agentSpec(model, over);
  const result = await runTurn({
    ...{
      agent,
      model,
      history: [],
      historyFrom: 0,
      summary: null,
      summaryFailures: 0,
      text: 'question',
      person: 'fake:1',
      chat: 'fake:c',
    },
    ...{ grants: [], loadedTools: [], mcpServers: [], agents: () => undefined, now: () => 0 },
    signal: new AbortController().signal,
    host: { takeSteering: async () => undefined, save: async () => undefined, onEvent: (event) => events.push(event) },
    ...input,
  });
  turnState.parse(JSON.parse(JSON.stringify(result.turn)));
  return { result, model, events };
}

const names = ({ model }: Played, request: number) => model.requests[request]?.tools?.map(({ name }) => name);
const results = ({ result }: Played) =>
  result.state.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));

describe('runTurn', () => {
  it('puts the system prompt together: model, agent, and how many calls at once', async () => {
    const played = await turn([{ text: 'x' }], { systemPrompt: 'Be brief.', tools: [tool('look')] });
    expect(played.model.requests[0]?.messages[0]?.content).toBe(
      ['Be brief.', 'Call at most 5 tools in one reply.'].join('\n\n===---===---===\n\n'),
    );
  });

  it('without tools sends no schemas, and mode plan neither plans, asks nor gates', async () => {
    const played = await turn(
      [{ text: 'x' }],
      { mode: 'plan', enableTools: false, tools: [tool('look')] },
      {
        ...{ text: 'make a plan first' },
      },
    );
    expect(played.model.requests[0]?.tools).toBeUndefined();
    expect(played.result).toMatchObject({ finish: 'final', text: 'x' });
    expect(played.model.requests[0]?.messages.map(({ role }) => role)).toEqual(['user']);
  });

  it('offers the core, loads the rest by name, and offers that from the next round on', async () => {
    const played = await turn(
      [
        { calls: [call('a', 'rare'), call('b', 'load_tools', '{"names":["rare","rarer"]}')] },
        { calls: [call('c', 'rare')] },
        { text: 'x' },
      ],
      { tools: [tool('look'), tool('rare'), tool('other')], coreToolNames: ['look'] },
    );
    expect(names(played, 0)).toEqual(expect.arrayContaining(['look', 'load_tools']));
    expect(names(played, 0)).not.toContain('rare');
    expect(names(played, 1)).toContain('rare');
    expect(results(played)[0]).toMatch(/load_tools/);
    expect(results(played)[1]).toMatch(/rarer/);
    expect(results(played)[2]).toBe('rare done');
    expect(played.result.turn.loadedTools).toEqual(['rare']);
  });

  it('keeps the loop own tools from being shadowed and tells what is not there', async () => {
    const source = {
      tools: async () => ({
        tools: [tool('look'), tool('mcp_x_y')],
        skipped: [{ server: 'z', reason: 'failed', detail: 'refused' }],
      }),
    };
    const played = await turn(
      [{ text: 'x' }],
      { mode: 'plan', tools: [tool('look'), tool('update_plan')] },
      {
        ...{ mcp: source, mcpServers: ['x', 'z'] },
      },
    );
    expect(names(played, 0)).toEqual(['look', 'mcp_x_y', 'ask_agent', 'update_plan']);
    const opened = played.events.find((event) => event.type === 'run.opened');
    expect(opened).toMatchObject({
      skipped: [
        { name: 'update_plan', reason: 'internal' },
        { name: 'look', reason: 'shadowed' },
        { name: 'z', reason: 'failed: refused' },
      ],
    });
  });

  it('runs ordinary tools of mode plan side by side and writes results in the order of the calls', async () => {
    let running = 0;
    let most = 0;
    const slow = tool('slow', {
      execute: async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 20));
        running -= 1;
        return 'slow done';
      },
    });
    const calls = Array.from({ length: 7 }, (_, i) => call(`c${i}`, 'slow'));
    await turn([{ calls }, { text: 'x' }], { mode: 'plan', tools: [slow] });
    expect(most).toBe(5);
    running = 0;
    most = 0;
    await turn([{ calls }, { text: 'x' }], { mode: 'tools', tools: [slow] });
    expect(most).toBe(1);
  });

  it('hands a task to a sub-agent: its events are part of the call, its approvals are denied', async () => {
    const write = tool('write');
    const inner = scriptedModel(
      [{ calls: [call('i', 'write')] }, { text: 'inner answer' }],
      [{ input: 1_000_000, output: 0 }],
    );
    const helper = agentSpec(inner, { name: 'helper', tools: [write], permissions: { mode: 'ask', rules: [] } });
    const played = await turn(
      [{ calls: [call('s', 'agent_helper', '{"task":"do it"}')] }, { text: 'outer answer' }],
      { subAgents: ['helper'] },
      { agents: (name) => (name === 'helper' ? helper : undefined) },
    );
    expect(results(played)).toEqual(['inner answer']);
    const nested = played.events.flatMap((event) => (event.type === 'subagent' ? [event] : []));
    expect(nested.every(({ callId, agent }) => callId === 's' && agent === 'helper')).toBe(true);
    expect(nested.filter(({ event }) => event.type === 'request.finished')).toHaveLength(2);
    expect(JSON.stringify(inner.requests[1]?.messages)).toMatch(/Denied: .*sub-agent cannot ask/);
    expect(inner.requests[0]?.messages.at(-1)).toEqual({ role: 'user', content: 'do it' });
  });

  it('binds a sub-agent to a mode that allows no change', async () => {
    const inner = scriptedModel([{ calls: [call('i', 'write')] }, { text: 'inner answer' }]);
    const helper = agentSpec(inner, { name: 'helper', tools: [tool('write')] });
    await turn(
      [{ calls: [call('s', 'agent_helper', '{"task":"do it"}')] }, { text: 'outer answer' }],
      { subAgents: ['helper'], permissions: { mode: 'readonly', rules: [] } },
      { agents: () => helper },
    );
    expect(JSON.stringify(inner.requests[1]?.messages)).toContain('Denied');
  });

  it('lets agents that call each other end', async () => {
    const calling = (name: string): AgentSpec =>
      agentSpec(
        scriptedModel(({ tools }) =>
          tools?.length ? { calls: [call(`x${Math.random()}`, 'agent_self', '{"task":"again"}')] } : { text: 'end' },
        ),
        { name, subAgents: ['self'], maxIterations: 1 },
      );
    const played = await turn(
      [{ calls: [call('s', 'agent_self', '{"task":"go"}')] }, { text: 'x' }],
      {
        ...{ subAgents: ['self'] },
      },
      { agents: () => calling('self') },
    );
    expect(played.result.finish).toBe('final');
  });

  it('passes an abort through a sub-agent as an abort, never as a tool text', async () => {
    const stop = new AbortController();
    const inner = scriptedModel([{ text: 'half', meanwhile: () => stop.abort() }]);
    const played = await turn(
      [{ calls: [call('s', 'agent_helper', '{"task":"do it"}')] }],
      { subAgents: ['helper'] },
      { agents: () => agentSpec(inner, { name: 'helper' }), signal: stop.signal },
    );
    expect(played.result.finish).toBe('stopped');
    expect(results(played).join()).not.toMatch(/Error/);
    const foreign = turn([{ calls: [call('a', 'look')] }], {
      tools: [
        tool('look', {
          execute: async () => {
            throw new AbortedError('not ours');
          },
        }),
      ],
    });
    await expect(foreign).rejects.toBeInstanceOf(AbortedError);
  });
});
