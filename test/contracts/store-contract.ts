import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conversationKey } from '../../src/core/chat/message.js';
import { StoreError } from '../../src/core/errors.js';
import type { Store } from '../../src/core/ports/store.js';
import { acceptingContract } from './store/accepting.js';
import { boundaryContract } from './store/boundaries.js';
import { choiceContract } from './store/choices.js';
import { fenceContract } from './store/fence.js';
import { overviewContract } from './store/overview.js';
import { sidePortContract } from './store/side-ports.js';
import { sweepContract } from './store/sweeping.js';
import { textContract } from './store/texts.js';

export interface OpenedStore {
  readonly store: Store;
  close(): Promise<void>;
}

/** What the parts of the contract work with. */
export interface StoreFixture {
  /** The store under test. */
  readonly store: Store;
  /** A second store on the same data, over connections of its own. */
  readonly other: Store;
  /** A conversation nobody has used. */
  key(): string;
}

/**
 * What every implementation of `Store` does; the sentences follow the comments of core/ports/store and budget.
 * `open` is called several times: each call gives a store on the same data.
 */
export function describeStoreContract(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    const opened: OpenedStore[] = [];
    const nth = (index: number): Store => {
      const found = opened[index];
      if (found === undefined) throw new Error('the store is not open');
      return found.store;
    };
    const fixture: StoreFixture = {
      get store() {
        return nth(0);
      },
      get other() {
        return nth(1);
      },
      key: () => conversationKey('test', 'account', 'space', randomUUID()),
    };

    beforeAll(async () => {
      // Together, as two processes that start at the same moment do.
      opened.push(...(await Promise.all([open(), open()])));
    });
    afterAll(async () => {
      await Promise.all(opened.map((one) => one.close()));
    });

    describe('accept', () => acceptingContract(fixture));
    describe('choices', () => choiceContract(fixture));
    describe('fencing and live slots', () => fenceContract(fixture));
    describe('commit and settle', () => boundaryContract(fixture));
    describe('sweep', () => sweepContract(fixture));
    describe('summary, runs and usage', () => overviewContract(fixture));
    describe('records, leases, board and budgets', () => sidePortContract(fixture));
    describe('texts', () => textContract(fixture));

    it('answers a ping', async () => {
      await expect(fixture.store.ping()).resolves.toBeUndefined();
    });

    it('rejects calls after it was closed, and closes twice without complaint', async () => {
      const third = await open();
      await third.store.close();
      await third.store.close();
      const refused = third.store.conversations.claim(fixture.key());
      await expect(refused).rejects.toSatisfy((error) => error instanceof StoreError && error.code === 'store_closed');
      await third.close();
    });
  });
}
