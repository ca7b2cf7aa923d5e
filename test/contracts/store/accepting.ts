import { expect, it } from 'vitest';
import type { StoreFixture } from '../store-contract.js';
import { begun, look, message, run, stop, stray } from './samples.js';

export function acceptingContract(fixture: StoreFixture): void {
  it('numbers items from 1 and gives them back in order, unchanged', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const items = [message('one'), stop('ann'), stray('t1.0'), message('two')];
    for (const [i, item] of items.entries()) {
      expect(await conversations.accept(key, item)).toEqual({ result: 'accepted', seq: i + 1 });
    }
    const { epoch } = await conversations.claim(key);
    const reading = await look(conversations, key, epoch);
    expect(reading.items).toEqual(items.map((item, i) => ({ ...item, seq: i + 1 })));
    expect(reading.seen).toBe(4);
  });

  it('drops an item whose dedupe key is known and tells the number of the first', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const first = message('once');
    await conversations.accept(key, first);
    await conversations.accept(key, message('between'));
    expect(await conversations.accept(key, { ...first, text: 'changed' })).toEqual({ result: 'duplicate', seq: 1 });
    const { epoch } = await conversations.claim(key);
    expect((await look(conversations, key, epoch)).items).toMatchObject([{ text: 'once' }, { text: 'between' }]);
  });

  it('remembers a dedupe key after its item was acked', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const item = message('hello');
    await conversations.accept(key, item);
    const { epoch } = await conversations.claim(key);
    await conversations.commit(key, epoch, { state: {}, ack: [1] });
    expect(await conversations.accept(key, item)).toEqual({ result: 'duplicate', seq: 1 });
    expect((await look(conversations, key, epoch)).items).toEqual([]);
  });

  it('knows a dedupe key only within its conversation', async () => {
    const { conversations } = fixture.store;
    const item = message('hello');
    expect(await conversations.accept(fixture.key(), item)).toEqual({ result: 'accepted', seq: 1 });
    expect(await conversations.accept(fixture.key(), item)).toEqual({ result: 'accepted', seq: 1 });
  });

  it('gives simultaneous items of several connections distinct numbers without a gap', async () => {
    const key = fixture.key();
    const stores = [fixture.store, fixture.other];
    const accepted = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const store = stores[i % 2] ?? fixture.store;
        return await store.conversations.accept(key, message(`m${i}`));
      }),
    );
    const numbers = accepted.map((one) => ('seq' in one ? one.seq : -1));
    expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    const { epoch } = await fixture.store.conversations.claim(key);
    const reading = await look(fixture.store.conversations, key, epoch);
    const texts = new Map(reading.items.map((item) => [item.seq, item.kind === 'message' ? item.text : '']));
    expect(numbers.map((seq) => texts.get(seq))).toEqual(Array.from({ length: 60 }, (_, i) => `m${i}`));
  });

  it('accepts one of many simultaneous copies of an item', async () => {
    const key = fixture.key();
    const item = message('copy');
    const stores = [fixture.store, fixture.other];
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, i) => (stores[i % 2] ?? fixture.store).conversations.accept(key, item)),
    );
    expect(results.filter((one) => one.result === 'accepted')).toHaveLength(1);
    expect(results.filter((one) => one.result === 'duplicate')).toHaveLength(11);
    expect(new Set(results.map((one) => ('seq' in one ? one.seq : 0)))).toEqual(new Set([1]));
  });

  it('marks the conversation busy', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    await conversations.accept(key, message('hello'));
    expect(await conversations.summary(key)).toMatchObject({ busy: true });
  });

  it('sets the stop flag to the number of the newest stop', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    expect((await look(conversations, key, epoch)).stop).toBe(0);
    await conversations.accept(key, stop('ann'));
    expect((await look(conversations, key, epoch)).stop).toBe(2);
    await conversations.accept(key, stop('ann'));
    expect((await look(conversations, key, epoch)).stop).toBe(3);
  });

  it('takes other control words without a stop', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    expect(await conversations.accept(key, { ...stop('bob'), control: 'new' })).toMatchObject({ result: 'accepted' });
    expect(await conversations.check(key, epoch)).toBe('ok');
  });

  it('refuses the stop button of a run that is not the stored active one', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    expect(await conversations.accept(key, stop('ann', 'r3'))).toEqual({ result: 'closed' });
    const { epoch } = await begun(conversations, key);
    await conversations.commit(key, epoch, { state: {}, run: run('r7', 'running') });
    expect(await conversations.accept(key, stop('ann', 'r3'))).toEqual({ result: 'closed' });
    expect(await conversations.check(key, epoch)).toBe('ok');
    await conversations.commit(key, epoch, { state: {}, run: run('r7', 'finished') });
    expect(await conversations.accept(key, stop('ann', 'r7'))).toEqual({ result: 'closed' });
    await conversations.commit(key, epoch, { state: {}, run: null });
    expect(await conversations.accept(key, stop('ann', 'r7'))).toEqual({ result: 'closed' });
    await conversations.commit(key, epoch, { state: {}, run: run('r7', 'waiting') });
    expect(await conversations.accept(key, stop('ann', 'r7'))).toMatchObject({ result: 'accepted' });
    expect(await conversations.check(key, epoch)).toBe('stop');
  });

  it('refuses the stop of a person the active run does not allow', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.commit(key, epoch, { state: {}, run: run('r1', 'running') });
    expect(await conversations.accept(key, stop('eve'))).toEqual({ result: 'foreign' });
    expect(await conversations.accept(key, stop('eve', 'r1'))).toEqual({ result: 'foreign' });
    expect(await conversations.check(key, epoch)).toBe('ok');
    await conversations.commit(key, epoch, { state: {}, run: run('r1', 'running', { allowed: ['*'] }) });
    expect(await conversations.accept(key, stop('eve'))).toMatchObject({ result: 'accepted' });
  });

  it('takes the stop of anybody while no run is active', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await begun(conversations, key);
    await conversations.commit(key, epoch, { state: {}, run: run('r1', 'stopped', { allowed: [] }) });
    expect(await conversations.accept(key, stop('eve'))).toEqual({ result: 'accepted', seq: 2 });
  });

  it('keeps no trace of a refused item', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const button = stop('ann', 'r1');
    expect(await conversations.accept(key, button)).toEqual({ result: 'closed' });
    expect(await conversations.summary(key)).toBeUndefined();
    const { epoch } = await conversations.claim(key);
    await conversations.commit(key, epoch, { state: {}, run: run('r1', 'running') });
    expect((await look(conversations, key, epoch)).seen).toBe(0);
    expect(await conversations.accept(key, button)).toEqual({ result: 'accepted', seq: 1 });
  });
}
