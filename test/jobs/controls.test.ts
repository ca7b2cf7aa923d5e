import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { asked, createReader, historyOf, isSettled, type Reader } from './reader-fixture.js';

const WORKING = 'An answer that takes its time to be written';

describe('control words', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  it('answers /status and /help in the language of the person when nothing runs', async () => {
    const reader = createReader(server);
    await reader.control('status');
    await reader.control('status', { locale: 'zh-CN' });
    await reader.control('help');
    await reader.run();
    expect(reader.shown().slice(0, 2)).toEqual(['Idle. Send a message to begin.', '空闲中，发消息即可开始。']);
    expect(reader.shown()[2]).toContain('/stop – stop the current work');
    expect(reader.model.requests).toHaveLength(0);
    expect(await isSettled(reader)).toBe(true);
  });

  it('answers /status and /help during a run without waiting for its end', async () => {
    const reader: Reader = createReader(server, {
      script: [
        {
          text: WORKING,
          meanwhile: async () => {
            await reader.until(() => reader.shown()[0] === WORKING);
            reader.advance(5_000);
            await reader.control('status');
            await reader.control('help');
            await reader.until(() => reader.shown().length === 3);
          },
        },
      ],
    });
    await reader.say('Hi');
    await reader.run();
    expect(reader.shown()[0]).toBe(WORKING);
    expect(reader.shown()[1]).toMatch(/^Working for [567] s, round 1\. \/stop ends it\.$/);
    expect(reader.shown()[2]).toContain('/help');
    expect(reader.phases()).toEqual(['running', 'finished']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('forgets the history with /new', async () => {
    const reader = createReader(server, { script: [{ text: 'One.' }, { text: 'Two.' }] });
    await reader.say('first');
    await reader.run();
    await reader.control('new');
    await reader.run();
    expect(reader.shown().at(-1)).toContain('New conversation');
    expect(reader.state().history).toEqual([]);
    await reader.say('second');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['second']);
  });

  it('lets /new wait for the end of the run; texts behind it belong to the new conversation', async () => {
    const reader: Reader = createReader(server, {
      script: [
        {
          text: 'One.',
          meanwhile: async () => {
            await reader.say('before');
            await reader.control('new');
            await reader.say('behind');
          },
        },
        { text: 'Two.' },
        { text: 'Three.' },
      ],
    });
    await reader.say('first');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['first', expect.stringContaining('before')]);
    expect(asked(reader, 2)).toEqual(['behind']);
    expect(reader.shown().map((text) => text.slice(0, 6))).toEqual(['One.', 'Two.', 'New co', 'Three.']);
    expect(historyOf(reader)).toEqual(['user: behind', 'assistant: Three.']);
  });
});
