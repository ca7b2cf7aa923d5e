import { expect, it } from 'vitest';
import type { UsageEntry } from '../../../src/core/ports/store.js';
import type { StoreFixture } from '../store-contract.js';
import { begun, run } from './samples.js';

/** Later than any other run of the suite, so that these are the newest. */
const LATER = 9_000_000_000_000;

const spent = (at: number, cost: number): UsageEntry => ({
  at,
  run: 'r1',
  person: 'test:ann',
  agent: 'assistant',
  model: 'default',
  inputTokens: 10,
  outputTokens: 5,
  cost,
});

export function overviewContract(fixture: StoreFixture): void {
  it('knows nothing of a conversation that does not exist', async () => {
    expect(await fixture.store.conversations.summary(fixture.key())).toBeUndefined();
  });

  it('shows the run of the last commit that named one, and no run after null', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    expect(await conversations.summary(key)).toMatchObject({ run: null });
    const mark = run('r1', 'waiting', { allowed: [], agent: 'Ägent' });
    await conversations.commit(key, epoch, { state: {}, run: mark });
    expect(await conversations.summary(key)).toMatchObject({ run: mark });
    await conversations.commit(key, epoch, { state: {}, run: null });
    expect(await conversations.summary(key)).toMatchObject({ run: null });
    const all = await conversations.runs({ limit: 1_000 });
    expect(all.map((one) => one.key)).not.toContain(key);
  });

  it('lists the latest run of each conversation, newest first, by phase and up to a limit', async () => {
    const { conversations } = fixture.store;
    const keys = [fixture.key(), fixture.key(), fixture.key()];
    const phases = ['running', 'error', 'running'] as const;
    for (const [i, key] of keys.entries()) {
      const { epoch } = await begun(conversations, key);
      await conversations.commit(key, epoch, { state: {}, run: run('old', 'waiting', { updatedAt: LATER }) });
      const mark = run('new', phases[i] ?? 'error', { updatedAt: LATER + i });
      await conversations.commit(key, epoch, { state: {}, run: mark });
    }
    const mine = async (filter: Parameters<typeof conversations.runs>[0]) =>
      (await conversations.runs(filter)).filter((one) => keys.includes(one.key)).map((one) => keys.indexOf(one.key));
    expect(await mine({ limit: 1_000 })).toEqual([2, 1, 0]);
    expect(await mine({ limit: 2 })).toEqual([2, 1]);
    expect(await conversations.runs({ limit: 2 })).toHaveLength(2);
    expect(await conversations.runs({ limit: 0 })).toEqual([]);
    expect(await mine({ phase: 'running', limit: 1_000 })).toEqual([2, 0]);
    expect(await mine({ phase: 'error', limit: 1 })).toEqual([1]);
    expect(await mine({ phase: 'waiting', limit: 1_000 })).toEqual([]);
    const [newest] = await conversations.runs({ limit: 1 });
    const mark = run('new', 'running', { updatedAt: LATER + 2 });
    expect(newest).toEqual({ key: keys[2], run: mark, busy: true, wakeAt: null });
  });

  it('keeps usage entries of commits and gives them since a time, oldest first', async () => {
    const { conversations } = fixture.store;
    const keys = [fixture.key(), fixture.key(), fixture.key()];
    const [a = '', b = '', c = ''] = keys;
    const at = Date.now() + 1_000_000;
    for (const key of keys) await begun(conversations, key);
    await conversations.commit(a, 1, { state: {}, usage: [spent(at, 0.5), spent(at + 3, 0.125)] });
    await conversations.commit(b, 1, { state: {}, usage: [spent(at + 2, 1e-7)] });
    await conversations.commit(c, 1, { state: {}, usage: [spent(at - 1, 7), spent(at + 3, 8)] });
    await conversations.commit(c, 9, { state: {}, usage: [spent(at + 4, 9)] });
    const found = await conversations.usage(at);
    expect(found.filter((entry) => entry.at <= at + 2)).toEqual([
      { ...spent(at, 0.5), key: a },
      { ...spent(at + 2, 1e-7), key: b },
    ]);
    const last = found.filter((entry) => entry.at > at + 2);
    expect(last).toHaveLength(2);
    expect(last).toEqual(
      expect.arrayContaining([
        { ...spent(at + 3, 0.125), key: a },
        { ...spent(at + 3, 8), key: c },
      ]),
    );
    expect(await conversations.usage(at + 10)).toEqual([]);
  });

  it('counts equal usage entries of one commit apart', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const at = Date.now() + 2_000_000;
    const { epoch } = await begun(conversations, key);
    await conversations.commit(key, epoch, { state: {}, usage: [spent(at, 1), spent(at, 1)] });
    await conversations.commit(key, epoch, { state: {}, usage: [spent(at, 1)] });
    expect(await conversations.usage(at)).toHaveLength(3);
  });
}
