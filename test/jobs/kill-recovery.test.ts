import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Child, startChild } from './child.js';
import { describeOnSharedTargets, describeOnTargets, type Target } from './targets.js';

interface Report {
  readonly what: string;
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A take-over is promised within 15 s of the kill (design 3.8); a busy machine gets three times as long. */
const TAKE_OVER_MS = 3 * 15_000;
const TEST_MS = 120_000;

const newKey = () => `fake:main:${randomUUID()}:`;

function setUp(make: () => Promise<Target>) {
  let target: Target;
  const children: Child[] = [];

  beforeEach(async () => {
    target = await make();
  });

  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill()));
    await target.remove();
  });

  /** A process whose runs take `runMs`. */
  return async function startWorker(runMs: number): Promise<Child> {
    const input = { config: target.config, runMs, sweeper: true };
    const child = startChild(new URL('./run-process.ts', import.meta.url), input);
    children.push(child);
    await report(child, 'ready', '');
    return child;
  };
}

const report = (child: Child, what: string, key: string) =>
  child.message<Report>((message) => message.what === what && message.key === key);

describeOnTargets('a run whose process ends', (make) => {
  const startWorker = setUp(make);

  it(
    'by a kill is continued by the process that is started in its place',
    async () => {
      const key = newKey();
      const first = await startWorker(60_000);
      first.send({ add: key });
      await report(first, 'started', key);
      const killedAt = Date.now();
      await first.kill('SIGKILL');
      const second = await startWorker(10);
      const { at } = await report(second, 'started', key);
      expect(at - killedAt).toBeLessThan(TAKE_OVER_MS);
      await report(second, 'ended', key);
    },
    TEST_MS,
  );

  it(
    'by a shutdown is continued at once by the process that is started in its place',
    async () => {
      const key = newKey();
      const first = await startWorker(60_000);
      first.send({ add: key });
      await report(first, 'started', key);
      first.send({ close: 0 });
      await report(first, 'aborted: shutdown', key);
      await report(first, 'closed', '');
      expect(await first.exited).toBe(0);
      const second = await startWorker(10);
      const { at: readyAt } = await report(second, 'ready', '');
      const { at } = await report(second, 'started', key);
      expect(at - readyAt).toBeLessThan(3_000);
    },
    TEST_MS,
  );
});

describeOnSharedTargets('a run of one of two processes', (make) => {
  const startWorker = setUp(make);

  it(
    'is taken over by the other one when its own is killed',
    async () => {
      const key = newKey();
      const first = await startWorker(60_000);
      first.send({ add: key });
      await report(first, 'started', key);
      const second = await startWorker(10);
      const killedAt = Date.now();
      await first.kill('SIGKILL');
      const { at } = await report(second, 'started', key);
      expect(at - killedAt).toBeLessThan(TAKE_OVER_MS);
      await report(second, 'ended', key);
    },
    TEST_MS,
  );

  it(
    'is taken over when its own is paused, and aborted when that one goes on',
    async () => {
      const key = newKey();
      const first = await startWorker(60_000);
      first.send({ add: key });
      await report(first, 'started', key);
      const second = await startWorker(10);
      first.pause();
      await report(second, 'ended', key);
      first.resume();
      const resumedAt = Date.now();
      const { at } = await report(first, 'aborted: lock lost', key);
      expect(at - resumedAt).toBeLessThan(TAKE_OVER_MS);
    },
    TEST_MS,
  );

  it(
    'is handed over at once when its own shuts down',
    async () => {
      const key = newKey();
      const first = await startWorker(60_000);
      first.send({ add: key });
      await report(first, 'started', key);
      const second = await startWorker(10);
      first.send({ close: 0 });
      const { at } = await report(first, 'aborted: shutdown', key);
      const { at: takenOverAt } = await report(second, 'started', key);
      expect(takenOverAt - at).toBeLessThan(3_000);
    },
    TEST_MS,
  );
});
