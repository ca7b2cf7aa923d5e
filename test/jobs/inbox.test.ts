import { describe, expect, it } from 'vitest';
import type { AcceptResult } from '../../src/core/chat/adapter.js';
import type { InboxItem } from '../../src/core/chat/message.js';
import { createInbox, type InboxOptions } from '../../src/jobs/inbox.js';
import { createCountingMetrics, quietLogger } from '../fakes/quiet.js';

const base = {
  ...{ v: 1 as const, dedupe: 'd', messageId: '1' },
  person: { id: 'fake:1', name: 'Ada' },
  place: { platform: 'fake', account: 'main', space: 'c' },
};
const text: InboxItem = { ...base, kind: 'message', text: 'hello' };
const stop: InboxItem = { ...base, kind: 'control', control: 'stop' };

function setUp(result: AcceptResult | Error, addRun: () => Promise<void> = async () => undefined) {
  const did: string[] = [];
  const metrics = createCountingMetrics();
  const options: InboxOptions = {
    conversations: {
      async accept() {
        did.push('accept');
        if (result instanceof Error) throw result;
        return result;
      },
    },
    addRun: async (key) => {
      did.push(`add ${key}`);
      await addRun();
    },
    relay: { publish: async (topic) => void did.push(`publish ${topic}`) },
    logger: quietLogger,
    metrics,
  };
  return { inbox: createInbox(options), did, metrics };
}

describe('the inbox', () => {
  it.each(['accepted', 'duplicate'] as const)('wakes the conversation up after an item that is %s', async (result) => {
    const { inbox, did } = setUp({ result, seq: 3 });
    expect(await inbox.accept('k', text)).toEqual({ result, seq: 3 });
    expect(did).toEqual(['accept', 'add k']);
  });

  it.each(['foreign', 'already', 'expired', 'closed'] as const)(
    'wakes nobody up for an item that is %s',
    async (result) => {
      const { inbox, did } = setUp({ result });
      expect(await inbox.accept('k', stop)).toEqual({ result });
      expect(did).toEqual(['accept']);
    },
  );

  it('sends a hint for a stop, also for one that was stored before', async () => {
    for (const result of ['accepted', 'duplicate'] as const) {
      const { inbox, did } = setUp({ result, seq: 1 });
      await inbox.accept('k', stop);
      expect(did).toEqual(['accept', 'publish stop:k', 'add k']);
    }
  });

  it('has accepted what is stored, even when the wake-up fails', async () => {
    const { inbox, metrics } = setUp({ result: 'accepted', seq: 1 }, () => Promise.reject(new Error('queue away')));
    expect(await inbox.accept('k', text)).toEqual({ result: 'accepted', seq: 1 });
    expect(metrics.counts.get('inbox_wake_up_failures')).toBe(1);
  });

  it('does not wait for ever for a queue that does not answer', async () => {
    const { inbox, metrics } = setUp({ result: 'accepted', seq: 1 }, () => new Promise(() => undefined));
    expect(await inbox.accept('k', text)).toEqual({ result: 'accepted', seq: 1 });
    expect(metrics.counts.get('inbox_wake_up_failures')).toBe(1);
  });

  it('passes on the error of a store that did not take the item', async () => {
    const { inbox, did } = setUp(new Error('store away'));
    await expect(inbox.accept('k', text)).rejects.toThrow('store away');
    expect(did).toEqual(['accept']);
  });
});
