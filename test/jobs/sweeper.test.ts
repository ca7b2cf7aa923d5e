import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { InboxItem } from '../../src/core/chat/message.js';
import type { Deployment } from '../../src/jobs/deployment.js';
import { type Sweeper, startSweeper } from '../../src/jobs/sweeper.js';
import { quietLogger } from '../fakes/quiet.js';
import { waitFor } from '../fakes/wait-for.js';
import { describeOnTargets, open, type Target } from './targets.js';

const newKey = () => `fake:main:${randomUUID()}:`;

function message(text: string): InboxItem {
  return {
    ...{ v: 1, kind: 'message', dedupe: randomUUID(), messageId: '1', text },
    person: { id: 'fake:1', name: 'Ada' },
    place: { platform: 'fake', account: 'main', space: 'c' },
  };
}

describeOnTargets('the sweeper', (make) => {
  let target: Target;
  let deployment: Deployment;
  const sweepers: Sweeper[] = [];

  beforeAll(async () => {
    target = await make();
    deployment = await open(target);
  });

  afterEach(async () => {
    await Promise.all(sweepers.splice(0).map((sweeper) => sweeper.close()));
  });

  afterAll(async () => {
    await deployment?.close();
    await target?.remove();
  });

  /** A sweeper that only notes whom it wakes up; its first look, which knows no grace, is over. */
  async function watch(owner: string, times: { graceMs: number; intervalMs?: number }): Promise<string[]> {
    const woken: string[] = [];
    const addRun = async (key: string) => void woken.push(key);
    const early = newKey();
    await deployment.store.conversations.claim(early);
    sweepers.push(startSweeper({ store: deployment.store, addRun, owner, logger: quietLogger, ...times }));
    await waitFor(() => woken.includes(early));
    return woken;
  }

  it('runs a conversation whose wake-up was lost between accept and add', async () => {
    const key = newKey();
    const { conversations } = deployment.store;
    const handled: string[] = [];
    const worker = await deployment.startRunWorker({
      concurrency: 5,
      logger: quietLogger,
      async process(run) {
        const { epoch } = await conversations.claim(run);
        const reading = await conversations.read(run, epoch);
        if (reading === 'superseded') return;
        await conversations.commit(run, epoch, { state: {}, ack: reading.items.map(({ seq }) => seq) });
        await conversations.settle(run, epoch, reading.seen, null);
        if (run === key)
          handled.push(...reading.items.map((item) => (item.kind === 'message' ? item.text : item.kind)));
      },
    });
    const { addRun, store } = deployment;
    sweepers.push(startSweeper({ store, addRun, owner: 'a', logger: quietLogger, graceMs: 200, intervalMs: 100 }));
    await conversations.accept(key, message('first'));
    await waitFor(() => handled.length === 1);
    await conversations.accept(key, message('second'));
    await waitFor(() => handled.length === 2);
    expect(handled).toEqual(['first', 'second']);
    await worker.close(1_000);
  });

  it('wakes up what is dirty at its start at once, without waiting for the grace or the lease', async () => {
    const key = newKey();
    await deployment.store.conversations.accept(key, message('before the start'));
    expect(await deployment.leases.acquire('sweeper', 'killed predecessor', 60_000)).toBe(true);
    const woken = await watch('restarted', { graceMs: 60_000 });
    await waitFor(() => woken.includes(key));
    await deployment.leases.release('sweeper', 'killed predecessor');
  });

  it('leaves a conversation alone until it was silent for the grace', async () => {
    const key = newKey();
    const woken = await watch('a', { graceMs: 1_000, intervalMs: 50 });
    const before = performance.now();
    await deployment.store.conversations.accept(key, message('new'));
    await waitFor(() => woken.includes(key));
    expect(performance.now() - before).toBeGreaterThan(900);
  });

  it('wakes up a settled conversation when its time has come', async () => {
    const key = newKey();
    const { conversations } = deployment.store;
    const woken = await watch('a', { graceMs: 60_000, intervalMs: 50 });
    const { epoch } = await conversations.claim(key);
    const reading = await conversations.read(key, epoch);
    if (reading === 'superseded') throw new Error('superseded');
    expect(await conversations.settle(key, epoch, reading.seen, reading.now + 700)).toBe('ok');
    const before = performance.now();
    await waitFor(() => woken.includes(key));
    expect(performance.now() - before).toBeGreaterThan(500);
  });

  it('wakes up a conversation that stays silent less and less often', async () => {
    const key = newKey();
    const woken = await watch('a', { graceMs: 1, intervalMs: 50 });
    await deployment.store.conversations.claim(key);
    await waitFor(() => woken.filter((one) => one === key).length === 3);
    await sleep(300);
    expect(woken.filter((one) => one === key).length).toBeLessThanOrEqual(4);
  });

  it('works in one process at a time, and in another one after it is closed', async () => {
    const first = await watch('first', { graceMs: 1, intervalMs: 50 });
    const second = await watch('second', { graceMs: 1, intervalMs: 50 });
    const later = newKey();
    await deployment.store.conversations.claim(later);
    await waitFor(() => first.includes(later));
    expect(second).not.toContain(later);
    await sweepers.shift()?.close();
    const last = newKey();
    await deployment.store.conversations.claim(last);
    await waitFor(() => second.includes(last));
  });
});

describe('a sweeper whose store or queue fails', () => {
  it('goes on with the next look', async () => {
    let looks = 0;
    const added: string[] = [];
    const sweeper = startSweeper({
      store: {
        conversations: {
          sweep: async () => {
            looks++;
            if (looks % 2 === 1) throw new Error('store away');
            return [`key ${looks}`];
          },
        },
        leases: { acquire: async () => true, release: async () => undefined },
      },
      addRun: async (key) => {
        added.push(key);
        if (added.length === 1) throw new Error('queue away');
      },
      ...{ owner: 'a', logger: quietLogger, graceMs: 1, intervalMs: 5 },
    });
    await waitFor(() => added.length >= 3);
    await sweeper.close();
    const before = looks;
    await sleep(30);
    expect(looks).toBe(before);
  });
});
