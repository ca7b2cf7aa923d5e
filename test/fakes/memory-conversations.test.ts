import { randomUUID } from 'node:crypto';
import { describe } from 'vitest';
import { conversationKey } from '../../src/core/chat/message.js';
import type { Store } from '../../src/core/ports/store.js';
import { acceptingContract } from '../contracts/store/accepting.js';
import { boundaryContract } from '../contracts/store/boundaries.js';
import { choiceContract } from '../contracts/store/choices.js';
import { fenceContract } from '../contracts/store/fence.js';
import { overviewContract } from '../contracts/store/overview.js';
import { sweepContract } from '../contracts/store/sweeping.js';
import type { StoreFixture } from '../contracts/store-contract.js';
import { createMemoryBoard } from './memory-board.js';
import { createMemoryConversations } from './memory-conversations.js';
import { createMemoryLeases, createMemoryRecords } from './memory-ports.js';

describe('the conversations in memory', () => {
  const store: Store = {
    conversations: createMemoryConversations(),
    records: createMemoryRecords(),
    leases: createMemoryLeases(),
    board: createMemoryBoard(),
    budgets: { take: async () => 0 },
    ping: async () => undefined,
    close: async () => undefined,
  };
  const fixture: StoreFixture = {
    store,
    other: store,
    key: () => conversationKey('test', 'account', 'space', randomUUID()),
  };

  describe('accept', () => acceptingContract(fixture));
  describe('choices', () => choiceContract(fixture));
  describe('fencing and live slots', () => fenceContract(fixture));
  describe('commit and settle', () => boundaryContract(fixture));
  describe('sweep', () => sweepContract(fixture));
  describe('summary, runs and usage', () => overviewContract(fixture));
});
