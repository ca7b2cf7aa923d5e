import { expect, it } from 'vitest';
import type { Store } from '../../../src/core/ports/store.js';
import type { FaultyProxy } from '../../fakes/faulty-proxy.js';
import { look, message, press } from './samples.js';

export interface LossFixture {
  /** A store that reaches its server through the proxy. */
  readonly store: Store;
  readonly proxy: FaultyProxy;
  key(): string;
}

/** What a store does when a request was carried out and its answer never came: it repeats it, and nothing happens twice. */
export function lostAnswerContract(fixture: LossFixture): void {
  async function losing<T>(text: string, call: () => Promise<T>): Promise<T> {
    const lost = fixture.proxy.loseAnswerTo(text);
    const result = await call();
    await lost;
    return result;
  }

  it('accepts an item once', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const accepted = await losing('lost-text', () => conversations.accept(key, message('lost-text')));
    expect(accepted).toEqual({ result: 'duplicate', seq: 1 });
    const { epoch } = await conversations.claim(key);
    expect((await look(conversations, key, epoch)).items).toHaveLength(1);
  });

  it('claims once', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    await conversations.accept(key, message('hello'));
    expect(await losing(key, () => conversations.claim(key))).toEqual({ epoch: 1, state: undefined, claims: 1 });
  });

  it('commits once: one outbox entry, one usage entry', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    await conversations.accept(key, message('hello'));
    const { epoch } = await conversations.claim(key);
    const at = Date.now() + 5_000_000;
    const figures = { inputTokens: 1, outputTokens: 1, cost: 1 };
    const usage = [{ at, run: 'r', person: 'p', agent: 'a', model: 'm', ...figures }];
    const commit = { state: 'new', ack: [1], outbox: ['lost-final'], usage };
    expect(await losing('lost-final', () => conversations.commit(key, epoch, commit))).toBe('ok');
    expect((await look(conversations, key, epoch)).outbox).toEqual([{ n: 1, body: 'lost-final' }]);
    expect((await conversations.usage(at)).filter((entry) => entry.key === key)).toHaveLength(1);
    expect(await conversations.commit(key, epoch, commit)).toBe('ok');
    expect((await look(conversations, key, epoch)).outbox).toHaveLength(2);
  });

  it('settles', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await conversations.claim(key);
    expect(await losing(key, () => conversations.settle(key, epoch, 0, null))).toBe('ok');
    expect(await conversations.summary(key)).toMatchObject({ busy: false });
  });

  it('lets the presser of a choice keep it', async () => {
    const { conversations } = fixture.store;
    const key = fixture.key();
    const { epoch } = await conversations.claim(key);
    const openChoices = [{ id: 'lost-choice', allowed: ['*'], till: Date.now() + 60_000 }];
    await conversations.commit(key, epoch, { state: {}, openChoices });
    const item = press('lost-choice', 'ann');
    expect(await losing(item.dedupe, () => conversations.accept(key, item))).toEqual({ result: 'duplicate', seq: 1 });
    expect(await conversations.accept(key, press('lost-choice', 'bob'))).toEqual({ result: 'already' });
  });

  it('shows a put message once', async () => {
    const { board } = fixture.store;
    const key = fixture.key();
    await losing('lost-message', () => board.put(key, 'lost-message', 'body'));
    expect((await board.list(key, 0)).messages).toMatchObject([{ id: 'lost-message', body: 'body' }]);
  });
}
