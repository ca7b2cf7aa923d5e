import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Adapter, MessageBody } from '../../../src/core/chat/adapter.js';
import { createLiveMessage, type LiveMessage } from '../../../src/core/chat/live-message.js';
import { PlatformError, SupersededError } from '../../../src/core/errors.js';
import { quietLogger } from '../../fakes/quiet.js';

interface Put {
  at: number;
  slot: string;
  text: string;
  state: string;
}

const INTERVAL = 1_000;
const place = { platform: 'fake', account: 'x', space: 's' };

const adapter = {
  platform: 'fake',
  account: 'x',
  limits: { text: 100, page: 100 },
  render: (body: MessageBody) => ({
    payload: body.markdown,
    length: body.markdown.length,
    digest: `${body.state}|${body.status?.join()}|${body.markdown}`,
  }),
  editIntervalMs: () => INTERVAL,
  budgets: () => [],
} as unknown as Adapter;

describe('a live message', () => {
  let puts: Put[] = [];
  let behave: (put: Put) => Promise<void> = async () => undefined;
  let waits: number[] = [];
  let superseded: Error | undefined;
  let live: LiveMessage;

  const open = (): LiveMessage =>
    createLiveMessage({
      prefix: 'a1',
      adapter,
      place,
      slots: {
        put: async (slot, _place, body) => {
          const put = { at: Date.now(), slot, text: body.markdown, state: body.state };
          puts.push(put);
          await behave(put);
        },
        remove: async () => undefined,
        removeUnrecorded: async () => undefined,
        occupied: () => [],
      },
      budgets: { take: async () => waits.shift() ?? 0 },
      logger: quietLogger,
      onSuperseded: (error) => {
        superseded = error;
      },
    });

  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
    puts = [];
    waits = [];
    superseded = undefined;
    behave = async () => undefined;
    live = open();
  });

  afterEach(async () => {
    vi.useRealTimers();
  });

  it('shows nothing of a very short text before 700 ms', async () => {
    live.text('Hi');
    await vi.advanceTimersByTimeAsync(690);
    expect(puts).toEqual([]);
    await vi.advanceTimersByTimeAsync(20);
    expect(puts).toMatchObject([{ slot: 'a1.0', text: 'Hi', state: 'streaming' }]);
  });

  it('shows the first text at once when it has a few words', async () => {
    live.text('A first sentence that is long enough.');
    await vi.advanceTimersByTimeAsync(1);
    expect(puts).toHaveLength(1);
  });

  it('edits at the interval with the newest text only', async () => {
    live.text('A first sentence that is long enough.');
    for (let i = 0; i < 30; i++) {
      await vi.advanceTimersByTimeAsync(100);
      live.text('.');
    }
    await vi.advanceTimersByTimeAsync(INTERVAL);
    const gaps = puts.slice(1).map((put, i) => put.at - (puts[i]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(INTERVAL);
    expect(puts.length).toBeLessThanOrEqual(5);
    expect(puts.at(-1)?.text).toHaveLength(37 + 30);
  });

  it('does not draw again when nothing changed', async () => {
    live.text('A first sentence that is long enough.');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(puts).toHaveLength(1);
  });

  it('keeps one call in flight', async () => {
    let running = 0;
    let most = 0;
    behave = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      running -= 1;
    };
    for (let i = 0; i < 100; i++) {
      live.text('some more text here, ');
      await vi.advanceTimersByTimeAsync(200);
    }
    expect(most).toBe(1);
  });

  it('moves on after a failed edit and shows the newest text', async () => {
    live.text('A first sentence that is long enough.');
    await vi.advanceTimersByTimeAsync(1);
    behave = async () => {
      throw new PlatformError('502', { kind: 'temporary' });
    };
    live.text(' More.');
    await vi.advanceTimersByTimeAsync(INTERVAL);
    behave = async () => undefined;
    await vi.advanceTimersByTimeAsync(2 * INTERVAL);
    expect(puts.at(-1)?.text).toContain('More.');
    expect(puts).toHaveLength(3);
  });

  it('waits as long as the platform asks', async () => {
    behave = async () => {
      throw new PlatformError('429', { kind: 'rate_limited', retryAfterMs: 8_000 });
    };
    live.text('A first sentence that is long enough.');
    await vi.advanceTimersByTimeAsync(1);
    behave = async () => undefined;
    await vi.advanceTimersByTimeAsync(7_990);
    expect(puts).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(20);
    expect(puts).toHaveLength(2);
  });

  it('waits for the shared budget', async () => {
    waits = [3_000];
    live.text('A first sentence that is long enough.');
    await vi.advanceTimersByTimeAsync(2_990);
    expect(puts).toEqual([]);
    await vi.advanceTimersByTimeAsync(20);
    expect(puts).toHaveLength(1);
  });

  it('stops drawing after a permanent refusal but keeps the text', async () => {
    behave = async () => {
      throw new PlatformError('403', { kind: 'refused' });
    };
    live.text('A first sentence that is long enough.');
    await vi.advanceTimersByTimeAsync(10_000);
    live.text(' More.');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(puts).toHaveLength(1);
    expect(live.source).toBe('A first sentence that is long enough. More.');
  });

  it('reports a take-over once and stops', async () => {
    behave = async () => {
      throw new SupersededError('check');
    };
    live.text('A first sentence that is long enough.');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(superseded).toBeInstanceOf(SupersededError);
    expect(puts).toHaveLength(1);
  });

  it('goes on in the next message past the limit and finishes the frozen one', async () => {
    for (let i = 1; i <= 60; i++) {
      live.text(`word${i} `);
      await vi.advanceTimersByTimeAsync(200);
    }
    await vi.advanceTimersByTimeAsync(10 * INTERVAL);
    const last = new Map(puts.map((put) => [put.slot, put]));
    expect(last.size).toBeGreaterThan(3);
    const slots = [...last.values()];
    expect(slots.slice(0, -1).every((put) => put.state === 'final')).toBe(true);
    const words = slots.flatMap((put) => put.text.match(/word\d+/g) ?? []);
    expect(words).toEqual(Array.from({ length: 60 }, (_, i) => `word${i + 1}`));
  });

  it('takes a refused draft back', async () => {
    live.text('A draft that the gate will refuse in a moment.');
    await vi.advanceTimersByTimeAsync(1);
    live.retract();
    live.text('The better answer, after more work was done.');
    await vi.advanceTimersByTimeAsync(INTERVAL);
    expect(puts.at(-1)?.text).toBe('The better answer, after more work was done.');
  });

  it('posts nothing for what is gone before it was shown', async () => {
    live.status(['Using a tool']);
    live.text('A draft');
    await vi.advanceTimersByTimeAsync(300);
    live.status([]);
    live.retract();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(puts).toEqual([]);
    live.text('Hi');
    await vi.advanceTimersByTimeAsync(690);
    expect(puts).toEqual([]);
    await vi.advanceTimersByTimeAsync(20);
    expect(puts).toMatchObject([{ text: 'Hi' }]);
  });

  it('starts nothing after stop and waits for the call in flight', async () => {
    let ended = false;
    behave = async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      ended = true;
    };
    live.text('A first sentence that is long enough.');
    await vi.advanceTimersByTimeAsync(1);
    const stopping = live.stop();
    live.text(' More.');
    await vi.advanceTimersByTimeAsync(5_000);
    await stopping;
    expect(ended).toBe(true);
    expect(puts).toHaveLength(1);
  });
});
