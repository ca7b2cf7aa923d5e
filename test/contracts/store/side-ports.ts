import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { CallBudget } from '../../../src/core/chat/adapter.js';
import type { StoreFixture } from '../store-contract.js';

const LONG = 60_000;

const budget = (everyMs: number, burst: number): CallBudget => ({ bucket: `test:${randomUUID()}`, everyMs, burst });

export function sidePortContract(fixture: StoreFixture): void {
  recordAndLeaseContract(fixture);
  boardContract(fixture);
  budgetContract(fixture);
}

function recordAndLeaseContract(fixture: StoreFixture): void {
  it('keeps, replaces and deletes a record', async () => {
    const { records } = fixture.store;
    const key = randomUUID();
    expect(await records.get('thread', key)).toBeUndefined();
    await records.set('thread', key, 'one', LONG);
    expect(await fixture.other.records.get('thread', key)).toBe('one');
    await records.set('thread', key, '', LONG);
    expect(await records.get('thread', key)).toBe('');
    await records.delete('thread', key);
    await records.delete('thread', key);
    expect(await records.get('thread', key)).toBeUndefined();
  });

  it('keeps spaces of records apart whatever their names hold', async () => {
    const { records } = fixture.store;
    const key = randomUUID();
    await records.set('a:b', key, 'one', LONG);
    await records.set('a', `b:${key}`, 'two', LONG);
    expect(await records.get('a:b', key)).toBe('one');
    expect(await records.get('a', `b:${key}`)).toBe('two');
  });

  it('forgets a record after its time, and setting it again gives it a new time', async () => {
    const { records } = fixture.store;
    const key = randomUUID();
    await records.set('thread', key, 'short', 40);
    await expect.poll(() => records.get('thread', key), { interval: 10 }).toBeUndefined();
    await records.set('thread', key, 'short', 1);
    await records.set('thread', key, 'long', LONG);
    await sleep(20);
    expect(await records.get('thread', key)).toBe('long');
  });

  it('gives a lease to one owner, who may renew it, until it is released or its time is over', async () => {
    const { leases } = fixture.store;
    const name = randomUUID();
    expect(await leases.acquire(name, 'a', LONG)).toBe(true);
    expect(await leases.acquire(name, 'a', LONG)).toBe(true);
    expect(await fixture.other.leases.acquire(name, 'b', LONG)).toBe(false);
    await leases.release(name, 'b');
    expect(await leases.acquire(name, 'b', LONG)).toBe(false);
    await leases.release(name, 'a');
    expect(await leases.acquire(name, 'b', 40)).toBe(true);
    await expect.poll(() => leases.acquire(name, 'a', LONG), { interval: 10 }).toBe(true);
    expect(await leases.acquire(name, 'b', LONG)).toBe(false);
  });

  it('gives a free lease to exactly one of many that ask at once', async () => {
    const name = randomUUID();
    const stores = [fixture.store, fixture.other];
    const asked = Array.from({ length: 10 }, (_, i) =>
      (stores[i % 2] ?? fixture.store).leases.acquire(name, `owner${i}`, LONG),
    );
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
  });
}

function boardContract(fixture: StoreFixture): void {
  it('versions every change of a board by one counter and keeps the position of the first put', async () => {
    const { board } = fixture.store;
    const conversation = fixture.key();
    expect(await board.list(conversation, 0)).toEqual({ version: 0, messages: [] });
    expect(await board.put(conversation, 'a', { text: 'one' })).toBe(1);
    expect(await board.put(conversation, 'b', { text: 'two' })).toBe(2);
    expect(await board.put(conversation, 'a', { text: 'one, edited' })).toBe(3);
    const { version, messages } = await fixture.other.board.list(conversation, 0);
    expect(version).toBe(3);
    expect(messages).toMatchObject([
      { id: 'a', version: 3, body: { text: 'one, edited' }, removed: false },
      { id: 'b', version: 2, body: { text: 'two' }, removed: false },
    ]);
    expect(await board.get(conversation, 'b')).toEqual(messages[1]);
    expect(await board.get(conversation, 'c')).toBeUndefined();
    expect(await board.get(fixture.key(), 'b')).toBeUndefined();
  });

  it('lists what changed after a version, in position order', async () => {
    const { board } = fixture.store;
    const conversation = fixture.key();
    for (const id of ['a', 'b', 'c']) await board.put(conversation, id, id);
    await board.put(conversation, 'a', 'a2');
    const { version, messages } = await board.list(conversation, 2);
    expect(version).toBe(4);
    expect(messages.map((message) => message.id)).toEqual(['a', 'c']);
    expect(await board.list(conversation, 4)).toEqual({ version: 4, messages: [] });
  });

  it('shows a removal to readers of changes and hides it from the whole board', async () => {
    const { board } = fixture.store;
    const conversation = fixture.key();
    await board.put(conversation, 'a', 'a');
    await board.put(conversation, 'b', 'b');
    expect(await board.remove(conversation, 'a')).toBe(true);
    expect(await board.remove(conversation, 'a')).toBe(false);
    expect(await board.remove(conversation, 'never')).toBe(false);
    expect(await board.remove(fixture.key(), 'a')).toBe(false);
    const changes = await board.list(conversation, 2);
    expect(changes).toMatchObject({ version: 3, messages: [{ id: 'a', version: 3, removed: true, body: null }] });
    const whole = await board.list(conversation, 0);
    expect(whole.version).toBe(3);
    expect(whole.messages.map((message) => message.id)).toEqual(['b']);
    expect(await board.get(conversation, 'a')).toMatchObject({ removed: true });
    await board.put(conversation, 'a', 'back');
    const again = await board.list(conversation, 0);
    expect(again.messages.map((message) => message.id)).toEqual(['a', 'b']);
  });

  it('gives simultaneous changes distinct versions', async () => {
    const conversation = fixture.key();
    const stores = [fixture.store, fixture.other];
    const puts = Array.from({ length: 30 }, (_, i) =>
      (stores[i % 2] ?? fixture.store).board.put(conversation, `m${i % 7}`, i),
    );
    expect((await Promise.all(puts)).sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    expect((await fixture.store.board.list(conversation, 0)).messages).toHaveLength(7);
  });
}

function budgetContract(fixture: StoreFixture): void {
  it('grants a burst and then tells how long to wait', async () => {
    const { budgets } = fixture.store;
    const slow = budget(LONG, 3);
    for (let i = 0; i < 3; i++) expect(await budgets.take([slow], 'edit')).toBe(0);
    const wait = await fixture.other.budgets.take([slow], 'edit');
    expect(wait).toBeGreaterThan(LONG - 10_000);
    expect(wait).toBeLessThanOrEqual(LONG);
  });

  it('reserves the place of a call that has to wait, so that callers take turns', async () => {
    const { budgets } = fixture.store;
    const one = budget(5_000, 1);
    const waits: number[] = [];
    for (let i = 0; i < 4; i++) waits.push(await budgets.take([one], 'edit'));
    // Evenly spaced, minus the time the calls themselves took.
    waits.forEach((wait, i) => {
      expect(wait).toBeLessThanOrEqual(i * 5_000);
      expect(wait).toBeGreaterThan(i * 5_000 - 4_000);
    });
  });

  it('takes from every bucket at once', async () => {
    const { budgets } = fixture.store;
    const [one, two] = [budget(LONG, 1), budget(LONG, 1)];
    expect(await budgets.take([one, two], 'edit')).toBe(0);
    expect(await budgets.take([two], 'edit')).toBeGreaterThan(LONG - 10_000);
  });

  it('waits for the bucket that needs longest', async () => {
    const { budgets } = fixture.store;
    const [short, long] = [budget(5_000, 1), budget(LONG, 1)];
    expect(await budgets.take([short, long], 'edit')).toBe(0);
    expect(await budgets.take([long, short], 'edit')).toBeGreaterThan(LONG - 10_000);
  });

  it('grants without buckets', async () => {
    expect(await fixture.store.budgets.take([], 'edit')).toBe(0);
  });

  it('always grants a final text and lets later edits wait longer, a minute at most', async () => {
    const { budgets } = fixture.store;
    const slow = budget(10_000, 1);
    await budgets.take([slow], 'edit');
    expect(await budgets.take([slow], 'final')).toBe(0);
    const wait = await budgets.take([slow], 'edit');
    expect(wait).toBeGreaterThan(11_000);
    expect(wait).toBeLessThanOrEqual(20_000);
    for (let i = 0; i < 20; i++) expect(await budgets.take([slow], 'final')).toBe(0);
    const longest = await budgets.take([slow], 'edit');
    expect(longest).toBeGreaterThan(50_000);
    expect(longest).toBeLessThanOrEqual(60_000);
  });

  it('spaces the calls of many askers on several connections evenly', async () => {
    const quick = budget(40, 2);
    const stores = [fixture.store, fixture.other];
    const started = performance.now();
    const granted = Array.from({ length: 12 }, async (_, i) => {
      const { budgets } = stores[i % 2] ?? fixture.store;
      await sleep(await budgets.take([quick], 'edit'));
      return performance.now() - started;
    });
    const times = (await Promise.all(granted)).sort((a, b) => a - b);
    // Two at once, then one each 40 ms: the nth cannot come before (n - 2) × 40 ms.
    for (const [n, time] of times.entries()) expect(time).toBeGreaterThan((n - 1) * 40 - 5);
  });
}
