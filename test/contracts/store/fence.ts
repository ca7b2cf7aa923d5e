import { expect, it } from 'vitest';
import type { StoreFixture } from '../store-contract.js';
import { begun, look, message, stop } from './samples.js';

export function fenceContract(fixture: StoreFixture): void {
  it('gives each claim a newer epoch, the state of the last commit and undefined before the first', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const first = await begun(conversations, key);
    expect(first).toEqual({ epoch: 1, state: undefined, claims: 1 });
    await conversations.commit(key, first.epoch, { state: { round: 1 } });
    expect(await conversations.claim(key)).toEqual({ epoch: 2, state: { round: 1 }, claims: 1 });
    const both = await Promise.all([conversations.claim(key), fixture.other.conversations.claim(key)]);
    expect(both.map((claim) => claim.epoch).sort()).toEqual([3, 4]);
  });

  it('refuses every fenced operation under an old epoch and changes nothing', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch: old } = await begun(conversations, key);
    await conversations.commit(key, old, { state: 'before' });
    const { epoch } = await fixture.other.conversations.claim(key);
    const before = { ...(await look(conversations, key, epoch)), now: 0 };
    const late = { state: 'late', ack: [1], outbox: ['late'], wakeAt: 1, stopUpTo: 9 };
    expect(await conversations.read(key, old)).toBe('superseded');
    expect(await conversations.commit(key, old, late)).toBe('superseded');
    expect(await conversations.settle(key, old, 99, Date.now() + 60_000)).toBe('superseded');
    expect(await conversations.check(key, old)).toBe('superseded');
    expect(await conversations.liveIntent(key, old, 't1.0')).toBe('superseded');
    expect(await conversations.liveId(key, old, 't1.0', '7')).toBe('superseded');
    expect({ ...(await look(conversations, key, epoch)), now: 0 }).toEqual(before);
    expect(await conversations.summary(key)).toEqual({ key, run: null, busy: true, wakeAt: null });
    expect((await conversations.claim(key)).state).toBe('before');
  });

  it('refuses an epoch that was never given', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    expect(await conversations.check(key, 0)).toBe('superseded');
    expect(await conversations.commit(key, 1, { state: {} })).toBe('superseded');
    expect(await conversations.summary(key)).toBeUndefined();
    await begun(conversations, key);
    expect(await conversations.check(key, 2)).toBe('superseded');
    expect(await conversations.commit(key, 2, { state: {} })).toBe('superseded');
  });

  it('checks superseded before stop', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    expect(await conversations.check(key, epoch)).toBe('ok');
    await conversations.accept(key, stop('ann'));
    expect(await conversations.check(key, epoch)).toBe('stop');
    await conversations.claim(key);
    expect(await conversations.check(key, epoch)).toBe('superseded');
  });

  it('tells a fresh intent, one without id, and a known id', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    expect(await conversations.liveIntent(key, epoch, 't1.0')).toEqual({ intent: 'fresh' });
    expect((await look(conversations, key, epoch)).live).toEqual({ 't1.0': '' });
    expect(await conversations.liveIntent(key, epoch, 't1.0')).toEqual({ intent: 'again' });
    expect(await conversations.liveId(key, epoch, 't1.0', '42')).toBe('ok');
    expect(await conversations.liveIntent(key, epoch, 't1.0')).toEqual({ intent: 'known', messageId: '42' });
    expect(await conversations.liveIntent(key, epoch, 't1.1')).toEqual({ intent: 'fresh' });
    expect((await look(conversations, key, epoch)).live).toEqual({ 't1.0': '42', 't1.1': '' });
  });

  it('turns an id back into an intent', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.liveId(key, epoch, 't1.0', '42');
    await conversations.liveId(key, epoch, 't1.0', '');
    expect(await conversations.liveIntent(key, epoch, 't1.0')).toEqual({ intent: 'again' });
  });

  it('shows intents and ids to the next holder, and forgets them by a commit', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.liveIntent(key, epoch, 't1.0');
    await conversations.liveId(key, epoch, 't1.1', '43');
    const next = (await fixture.other.conversations.claim(key)).epoch;
    expect(await conversations.liveIntent(key, next, 't1.0')).toEqual({ intent: 'again' });
    expect(await conversations.liveIntent(key, next, 't1.1')).toEqual({ intent: 'known', messageId: '43' });
    await conversations.commit(key, next, { state: {}, forgetLive: ['t1.1', 'never'] });
    expect((await look(conversations, key, next)).live).toEqual({ 't1.0': '' });
  });

  it('counts claims since the last commit or settle', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    await conversations.accept(key, message('hello'));
    for (let claims = 1; claims <= 6; claims++) expect(await conversations.claim(key)).toMatchObject({ claims });
    await conversations.commit(key, 6, { state: {}, ack: [1] });
    expect(await conversations.claim(key)).toMatchObject({ claims: 1 });
    for (let round = 0; round < 5; round++) {
      const { epoch, claims } = await conversations.claim(key);
      expect(claims).toBe(round === 0 ? 2 : 1);
      expect(await conversations.settle(key, epoch, 1, null)).toBe('ok');
    }
  });
}
