import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ModelError } from '../../src/core/errors.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call, transcriptFaults } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { ada, asked, bob, createReader, historyOf, isSettled } from './reader-fixture.js';

const look = (execute: () => Promise<string>, idempotent = true) =>
  defineTool({ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent, execute });

describe('the reader of a conversation', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  it('answers a text and settles', async () => {
    const reader = createReader(server);
    await reader.say('Hi');
    await reader.run();
    expect(reader.shown()).toEqual(['Hello.']);
    expect(historyOf(reader)).toEqual(['user: Hi', 'assistant: Hello.']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('does nothing for a conversation in which nothing waits', async () => {
    const reader = createReader(server);
    await reader.run();
    expect(reader.commits).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });

  it('gives each turn the earlier ones', async () => {
    const reader = createReader(server, { script: [{ text: 'One.' }, { text: 'Two.' }] });
    await reader.say('first');
    await reader.run();
    await reader.say('second');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['first', 'second']);
    expect(reader.shown()).toEqual(['One.', 'Two.']);
  });

  it('marks a run as running and finished, and who may stop it', async () => {
    const reader = createReader(server, { agent: { approvers: ['fake:boss'] } });
    await reader.say('Hi', { as: bob });
    await reader.run();
    expect(reader.phases()).toEqual(['running', 'finished']);
    const { run } = (await reader.store.summary(reader.key)) ?? {};
    expect(run).toMatchObject({ phase: 'finished', agent: 'assistant', model: 'scripted' });
    expect(run?.allowed).toEqual([bob.id, 'fake:boss']);
  });

  it('lets only the starter and the stoppers stop a run', async () => {
    const reader = createReader(server, {
      agent: { approvers: ['fake:boss'] },
      script: [
        {
          text: 'Working on it',
          meanwhile: async () => {
            await expect(reader.control('stop', { as: bob })).rejects.toThrow('foreign');
            await reader.control('stop', { as: { id: 'fake:boss', name: 'Boss' } });
            await reader.aborted();
          },
        },
      ],
    });
    await reader.say('Hi');
    await reader.run();
    expect(reader.phases()).toEqual(['running', 'stopped']);
  });

  it('acknowledges a press of a button whose question is no longer open', async () => {
    const reader = createReader(server);
    const { epoch } = await reader.store.claim(reader.key);
    const openChoices = [{ id: 'q1', allowed: ['*'], till: Date.now() + 60_000 }];
    await reader.store.commit(reader.key, epoch, { state: undefined, openChoices });
    await reader.accept({ ...reader.base(), kind: 'choice', choice: 'q1', option: 'yes' });
    await reader.run();
    expect(reader.commits.map((c) => c.ack)).toEqual([[1]]);
    expect(reader.model.requests).toHaveLength(0);
    expect(await isSettled(reader)).toBe(true);
  });

  it('writes the usage of each request once, also when the run changes hands at a boundary', async () => {
    const reader = createReader(server, {
      tools: [look(async () => 'seen')],
      script: [
        { calls: [call('c1')], inputTokens: 11 },
        { text: 'Lost.', inputTokens: 22, meanwhile: async () => void (await reader.store.claim(reader.key)) },
        { text: 'Found.', inputTokens: 33 },
      ],
    });
    await reader.say('Hi');
    await reader.run();
    await reader.run();
    const usage = await reader.store.usage(0);
    expect(usage.map((u) => u.inputTokens)).toEqual([11, 33]);
    expect(usage[0]).toMatchObject({ person: ada.id, agent: 'assistant', model: 'scripted', key: reader.key });
    expect(reader.shown()).toEqual(['Found.']);
    expect(reader.metrics.counts.get('superseded')).toBe(1);
  });

  it('repeats a call after a take-over only when its tool is idempotent', async () => {
    for (const idempotent of [true, false]) {
      let calls = 0;
      const execute = async () => {
        calls += 1;
        if (calls === 1) await reader.store.claim(reader.key);
        return 'seen';
      };
      const reader = createReader(server, {
        tools: [look(execute, idempotent)],
        script: ({ messages }) => (messages.at(-1)?.role === 'tool' ? { text: 'Done.' } : { calls: [call('c1')] }),
      });
      await reader.say('Hi');
      await reader.run();
      await reader.run();
      expect(calls).toBe(idempotent ? 2 : 1);
      expect(transcriptFaults(reader.state().history)).toEqual([]);
      const result = reader.state().history.find((m) => m.role === 'tool');
      expect(result?.content === 'seen').toBe(idempotent);
    }
  });

  it('leaves a state of a newer version as it is and does not use its claims up', async () => {
    const reader = createReader(server);
    const newer = { v: 2, secret: 'of the future' };
    const { epoch } = await reader.store.claim(reader.key);
    await reader.store.commit(reader.key, epoch, { state: newer });
    await reader.say('Hi');
    for (let i = 0; i < 7; i++) await reader.run();
    expect(reader.commits).toEqual([]);
    expect(
      reader.logger.lines.some((line) => line.level === 'error' && /cannot be read by this version/.test(line.message)),
    ).toBe(true);
    expect((await reader.store.summary(reader.key))?.wakeAt).toBeGreaterThan(Date.now());
    // Six claims without a commit or settle would be poison to the newer worker that comes.
    expect(await reader.store.claim(reader.key)).toMatchObject({ state: newer, claims: 1 });
  });

  it('looks again in a minute when the account has no adapter here', async () => {
    const reader = createReader(server, { missing: 'adapter' });
    await reader.say('Hi');
    await reader.run();
    const summary = await reader.store.summary(reader.key);
    expect(summary?.busy).toBe(false);
    expect(summary?.wakeAt).toBeGreaterThan(Date.now() + 50_000);
    expect(summary?.wakeAt).toBeLessThan(Date.now() + 70_000);
    expect(reader.model.requests).toHaveLength(0);
  });

  it('says that something went wrong when the agent is no longer configured', async () => {
    const reader = createReader(server, { missing: 'agent' });
    await reader.say('Hi');
    await reader.run();
    expect(reader.shown()).toEqual([expect.stringContaining('Something went wrong on my side')]);
    expect(reader.phases()).toEqual(['running', 'error']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('marks a failed run as an error and goes on with what waits', async () => {
    const fail = new ModelError('no route', { kind: 'unreachable', model: 'scripted' });
    const reader = createReader(server, { agent: { mode: 'chat' }, script: [{ fail }, { text: 'Back.' }] });
    await reader.say('one');
    await reader.say('two');
    await reader.run();
    expect(reader.phases()).toEqual(['running', 'error', 'running', 'finished']);
    expect(reader.shown().at(-1)).toBe('Back.');
  });

  it('keeps the live slots it reads bounded', async () => {
    const reader = createReader(server, { script: (_request, index) => ({ text: `Answer ${index}.` }) });
    for (let i = 0; i < 12; i++) {
      await reader.say(`question ${i}`);
      await reader.run();
    }
    const { epoch } = await reader.store.claim(reader.key);
    const reading = await reader.store.read(reader.key, epoch);
    expect(reading).not.toBe('superseded');
    expect(Object.keys(reading === 'superseded' ? {} : reading.live).length).toBeLessThan(8);
    expect(reader.shown()).toHaveLength(12);
  });
});
