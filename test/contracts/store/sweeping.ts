import { expect, it } from 'vitest';
import type { StoreFixture } from '../store-contract.js';
import { begun, clockPasses, look, message } from './samples.js';

const FAR = 60_000;

export function sweepContract(fixture: StoreFixture): void {
  const swept = async (key: string, graceMs: number) =>
    (await fixture.store.conversations.sweep(graceMs)).includes(key);

  it('finds an accepted conversation that was never claimed, once it is silent for longer than the grace', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    await conversations.accept(key, message('hello'));
    expect(await swept(key, FAR)).toBe(false);
    await expect.poll(() => swept(key, 30), { interval: 10 }).toBe(true);
    expect(await swept(key, FAR)).toBe(false);
  });

  it('does not take a new item for a sign of life of the holder', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    await conversations.accept(key, message('first'));
    await expect.poll(() => swept(key, 1_500), { interval: 50, timeout: 10_000 }).toBe(true);
    await conversations.accept(key, message('second'));
    expect(await swept(key, 1_500)).toBe(true);
  });

  it('takes a claim and each commit for a sign of life', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    await conversations.accept(key, message('hello'));
    await expect.poll(() => swept(key, 1_500), { interval: 50, timeout: 10_000 }).toBe(true);
    const { epoch } = await conversations.claim(key);
    expect(await swept(key, 1_500)).toBe(false);
    await expect.poll(() => swept(key, 1_500), { interval: 50, timeout: 10_000 }).toBe(true);
    await conversations.commit(key, epoch, { state: {} });
    expect(await swept(key, 1_500)).toBe(false);
  });

  it('finds a due wake-up, also of a settled conversation, and not before it is due', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    const { now } = await look(conversations, key, epoch);
    await conversations.settle(key, epoch, 1, now + FAR);
    expect(await swept(key, 0)).toBe(false);
    const { epoch: second } = await conversations.claim(key);
    const soon = (await look(conversations, key, second)).now + 1_000;
    expect(await conversations.settle(key, second, 1, soon)).toBe('ok');
    await expect.poll(() => swept(key, FAR), { interval: 20 }).toBe(true);
    expect((await look(conversations, key, second)).now).toBeGreaterThanOrEqual(soon);
  });

  it('finds a woken run whose holder died after clearing the wake-up', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    const { now } = await look(conversations, key, epoch);
    expect(await conversations.settle(key, epoch, 1, now + 1_000)).toBe('ok');
    await clockPasses(conversations, key, epoch, now + 1_000);
    const woken = await conversations.claim(key);
    await conversations.commit(key, woken.epoch, { state: { run: 2 }, wakeAt: null });
    await expect.poll(() => swept(key, 0), { interval: 5 }).toBe(true);
  });

  it('finds a woken run whose holder died right after its claim', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.commit(key, epoch, { state: {}, ack: [1] });
    expect(await conversations.settle(key, epoch, 1, null)).toBe('ok');
    expect(await swept(key, 0)).toBe(false);
    await conversations.claim(key);
    await expect.poll(() => swept(key, 0), { interval: 5 }).toBe(true);
  });

  it('finds each conversation once', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.commit(key, epoch, { state: {}, wakeAt: 1 });
    await expect.poll(() => swept(key, 0), { interval: 5 }).toBe(true);
    const found = await conversations.sweep(0);
    expect(found.filter((one) => one === key)).toHaveLength(1);
  });
}
