import { expect, it } from 'vitest';
import type { ConversationStore } from '../../../src/core/ports/store.js';
import type { StoreFixture } from '../store-contract.js';
import { begun, clockPasses, look, message, press, stop } from './samples.js';

const FAR = 60_000;

/** A claimed conversation with the open choice `c1` for ann and bob. */
async function asked(conversations: ConversationStore, key: string) {
  const { epoch } = await begun(conversations, key);
  const till = (await look(conversations, key, epoch)).now + FAR;
  const openChoices = [{ id: 'c1', allowed: ['test:ann', 'test:bob'], till }];
  await conversations.commit(key, epoch, { state: {}, ack: [1], openChoices });
  return { epoch, till };
}

export function choiceContract(fixture: StoreFixture): void {
  it('gives a choice to exactly one of simultaneous presses', async () => {
    const key = fixture.key();
    const { conversations } = fixture.store;
    const { epoch } = await asked(conversations, key);
    const stores = [fixture.store, fixture.other];
    const presses = ['ann', 'bob', 'eve', 'ann'].map((by, i) =>
      (stores[i % 2] ?? fixture.store).conversations.accept(key, press('c1', by)),
    );
    const results = (await Promise.all(presses)).map((one) => one.result);
    expect([...results].sort()).toEqual(['accepted', 'already', 'already', 'foreign']);
    expect(results[2]).toBe('foreign');
    expect((await look(conversations, key, epoch)).items).toHaveLength(1);
  });

  it('lets anybody press when `*` is allowed', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch, till } = await asked(conversations, key);
    await conversations.commit(key, epoch, { state: {}, openChoices: [{ id: 'c2', allowed: ['*'], till }] });
    expect(await conversations.accept(key, press('c2', 'eve'))).toEqual({ result: 'accepted', seq: 2 });
  });

  it('calls an unknown choice expired, also in a conversation that does not exist', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    expect(await conversations.accept(key, press('c1', 'ann'))).toEqual({ result: 'expired' });
    expect(await conversations.summary(key)).toBeUndefined();
    await asked(conversations, key);
    expect(await conversations.accept(key, press('c9', 'ann'))).toEqual({ result: 'expired' });
  });

  it('calls a choice expired after its time', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    const { now } = await look(conversations, key, epoch);
    await conversations.commit(key, epoch, { state: {}, openChoices: [{ id: 'c1', allowed: ['*'], till: now + 20 }] });
    await clockPasses(conversations, key, epoch, now + 20);
    expect(await conversations.accept(key, press('c1', 'ann'))).toEqual({ result: 'expired' });
  });

  it('calls a closed choice expired, or already answered when somebody won it', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch, till } = await asked(conversations, key);
    expect(await conversations.commit(key, epoch, { state: {}, closeChoices: ['c1'] })).toBe('ok');
    expect(await conversations.accept(key, press('c1', 'ann'))).toEqual({ result: 'expired' });
    await conversations.commit(key, epoch, { state: {}, openChoices: [{ id: 'c2', allowed: ['*'], till }] });
    await conversations.accept(key, press('c2', 'ann'));
    await conversations.commit(key, epoch, { state: {}, ack: [2], closeChoices: ['c2'], knowsTaken: true });
    expect(await conversations.accept(key, press('c2', 'bob'))).toEqual({ result: 'already' });
  });

  it('refuses a choice while a stop is pending and gives it free when the stop is handled', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await asked(conversations, key);
    await conversations.accept(key, stop('ann'));
    expect(await conversations.accept(key, press('c1', 'ann'))).toEqual({ result: 'expired' });
    await conversations.commit(key, epoch, { state: {}, ack: [2], stopUpTo: 2 });
    expect(await conversations.accept(key, press('c1', 'ann'))).toMatchObject({ result: 'accepted' });
  });

  it('keeps no trace of a refused press', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch, till } = await asked(conversations, key);
    const early = press('c2', 'ann');
    expect(await conversations.accept(key, early)).toEqual({ result: 'expired' });
    expect((await look(conversations, key, epoch)).seen).toBe(1);
    await conversations.commit(key, epoch, { state: {}, openChoices: [{ id: 'c2', allowed: ['*'], till }] });
    expect(await conversations.accept(key, early)).toEqual({ result: 'accepted', seq: 2 });
  });

  it('calls a repeated press by the same event a duplicate', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    await asked(conversations, key);
    const event = press('c1', 'ann');
    expect(await conversations.accept(key, event)).toEqual({ result: 'accepted', seq: 2 });
    expect(await conversations.accept(key, event)).toEqual({ result: 'duplicate', seq: 2 });
  });

  it('refuses to close a choice somebody won until the caller knows it, and then does nothing', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await asked(conversations, key);
    await conversations.accept(key, press('c1', 'bob'));
    const expiry = { state: { expired: true }, ack: [2], outbox: ['expired'], closeChoices: ['c1'], wakeAt: null };
    expect(await conversations.commit(key, epoch, expiry)).toBe('taken');
    const reading = await look(conversations, key, epoch);
    expect(reading.items).toMatchObject([{ seq: 2, kind: 'choice', choice: 'c1', option: 'yes' }]);
    expect(reading.outbox).toEqual([]);
    expect((await conversations.claim(key)).state).toEqual({});
    const answered = { state: { answered: true }, ack: [2], closeChoices: ['c1'], knowsTaken: true };
    expect(await conversations.commit(key, epoch + 1, answered)).toBe('ok');
  });

  it('closes a closed choice again without complaint', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await asked(conversations, key);
    await conversations.accept(key, press('c1', 'bob'));
    await conversations.commit(key, epoch, { state: {}, closeChoices: ['c1'], knowsTaken: true });
    expect(await conversations.commit(key, epoch, { state: {}, closeChoices: ['c1', 'c9'] })).toBe('ok');
  });

  it('never revives a won choice that is opened again, and renews an untouched one', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch, till } = await asked(conversations, key);
    const again = { state: {}, openChoices: [{ id: 'c1', allowed: ['test:eve'], till }] };
    await conversations.commit(key, epoch, again);
    expect(await conversations.accept(key, press('c1', 'ann'))).toEqual({ result: 'foreign' });
    expect(await conversations.accept(key, press('c1', 'eve'))).toMatchObject({ result: 'accepted' });
    await conversations.commit(key, epoch, again);
    expect(await conversations.accept(key, press('c1', 'eve'))).toEqual({ result: 'already' });
  });

  it('keeps choices of two conversations apart', async () => {
    const { conversations } = fixture.store;
    const [one, two] = [fixture.key(), fixture.key()];
    await asked(conversations, one);
    await asked(conversations, two);
    expect(await conversations.accept(one, press('c1', 'ann'))).toMatchObject({ result: 'accepted' });
    expect(await conversations.accept(two, press('c1', 'ann'))).toMatchObject({ result: 'accepted' });
    expect(await conversations.accept(two, message('still takes texts'))).toMatchObject({ result: 'accepted' });
  });
}
