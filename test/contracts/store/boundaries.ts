import { expect, it } from 'vitest';
import type { StoreFixture } from '../store-contract.js';
import { begun, look, message, run, stop, waiting } from './samples.js';

const FAR = 60_000;

export function boundaryContract(fixture: StoreFixture): void {
  it('commits state, acks and outbox in one step, numbering the outbox from 1', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    for (const text of ['a', 'b', 'c']) await conversations.accept(key, message(text));
    const { epoch } = await conversations.claim(key);
    const bodies = [{ slot: 't1.0' }, 'plain', null];
    expect(await conversations.commit(key, epoch, { state: { turn: 1 }, ack: [1, 3], outbox: bodies })).toBe('ok');
    const reading = await look(conversations, key, epoch);
    expect(reading.items).toMatchObject([{ seq: 2, text: 'b' }]);
    expect(reading.outbox).toEqual(bodies.map((body, i) => ({ n: i + 1, body })));
    await conversations.commit(key, epoch, { state: {}, delivered: [1, 2], outbox: ['last'] });
    expect((await look(conversations, key, epoch)).outbox).toEqual([
      { n: 3, body: null },
      { n: 4, body: 'last' },
    ]);
  });

  it('acks what was accepted after the reading only when it is named', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    const [first] = await waiting(conversations, key, epoch);
    await conversations.accept(key, message('meanwhile'));
    await conversations.commit(key, epoch, { state: {}, ack: [first ?? 0, 99] });
    expect(await waiting(conversations, key, epoch)).toEqual([2]);
  });

  it('leaves alone what a commit does not name', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.liveId(key, epoch, 't1.0', '7');
    const { now } = await look(conversations, key, epoch);
    const mark = run('r1', 'running');
    await conversations.commit(key, epoch, { state: 1, outbox: ['kept'], run: mark, wakeAt: now + FAR });
    await conversations.accept(key, stop('ann'));
    expect(await conversations.commit(key, epoch, { state: 2 })).toBe('ok');
    const reading = await look(conversations, key, epoch);
    expect(reading).toMatchObject({ outbox: [{ n: 1, body: 'kept' }], live: { 't1.0': '7' }, stop: 2 });
    expect(reading.items).toHaveLength(2);
    expect(await conversations.summary(key)).toEqual({ key, run: mark, busy: true, wakeAt: now + FAR });
  });

  it('clears a stop only up to the number that was handled', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.accept(key, stop('ann'));
    await conversations.accept(key, stop('ann'));
    await conversations.commit(key, epoch, { state: {}, stopUpTo: 2 });
    expect(await conversations.check(key, epoch)).toBe('stop');
    await conversations.commit(key, epoch, { state: {}, stopUpTo: 3 });
    expect(await conversations.check(key, epoch)).toBe('ok');
  });

  it('keeps delivering while a stop is pending', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.commit(key, epoch, { state: {}, ack: [1], outbox: ['final'] });
    await conversations.accept(key, stop('ann'));
    expect(await conversations.check(key, epoch)).toBe('stop');
    expect(await conversations.liveIntent(key, epoch, 't1.0')).toEqual({ intent: 'fresh' });
    expect(await conversations.commit(key, epoch, { state: {}, delivered: [1] })).toBe('ok');
    expect((await look(conversations, key, epoch)).outbox).toEqual([]);
  });

  it('writes, replaces and clears the wake-up', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    const { now } = await look(conversations, key, epoch);
    for (const wakeAt of [now + FAR, now + 2 * FAR, null]) {
      await conversations.commit(key, epoch, { state: {}, wakeAt });
      expect(await conversations.summary(key)).toMatchObject({ wakeAt });
    }
  });

  it('settles when inbox and outbox are empty, and is then not busy', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    expect(await conversations.settle(key, epoch, 1, null)).toBe('busy');
    await conversations.commit(key, epoch, { state: {}, ack: [1], outbox: ['final'] });
    expect(await conversations.settle(key, epoch, 1, null)).toBe('busy');
    await conversations.commit(key, epoch, { state: {}, delivered: [1] });
    expect(await conversations.summary(key)).toMatchObject({ busy: true });
    expect(await conversations.settle(key, epoch, 1, null)).toBe('ok');
    expect(await conversations.summary(key)).toEqual({ key, run: null, busy: false, wakeAt: null });
  });

  it('does not settle over an item accepted after the reading', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    const { seen, now } = await look(conversations, key, epoch);
    await conversations.commit(key, epoch, { state: {}, ack: [1] });
    await conversations.accept(key, message('late'));
    expect(await conversations.settle(key, epoch, seen, null)).toBe('busy');
    expect(await conversations.settle(key, epoch, seen, now + FAR)).toBe('busy');
    expect(await conversations.summary(key)).toMatchObject({ busy: true, wakeAt: null });
  });

  it('settles over waiting items and outbox when a future wake-up covers them', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.commit(key, epoch, { state: {}, outbox: ['held'] });
    const { now, seen } = await look(conversations, key, epoch);
    expect(await conversations.settle(key, epoch, seen, now - 1)).toBe('busy');
    expect(await conversations.settle(key, epoch, seen, now + FAR)).toBe('ok');
    expect(await conversations.summary(key)).toEqual({ key, run: null, busy: false, wakeAt: now + FAR });
    const reading = await look(conversations, key, epoch);
    expect(reading.items).toHaveLength(1);
    expect(reading.outbox).toHaveLength(1);
  });

  it('clears an older wake-up by a settle without one', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    const { now } = await look(conversations, key, epoch);
    await conversations.commit(key, epoch, { state: {}, ack: [1], wakeAt: now + FAR });
    expect(await conversations.settle(key, epoch, 1, null)).toBe('ok');
    expect(await conversations.summary(key)).toMatchObject({ wakeAt: null });
  });

  it('takes times with fractions and times that never come', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    const { now } = await look(conversations, key, epoch);
    const openChoices = [{ id: 'c1', allowed: ['*'], till: Number.POSITIVE_INFINITY }];
    await conversations.commit(key, epoch, { state: {}, openChoices, wakeAt: now + FAR + 0.25 });
    expect(await conversations.summary(key)).toMatchObject({ wakeAt: now + FAR + 1 });
    expect(await conversations.settle(key, epoch, 1, now + FAR + 0.5)).toBe('ok');
  });

  it('keeps a state of a megabyte, and a text and an outbox entry of that size', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const big = 'grüße 你好 👋 '.repeat(70_000);
    await conversations.accept(key, message(big));
    const { epoch } = await conversations.claim(key);
    expect(await conversations.commit(key, epoch, { state: { big }, outbox: [big] })).toBe('ok');
    const reading = await look(conversations, key, epoch);
    expect(reading.items).toMatchObject([{ text: big }]);
    expect(reading.outbox).toEqual([{ n: 1, body: big }]);
    expect((await conversations.claim(key)).state).toEqual({ big });
  });
}
