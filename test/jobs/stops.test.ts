import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { PlatformError } from '../../src/core/errors.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call, type ScriptedReply, transcriptFaults } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { asked, createReader, historyOf, isSettled, type Reader } from './reader-fixture.js';

const PARTIAL = 'Half of an answer that is shown while it is written';

describe('a stop', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  /** An answer in whose middle something happens; it ends by being aborted. */
  const partial = (
    reader: () => Reader,
    meanwhile: (reader: Reader) => Promise<void>,
    text = PARTIAL,
  ): ScriptedReply => ({
    text,
    meanwhile: async () => {
      await meanwhile(reader());
      await reader().aborted();
    },
  });

  it('says that nothing runs when nothing does', async () => {
    const reader = createReader(server);
    await reader.control('stop');
    await reader.run();
    expect(reader.shown()).toEqual(['Nothing is running here.']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('drops and counts texts that wait before it while nothing runs', async () => {
    const reader = createReader(server, { script: [{ text: 'Answered.' }] });
    await reader.say('one');
    await reader.say('two');
    await reader.control('stop', { locale: 'zh-hans' });
    await reader.say('three');
    await reader.run();
    expect(reader.shown()).toEqual(['已停止，另有 2 条尚未处理的消息被丢弃。', 'Answered.']);
    expect(asked(reader, 0)).toEqual(['three']);
  });

  it('ends the run, keeps what was written and marks it in the history', async () => {
    const reader: Reader = createReader(server, {
      script: [
        partial(
          () => reader,
          async () => {
            await reader.until(() => reader.shown()[0] === PARTIAL);
            await reader.control('stop');
          },
        ),
      ],
    });
    await reader.say('Go on');
    await reader.run();
    expect(reader.shown()).toEqual([`${PARTIAL}\nStopped.`]);
    expect(reader.entries().at(-1)?.state).toBe('stopped');
    expect(historyOf(reader)).toEqual(['user: Go on', `assistant: ${PARTIAL}\n\n[stopped by the user]`]);
    expect(reader.phases()).toEqual(['running', 'stopped']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('drops what waited before it, and answers what came after it', async () => {
    const reader: Reader = createReader(server, {
      script: [
        partial(
          () => reader,
          async () => {
            await reader.say('dropped one');
            await reader.say('dropped two', { queue: true });
            const later = reader.control('stop');
            await reader.say('kept');
            await later;
          },
        ),
        { text: 'The kept one.' },
      ],
    });
    await reader.say('Go on');
    await reader.run();
    expect(reader.shown()).toEqual([`${PARTIAL}\nStopped. 2 waiting messages were dropped.`, 'The kept one.']);
    expect(asked(reader, 1)).toEqual(['Go on', 'kept']);
    expect(JSON.stringify(reader.state().history)).not.toContain('dropped');
  });

  it('is noticed within the once-a-second look when its hint is lost', async () => {
    let stoppedAt = 0;
    const reader: Reader = createReader(server, {
      deaf: true,
      script: [
        partial(
          () => reader,
          async () => {
            await reader.control('stop');
            stoppedAt = performance.now();
          },
        ),
      ],
    });
    await reader.say('Go on');
    await reader.run();
    // One look and its effects; the rest is room for a busy machine.
    expect(performance.now() - stoppedAt).toBeLessThan(3_000);
    expect(reader.phases()).toEqual(['running', 'stopped']);
  });

  it('ends a run that another worker began, with what stood at its last boundary', async () => {
    const look = defineTool({
      ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true },
      execute: async () => 'seen',
    });
    const reader = createReader(server, {
      tools: [look],
      script: [
        { text: 'I look first.', calls: [call('c1')] },
        { text: 'Never committed.', meanwhile: async () => void (await reader.store.claim(reader.key)) },
      ],
    });
    await reader.say('Go on');
    await reader.run();
    await reader.control('stop');
    await reader.run();
    expect(reader.model.requests).toHaveLength(2);
    expect(reader.shown()).toEqual(['I look first.\nStopped.']);
    expect(transcriptFaults(reader.state().history)).toEqual([]);
    expect(historyOf(reader).at(-1)).toBe('assistant: [stopped by the user]');
    expect(reader.phases()).toEqual(['running', 'stopped']);
  });

  it('leaves call and result pairs whole when it comes inside a tool', async () => {
    const look = defineTool({
      ...{ name: 'look', description: 'Looks.', parameters: z.object({}) },
      execute: async (_args, { signal }) => {
        await reader.control('stop');
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        signal.throwIfAborted();
        return 'never';
      },
    });
    const reader = createReader(server, {
      tools: [look],
      script: [{ text: 'I look.', calls: [call('c1'), call('c2')] }, { text: 'Fine.' }],
    });
    await reader.say('Go on');
    await reader.run();
    await reader.say('And now?');
    await reader.run();
    const chain = reader.model.requests[1]?.messages ?? [];
    expect(transcriptFaults(chain)).toEqual([]);
    expect(chain.filter((m) => m.role === 'tool')).toHaveLength(2);
    expect(reader.shown()).toEqual(['I look.\nStopped.', 'Fine.']);
  });

  it('does not count texts the run had already taken in', async () => {
    const reader: Reader = createReader(server, {
      script: [
        partial(
          () => reader,
          () => reader.control('stop'),
        ),
      ],
    });
    await reader.say('Go on');
    await reader.say('and steer');
    await reader.run();
    expect(asked(reader, 0)).toEqual(['Go on', expect.stringContaining('and steer')]);
    expect(reader.shown()).toEqual([`${PARTIAL}\nStopped.`]);
    expect(await isSettled(reader)).toBe(true);
  });

  it('never lets a text that was sent after it steer the run it ends', async () => {
    const look = defineTool({
      ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true },
      execute: async () => {
        await reader.control('stop');
        await reader.say('after the stop');
        return 'seen';
      },
    });
    const reader: Reader = createReader(server, {
      deaf: true,
      tools: [look],
      script: ({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === 'tool') return { text: PARTIAL, meanwhile: () => reader.aborted() };
        return last?.content === 'after the stop' ? { text: 'A new answer.' } : { calls: [call('c1')] };
      },
    });
    await reader.say('Go on');
    await reader.run();
    expect(reader.phases()).toEqual(['running', 'stopped', 'running', 'finished']);
    expect(reader.shown()).toEqual(['Stopped.', 'A new answer.']);
    expect(historyOf(reader).filter((line) => line.includes('after the stop'))).toEqual(['user: after the stop']);
  });

  it('keeps an answer that a steer had closed', async () => {
    const reader: Reader = createReader(server, {
      script: [
        { text: 'First answer.', meanwhile: async () => void (await reader.say('and more')) },
        partial(
          () => reader,
          () => reader.control('stop'),
        ),
      ],
    });
    await reader.say('Go on');
    await reader.run();
    expect(reader.shown()).toEqual(['First answer.', `${PARTIAL}\nStopped.`]);
    expect(reader.entries().map((e) => [e.slot, e.state])).toEqual([
      ['a1', 'final'],
      ['a2', 'stopped'],
    ]);
  });

  it('is handled without waiting while a final text waits for its platform', async () => {
    let limited = true;
    const reader = createReader(server, {
      adapter: (base) => ({
        async post(place, rendered, options) {
          if (limited) throw new PlatformError('too many calls', { kind: 'rate_limited', retryAfterMs: 3_600_000 });
          return base.post(place, rendered, options);
        },
      }),
    });
    await reader.say('Hi');
    await reader.run();
    await reader.say('dropped');
    await reader.control('stop');
    await reader.run();
    const { epoch } = await reader.store.claim(reader.key);
    expect(await reader.store.read(reader.key, epoch)).toMatchObject({ items: [], stop: 0 });
    expect(reader.shown()).toEqual([]);
    limited = false;
    reader.advance(3_600_001);
    await reader.run();
    expect(reader.shown()).toEqual(['Hello.', 'Stopped. One message that was waiting was dropped.']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('shows no text of the answer where only its end is shown', async () => {
    for (const takenOver of [false, true]) {
      const look = defineTool({
        ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true },
        execute: async () => 'seen',
      });
      const reader: Reader = createReader(server, {
        tools: [look],
        agent: { showAnswer: false },
        script: [
          { text: 'secret', calls: [call('c1')] },
          {
            text: 'secret',
            meanwhile: async () => {
              if (takenOver) await reader.store.claim(reader.key);
              else {
                await reader.control('stop');
                await reader.aborted();
              }
            },
          },
        ],
      });
      await reader.say('Go on');
      await reader.run();
      if (takenOver) {
        await reader.control('stop');
        await reader.run();
      }
      expect(reader.shown()).toEqual(['Stopped.']);
    }
  });
});
