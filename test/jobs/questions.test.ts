import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/core/llm/model.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { asked, createReader, isSettled, type Reader } from './reader-fixture.js';

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

/** Asks while its call stays open; `begun` is told before. */
const confirm = (begun: () => void = () => undefined, idempotent = true) =>
  defineTool({
    ...{ name: 'confirm', description: 'Asks.', parameters: z.object({}), idempotent },
    async execute(_, { ask }) {
      begun();
      const given = await ask?.({ text: 'Really?', options: [{ id: 'yes', label: 'Yes' }] });
      return `answer: ${given?.answer ?? 'none'}`;
    },
  });

describe('a question whose call stays open', () => {
  it('is taken back with the end of its call: its card closes, and it swallows no text', async () => {
    let asks = 0;
    const hasty = defineTool({
      ...{ name: 'confirm', description: 'Asks, and does not wait long.', parameters: z.object({}), idempotent: true },
      async execute(_, { ask }) {
        asks += 1;
        const given = ask?.({ text: `Really ${asks}?`, options: [{ id: 'yes', label: 'Yes' }] });
        return Promise.race([given?.then(({ answer }) => answer ?? 'none') ?? 'none', sleep(100, 'too late')]);
      },
    });
    const reader: Reader = createReader(server, {
      tools: [hasty],
      script: [
        { calls: [call('c1', 'confirm')] },
        { calls: [call('c2', 'confirm')], meanwhile: () => reader.until(() => reader.buttons().length === 0) },
        { text: 'First.', meanwhile: async () => void (await reader.say('one more thing')) },
        { text: 'Second.' },
      ],
    });
    await reader.say('go');
    await reader.run();
    expect(asks).toBe(2);
    expect(reader.buttons()).toEqual([]);
    expect(asked(reader, 3).at(-1)).toContain('one more thing');
    expect(reader.state().turn).toBeNull();
    expect(await isSettled(reader)).toBe(true);
  });

  it('is not answered by a text that came before it and steered the run', async () => {
    let reads = 0;
    const look = defineTool({
      ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true },
      execute: async () => 'seen',
    });
    const reader: Reader = createReader(server, {
      tools: [confirm(), look],
      atStore: (step) => {
        if (step === '<read') reads += 1;
      },
      script: [
        { calls: [call('l')], meanwhile: async () => void (await reader.say('shorter')) },
        { calls: [call('c', 'confirm')] },
        { text: 'Done.' },
      ],
    });
    await reader.say('go');
    const run = reader.run();
    await reader.until(() => reader.buttons().length === 1);
    const before = reads;
    // The inbox is looked at once a second.
    await reader.until(() => reads > before + 1, 'two more looks');
    expect(reader.buttons()).toEqual(['Yes']);
    await reader.press('Yes');
    await run;
    expect(reader.model.requests[2]?.messages.at(-1)).toMatchObject({ content: 'answer: yes' });
    expect(asked(reader, 2).filter((text) => text.includes('shorter'))).toHaveLength(1);
  });

  it('is not asked any more when a stop came just before', async () => {
    let armed = false;
    const arming = confirm(() => {
      armed = true;
    });
    const reader: Reader = createReader(server, {
      tools: [arming],
      script: [{ calls: [call('c', 'confirm')] }],
      async atStore(step) {
        if (!armed || step !== '<read') return;
        armed = false;
        await reader.control('stop');
        // The question has its look at the store only when the loop is over.
        await reader.until(() => reader.logger.lines.some(({ message }) => message === '[AgentLoop] done'));
      },
    });
    await reader.say('go');
    await reader.run();
    expect(reader.phases().at(-1)).toBe('stopped');
    expect(reader.buttons()).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });

  it('is closed by the next holder at once, although the run goes on, and when its model is gone', async () => {
    for (const gone of [false, true]) {
      const models: Record<string, Model> = {};
      const reader: Reader = createReader(server, {
        tools: [confirm(() => undefined, false)],
        models: Object.defineProperty(models, 'other', {
          enumerable: true,
          get: () => (left ? undefined : reader.model),
        }),
        script: [
          { calls: [call('c', 'confirm')] },
          { text: 'Interrupted.', meanwhile: () => reader.until(() => reader.shown().join().includes('Cancelled')) },
        ],
      });
      let left = false;
      await reader.accept({ ...reader.base(), kind: 'control', control: 'model', argument: 'other' });
      await reader.say('go');
      const shutdown = new AbortController();
      const run = reader.run(shutdown.signal);
      await reader.until(() => reader.buttons().length === 1);
      shutdown.abort('shutdown');
      await run;
      left = gone;
      await reader.run();
      expect(reader.buttons()).toEqual([]);
      expect(reader.shown().join()).toContain('Cancelled');
      expect(await isSettled(reader)).toBe(true);
    }
  });
});
