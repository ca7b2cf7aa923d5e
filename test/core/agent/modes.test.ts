import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runChatTurn } from '../../../src/core/agent/chat-turn.js';
import type { AgentEvent } from '../../../src/core/agent/events.js';
import { runAgentLoop } from '../../../src/core/agent/run-agent-loop.js';
import { TOOL_AGENT_MAX_ITERATIONS } from '../../../src/core/agent/tool-agent.js';
import { createLoopState } from '../../../src/core/agent/transcript.js';
import { SupersededError } from '../../../src/core/errors.js';
import { defineTool } from '../../../src/core/tools/tool.js';
import { lines } from './loop-fixture.js';
import { call, type Script, scriptedModel } from './scripted-model.js';
import { hooksOver } from './tool-hooks.js';

const fresh = () => createLoopState([{ role: 'user', content: 'q' }]);
const signal = new AbortController().signal;

describe('mode chat', () => {
  async function chat(script: Script, stop = new AbortController()) {
    const events: AgentEvent[] = [];
    const model = scriptedModel(script, [{ input: 1_000_000, output: 0 }]);
    const result = await runChatTurn({ model, state: fresh(), signal: stop.signal, onEvent: (e) => events.push(e) });
    return { result, events, model };
  }

  it('makes exactly one request and no tool call', async () => {
    const { result, model, events } = await chat([{ text: 'hi', reasoning: 'r', calls: [call('a')] }]);
    expect(result).toMatchObject({ finish: 'final', text: 'hi', reasoning: 'r', suspendedCalls: [] });
    expect(result.state.usage).toMatchObject({ cost: 10, requests: 1 });
    expect(lines(result.state.messages)).toEqual(['user:q', 'assistant:hi']);
    expect(model.requests).toMatchObject([{ tools: undefined }]);
    expect(events.at(-1)?.type).toBe('request.finished');
  });

  it('ends honestly when nothing came, was cut or failed', async () => {
    expect((await chat([{ reasoning: 'r' }])).result).toMatchObject({ finish: 'error', error: { kind: 'empty' } });
    expect((await chat([{ text: 'x', finishReason: 'length' }])).events).toContainEqual({
      type: 'notice',
      notice: 'length',
    });
    const fail = new Error('no');
    expect((await chat([{ text: 'half', fail }])).result).toMatchObject({ finish: 'error', error: fail, text: 'half' });
  });

  it('keeps what stands when stopped and throws when another worker took over', async () => {
    const stop = new AbortController();
    const { result } = await chat([{ text: 'half', meanwhile: () => stop.abort() }], stop);
    expect(result).toMatchObject({ finish: 'stopped', text: 'half' });
    const superseded = new SupersededError('check');
    const lost = new AbortController();
    await expect(chat([{ text: 'x', meanwhile: () => lost.abort(superseded) }], lost)).rejects.toBe(superseded);
  });
});

describe('mode tools', () => {
  const add = defineTool({
    name: 'add',
    description: 'Adds.',
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => String(a + b),
  });
  const hooks = hooksOver([add]);

  it('offers the catalog, runs calls one by one and turns every mistake into a text for the model', async () => {
    const calls = [call('1', 'add', '{"a":1,"b":2}'), call('2', 'sub'), call('3', 'add', '{"a":1'), call('4', 'add')];
    const model = scriptedModel([{ calls }, { text: 'three' }]);
    const result = await runAgentLoop({ model, state: fresh(), hooks, signal });
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['add']);
    const [sum, unknown, broken, missing] = lines(result.state.messages).slice(2, 6);
    expect(sum).toBe('tool:3');
    expect(unknown).toContain('there is no tool "sub"');
    expect(broken).toContain('not valid JSON');
    expect(missing).toContain('arguments of add are wrong');
    expect(result.finish).toBe('final');
  });

  it('lasts 50 rounds', async () => {
    expect(TOOL_AGENT_MAX_ITERATIONS).toBe(50);
    const model = scriptedModel(({ tools }, n) => (tools ? { calls: [call(`c${n}`, 'add')] } : { text: 'enough' }));
    const maxIterations = TOOL_AGENT_MAX_ITERATIONS;
    const result = await runAgentLoop({ model, state: fresh(), hooks, signal, maxIterations });
    expect(result).toMatchObject({ finish: 'max_iterations', text: 'enough' });
    expect(model.requests).toHaveLength(51);
  });

  it('without a catalog offers nothing', async () => {
    const model = scriptedModel([{ text: 'x' }]);
    await runAgentLoop({ model, state: fresh(), hooks: hooksOver(undefined), signal });
    expect(model.requests[0]?.tools).toBeUndefined();
  });
});
