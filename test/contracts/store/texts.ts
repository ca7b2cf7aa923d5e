import { expect, it } from 'vitest';
import { StoreError } from '../../../src/core/errors.js';
import type { StoreFixture } from '../store-contract.js';
import { look, message, person, press, run } from './samples.js';

/** What databases stumble over: NUL, half a surrogate pair, control signs, quotes, and signs of the stores' own. */
const NASTY = 'a\u0000b \ud83d c \udc4b \u001a0000 \u001a \u2028 "q" \\u0000 \\ {b} %s $1 | 你好 👋 ñ ñ';

const refusal = (error: unknown) => error instanceof StoreError && error.code === 'store_identifier';

export function textContract(fixture: StoreFixture): void {
  it('keeps any text of people and models as it is', async () => {
    const { conversations, board, records } = fixture.store;
    const key = fixture.key();
    const item = { ...message(NASTY), person: { id: 'test:ann', name: NASTY } };
    await conversations.accept(key, item);
    const { epoch } = await conversations.claim(key);
    const state = { [NASTY]: [NASTY] };
    expect(await conversations.commit(key, epoch, { state, outbox: [{ text: NASTY }, NASTY] })).toBe('ok');
    const reading = await look(conversations, key, epoch);
    expect(reading.items).toEqual([{ ...item, seq: 1 }]);
    expect(reading.outbox.map((entry) => entry.body)).toEqual([{ text: NASTY }, NASTY]);
    expect((await conversations.claim(key)).state).toEqual(state);
    await board.put(key, 'm', { html: NASTY });
    expect(await board.get(key, 'm')).toMatchObject({ body: { html: NASTY } });
    await records.set('space', key, NASTY, 60_000);
    expect(await records.get('space', key)).toBe(NASTY);
  });

  it('keeps any identifier as it is', async () => {
    const { conversations, board, records, leases, budgets } = fixture.store;
    const key = `${fixture.key()}${NASTY}`;
    const item = { ...message('hello'), dedupe: NASTY };
    expect(await conversations.accept(key, item)).toEqual({ result: 'accepted', seq: 1 });
    expect(await conversations.accept(key, item)).toEqual({ result: 'duplicate', seq: 1 });
    const { epoch } = await conversations.claim(key);
    await conversations.liveIntent(key, epoch, NASTY);
    await conversations.liveId(key, epoch, `${NASTY}2`, NASTY);
    expect((await look(conversations, key, epoch)).live).toEqual({ [NASTY]: '', [`${NASTY}2`]: NASTY });
    expect(await conversations.liveIntent(key, epoch, `${NASTY}2`)).toEqual({ intent: 'known', messageId: NASTY });
    const mark = run(NASTY, 'running', { allowed: [person(NASTY).id], model: NASTY, updatedAt: 8_999_999_999_999 });
    const openChoices = [{ id: NASTY, allowed: [person(NASTY).id], till: Date.now() + 60_000 }];
    await conversations.commit(key, epoch, { state: {}, run: mark, openChoices, forgetLive: [NASTY] });
    expect(await conversations.accept(key, press(NASTY, 'ann'))).toEqual({ result: 'foreign' });
    expect(await conversations.accept(key, press(NASTY, NASTY))).toEqual({ result: 'accepted', seq: 2 });
    expect(await conversations.commit(key, epoch, { state: {}, closeChoices: [NASTY] })).toBe('taken');
    expect((await look(conversations, key, epoch)).live).toEqual({ [`${NASTY}2`]: NASTY });
    expect(await conversations.summary(key)).toMatchObject({ key, run: mark });
    expect((await conversations.runs({ phase: 'running', limit: 1_000 })).map((one) => one.key)).toContain(key);
    await expect.poll(() => conversations.sweep(0), { interval: 5 }).toContain(key);
    await board.put(key, NASTY, 1);
    expect((await board.list(key, 0)).messages).toMatchObject([{ id: NASTY }]);
    await records.set(NASTY, key, 'value', 60_000);
    expect(await records.get(NASTY, key)).toBe('value');
    expect(await leases.acquire(key, NASTY, 60_000)).toBe(true);
    expect(await leases.acquire(key, `${NASTY}2`, 60_000)).toBe(false);
    expect(await budgets.take([{ bucket: key, everyMs: 60_000, burst: 1 }], 'edit')).toBe(0);
  });

  it('keeps identifiers apart that differ only in half a surrogate pair', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    await conversations.accept(key, { ...message('one'), dedupe: '\ud800' });
    expect(await conversations.accept(key, { ...message('two'), dedupe: '\ud801' })).toMatchObject({ seq: 2 });
  });

  it('takes a dedupe key of any length', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const dedupe = '长'.repeat(100_000);
    expect(await conversations.accept(key, { ...message('one'), dedupe })).toMatchObject({ result: 'accepted' });
    expect(await conversations.accept(key, { ...message('one'), dedupe })).toMatchObject({ result: 'duplicate' });
    expect(await conversations.accept(key, { ...message('two'), dedupe: `${dedupe}2` })).toMatchObject({ seq: 2 });
  });

  it('refuses an identifier that is too long, and names the limit', async () => {
    const { conversations, board } = fixture.store;
    const long = '长'.repeat(401);
    await expect(conversations.accept(long, message('hello'))).rejects.toSatisfy(refusal);
    await expect(board.put(fixture.key(), long, {})).rejects.toSatisfy(refusal);
    await expect(board.put(fixture.key(), '长'.repeat(400), {})).resolves.toBe(1);
  });
}
