import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createReader, historyOf, isSettled, type Reader } from './reader-fixture.js';

const question = { reason: 'r', blockerType: 'ambiguous_goal', question: 'Where to?' };
const ask = call('q', 'ask_agent', JSON.stringify({ ...question, options: ['staging', 'production', 'both'] }));
const step = { id: 's', title: 'Deploy', description: 'd', acceptanceCriteria: ['c'], status: 'pending' };
const plan = { task: 't', description: 'd', steps: [step] };
const setPlan = call('p', 'update_plan', JSON.stringify({ updates: [{ action: 'set_plan', plan }] }));

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

describe('a run that ends while people are asked', () => {
  it('keeps its checklist when it is stopped, working or waiting', async () => {
    const working: Reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [
        { text: 'Planned.', calls: [setPlan] },
        {
          text: 'Now',
          async meanwhile() {
            await working.control('stop');
            await working.aborted();
          },
        },
      ],
    });
    await working.say('go');
    await working.run();
    const waiting = createReader(server, {
      agent: { mode: 'plan' },
      script: [{ text: 'Planned.', calls: [setPlan, ask] }],
    });
    await waiting.say('go');
    await waiting.run();
    await waiting.control('stop');
    await waiting.run();
    for (const reader of [working, waiting]) {
      const stopped = reader.entries().find(({ state }) => state === 'stopped');
      expect(stopped?.plan?.steps).toEqual([{ title: 'Deploy', status: 'pending' }]);
    }
  });

  it('says that nobody was asked when the stop comes just before the card', async () => {
    let late = false;
    const reader: Reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [
        {
          ...{ text: 'Hm.', calls: [ask] },
          async meanwhile() {
            late = true;
            await reader.control('stop');
          },
        },
      ],
      // The look that finds the stop has its answer only when the loop is over.
      async atStore(name) {
        if (!late || name !== '<read') return;
        late = false;
        await reader.until(() => reader.logger.lines.some(({ message }) => message === '[AgentLoop] done'));
      },
    });
    await reader.say('go');
    await reader.run();
    expect(reader.phases().at(-1)).toBe('stopped');
    expect(historyOf(reader)).toContain('tool: Stopped before anybody was asked.');
    expect(reader.buttons()).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });

  it('says of each continued call what became of it when it is stopped', async () => {
    const order = defineTool({
      ...{ name: 'order', description: 'Orders.', parameters: z.object({}), idempotent: true },
      execute: async () => ({ content: 'Waiting.', suspend: 'interactive' as const, question: { text: 'Which?' } }),
      async resume(_, _answer, { signal }) {
        await reader.control('stop');
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return 'too late';
      },
    });
    const reader: Reader = createReader(server, {
      tools: [order],
      script: [{ calls: [call('o1', 'order'), call('o2', 'order')] }],
    });
    await reader.say('go');
    await reader.run();
    await reader.say('small');
    await reader.run();
    await reader.say('large');
    await reader.run();
    expect(reader.phases().at(-1)).toBe('stopped');
    expect(historyOf(reader)).toContain('tool: Stopped while this call ran; its outcome is unknown.');
    expect(historyOf(reader)).toContain('tool: Stopped before this call went on.');
  });

  it('closes its card when it is set aside as poison', async () => {
    const reader = createReader(server, { agent: { mode: 'plan' }, script: [{ calls: [ask] }] });
    await reader.say('go');
    await reader.run();
    for (let i = 0; i < 6; i++) await reader.store.claim(reader.key);
    await reader.run();
    expect(reader.buttons()).toEqual([]);
    expect(historyOf(reader).at(-1)).toBe('tool: Cancelled: no answer was given.');
    expect(await isSettled(reader)).toBe(true);
  });
});
