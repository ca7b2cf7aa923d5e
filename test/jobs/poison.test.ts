import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Adapter } from '../../src/core/chat/adapter.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { ada, asked, createReader, historyOf, isSettled, type Reader } from './reader-fixture.js';

const POISON = 'could not be processed after several attempts';

/** What a worker that dies right after its claim leaves behind. */
async function dieAfterClaim(reader: Reader, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await reader.store.claim(reader.key);
}

describe('work that kills its workers', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A conversation with an open run whose worker is gone. */
  async function openRun(agent: { showAnswer?: boolean } = {}): Promise<Reader> {
    const reader: Reader = createReader(server, {
      agent,
      script: [
        { text: 'A first half of the answer', meanwhile: async () => void (await reader.store.claim(reader.key)) },
        { text: 'Next.' },
      ],
    });
    await reader.say('bad');
    await reader.run();
    return reader;
  }

  it('is tried five times', async () => {
    const reader = await openRun();
    await dieAfterClaim(reader, 3);
    await reader.run();
    expect(reader.shown()).toEqual(['Next.']);
    expect(reader.metrics.counts.get('dead_letters')).toBeUndefined();
  });

  it('is set aside when it is a run: its message ends visibly, the next text is answered', async () => {
    const reader = await openRun();
    await reader.say('good', { queue: true });
    await dieAfterClaim(reader, 5);
    await reader.run();
    expect(reader.shown()).toEqual([expect.stringContaining(POISON), 'Next.']);
    expect(reader.entries()[0]).toMatchObject({ slot: 'a1', state: 'error' });
    expect(reader.phases()).toEqual(['running', 'error', 'running', 'finished']);
    expect(asked(reader, 1)).toEqual(['bad', 'good']);
    expect(reader.metrics.counts.get('dead_letters')).toBe(1);
    expect(await isSettled(reader)).toBe(true);
  });

  it('is set aside when it is a waiting item, in the language of its person', async () => {
    const reader = createReader(server, { script: [{ text: 'Next.' }] });
    await reader.say('bad', { locale: 'zh' });
    await reader.say('good');
    await dieAfterClaim(reader, 5);
    await reader.run();
    expect(reader.shown()).toEqual(['有一条消息多次处理都失败了，已经搁置，对话可以继续。', 'Next.']);
    expect(historyOf(reader)).toEqual(['user: good', 'assistant: Next.']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('is a final text that cannot be rendered: it is given up, what waits is answered', async () => {
    const reader = createReader(server, {
      script: [{ text: 'deadly' }, { text: 'Next.' }],
      adapter: (base: Adapter<string>) => ({
        render(body) {
          if (body.state === 'final' && body.markdown === 'deadly') throw new RangeError('a fault of the renderer');
          return base.render(body);
        },
      }),
    });
    await reader.say('bad');
    await expect(reader.run()).rejects.toThrow('a fault of the renderer');
    await reader.say('good');
    for (let i = 0; i < 5; i++) await expect(reader.run()).rejects.toThrow('a fault of the renderer');
    await reader.run();
    expect(reader.shown()).toEqual([expect.stringContaining(POISON), 'Next.']);
    expect(historyOf(reader)).toEqual(['user: bad', 'assistant: deadly', 'user: good', 'assistant: Next.']);
    expect(reader.metrics.counts.get('dead_letters')).toBe(1);
    expect(await isSettled(reader)).toBe(true);
  });

  it('shows nothing of a hidden answer when it is set aside', async () => {
    const reader = await openRun({ showAnswer: false });
    await dieAfterClaim(reader, 5);
    await reader.run();
    expect(reader.shown()).toEqual([expect.stringMatching(new RegExp(`^One message here ${POISON}`))]);
  });

  it('is not a long healthy run: it commits, and its claims do not count', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] });
    let ids = 0;
    let release = (): void => undefined;
    let requests = 0;
    const silent: Partial<Adapter<string>> = { post: async () => `p${++ids}`, edit: async () => undefined };
    const reader: Reader = createReader(server, {
      adapter: () => ({ ...silent, find: async () => [], remove: async () => undefined }),
      script: (_request, index) => ({
        text: 'Slow.',
        meanwhile: () => {
          requests += 1;
          if (index > 0) return new Promise<void>((resolve) => (release = resolve));
          return reader.store.claim(reader.key).then(() => undefined);
        },
      }),
    });
    await reader.say('Hi', { as: ada });
    await reader.run();
    await dieAfterClaim(reader, 3);
    const running = reader.run();
    while (requests < 2) await vi.advanceTimersByTimeAsync(10);
    const before = reader.commits.length;
    await vi.advanceTimersByTimeAsync(9_000);
    expect(reader.commits.length).toBe(before + 1);
    expect(reader.state().turn).not.toBeNull();
    const { claims } = await reader.store.claim(reader.key);
    expect(claims).toBe(1);
    release();
    await running;
  });
});
