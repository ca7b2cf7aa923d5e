import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AgentSpec } from '../../src/core/agent/agent-spec.js';
import type { Model } from '../../src/core/llm/model.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { agentSpec } from '../fakes/agent-spec.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createReader, historyOf, isSettled, type Reader } from './reader-fixture.js';

const ask = (id: string, options = ['staging', 'production', 'both']) =>
  call(id, 'ask_agent', JSON.stringify({ reason: 'r', blockerType: 'ambiguous_goal', question: 'Where to?', options }));
let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

const confirm = defineTool({
  ...{ name: 'confirm', description: 'Asks.', parameters: z.object({}), idempotent: true },
  async execute(_, { ask: question }) {
    const given = await question?.({ text: 'Really?', options: [{ id: 'y', label: 'Yes' }] });
    return `answer: ${given?.answer}`;
  },
});

describe('a waiting turn that poisons', () => {
  it('poison on a waiting turn closes its card', async () => {
    const reader = createReader(server, { agent: { mode: 'plan' }, script: [{ calls: [ask('q')] }] });
    await reader.say('go');
    await reader.run();
    for (let i = 0; i < 6; i++) await reader.store.claim(reader.key);
    await reader.run();
    expect(reader.buttons()).toEqual([]);
    expect(historyOf(reader).join('\n')).not.toContain('Waiting for the person');
    expect(await isSettled(reader)).toBe(true);
  });
});

describe('a held card without its agent', () => {
  it('held card closed when the agent is gone', async () => {
    const models: Record<string, Model> = {};
    const reader: Reader = createReader(server, {
      tools: [confirm],
      models,
      script: [{ calls: [call('c', 'confirm')] }],
    });
    models.other = reader.model;
    await reader.accept({ ...reader.base(), kind: 'control', control: 'model', argument: 'other' });
    await reader.run();
    await reader.say('go');
    const shutdown = new AbortController();
    const run = reader.run(shutdown.signal);
    await reader.until(() => reader.buttons().length === 1);
    shutdown.abort('shutdown');
    await run;
    delete models.other;
    await reader.run();
    expect(reader.buttons()).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });
});

describe('a stop at the last moment', () => {
  it('stop just as the run was going to wait', async () => {
    let armed = false;
    const reader: Reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [
        {
          text: 'Hm.',
          calls: [ask('q')],
          meanwhile: async () => {
            armed = true;
            await reader.control('stop');
          },
        },
      ],
      atStore: async (step) => {
        if (armed && step === '<read') {
          armed = false;
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
      },
    });
    await reader.say('go');
    await reader.run();
    expect(reader.phases().at(-1)).toBe('stopped');
    expect(historyOf(reader).join('\n')).not.toContain('Waiting for the person');
    expect(reader.buttons()).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });
});

describe('stop in a continued call', () => {
  it('history does not say waiting', async () => {
    const order = defineTool({
      ...{ name: 'order', description: 'Orders.', parameters: z.object({}), idempotent: true },
      execute: async () => ({ content: 'Waiting.', suspend: 'interactive' as const, question: { text: 'Which?' } }),
      async resume(_, _answer, { signal }) {
        await reader.control('stop');
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        throw new Error('never mind');
      },
    });
    const reader: Reader = createReader(server, {
      tools: [order],
      script: [{ calls: [call('o1', 'order'), call('o2', 'order')] }],
    });
    await reader.say('go');
    await reader.run();
    await reader.say('a');
    await reader.run();
    await reader.say('b');
    await reader.run();
    expect(reader.phases().at(-1)).toBe('stopped');
    expect(historyOf(reader).join('\n')).not.toContain('Waiting.');
  });
});

describe('what a continued call gives', () => {
  it('cuts what a continued call gives', async () => {
    const order = {
      ...defineTool({
        ...{ name: 'order', description: 'Orders.', parameters: z.object({}), idempotent: true },
        execute: async () => ({ content: 'Waiting.', suspend: 'interactive' as const, question: { text: 'Which?' } }),
        resume: async () => 'x'.repeat(50_000),
      }),
      maxResultChars: 1_000,
    };
    const reader = createReader(server, {
      tools: [order],
      script: [{ calls: [call('o1', 'order')] }, { text: 'Done.' }],
    });
    await reader.say('go');
    await reader.run();
    await reader.say('a');
    await reader.run();
    expect(reader.model.requests[1]?.messages.at(-1)?.content.length).toBeLessThanOrEqual(1_000);
  });
});

describe('a stop while a question is being asked', () => {
  it('stop exactly when a question is about to be asked leaves no card', async () => {
    let armed = false;
    const slow = defineTool({
      ...{ name: 'confirm', description: 'Asks.', parameters: z.object({}), idempotent: true },
      async execute(_, { ask: question }) {
        armed = true;
        const given = await question?.({ text: 'Really?', options: [{ id: 'y', label: 'Yes' }] });
        return `answer: ${given?.answer}`;
      },
    });
    const reader: Reader = createReader(server, {
      tools: [slow],
      script: [{ calls: [call('c', 'confirm')] }],
      atStore: async (step) => {
        if (armed && step === '<read') {
          armed = false;
          await reader.control('stop');
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      },
    });
    await reader.say('go');
    await reader.run();
    expect(reader.phases().at(-1)).toBe('stopped');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(reader.buttons()).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });
});

describe('an agent that changed while it waited', () => {
  it('an agent that became a chat agent while an approval waits still answers', async () => {
    const remove = defineTool({
      ...{ name: 'remove', description: 'Removes.', parameters: z.object({}) },
      execute: async () => 'removed',
    });
    const permissions = { mode: 'ask' as const, rules: [] };
    const agents: Record<string, AgentSpec> = {};
    const reader: Reader = createReader(server, {
      agents,
      script: [{ calls: [call('r', 'remove')] }, { text: 'Done.' }],
    });
    agents.assistant = agentSpec(reader.model, { permissions, tools: [remove] });
    await reader.say('go');
    await reader.run();
    agents.assistant = agentSpec(reader.model, { mode: 'chat' });
    await reader.press('Once');
    await reader.run();
    expect(reader.shown().at(-1)).toContain('Done.');
  });
});
