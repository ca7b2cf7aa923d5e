import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Deployment } from '../../src/jobs/deployment.js';
import type { RunWorker } from '../../src/jobs/worker.js';
import { quietLogger } from '../fakes/quiet.js';
import { waitFor } from '../fakes/wait-for.js';
import { describeOnTargets, open, type Target } from './targets.js';

describeOnTargets('the run worker', (make) => {
  let target: Target;
  let deployment: Deployment;
  const workers: RunWorker[] = [];

  beforeAll(async () => {
    target = await make();
    deployment = await open(target);
  });

  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
  });

  afterAll(async () => {
    await deployment?.close();
    await target?.remove();
  });

  async function work(process: (key: string, signal: AbortSignal) => Promise<void>, concurrency = 10) {
    const worker = await deployment.startRunWorker({ concurrency, process, logger: quietLogger });
    workers.push(worker);
    return worker;
  }

  const newKey = () => `fake:main:${randomUUID()}:`;

  it('runs a conversation that was woken up several times once', async () => {
    const key = newKey();
    const last = newKey();
    for (let i = 0; i < 5; i++) await deployment.addRun(key);
    await deployment.addRun(last);
    const runs: string[] = [];
    await work(async (run) => void runs.push(run), 1);
    await waitFor(() => runs.includes(last));
    expect(runs).toEqual([key, last]);
  });

  it('runs a conversation again when it was woken up during its run, once for any number of times', async () => {
    const key = newKey();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let runs = 0;
    let atOnce = 0;
    let mostAtOnce = 0;
    await work(async (run) => {
      if (run !== key) return;
      runs++;
      mostAtOnce = Math.max(mostAtOnce, ++atOnce);
      await held;
      atOnce--;
    });
    await deployment.addRun(key);
    await waitFor(() => runs === 1);
    for (let i = 0; i < 5; i++) await deployment.addRun(key);
    release();
    await waitFor(() => runs === 2);
    const later = newKey();
    await deployment.addRun(later);
    await waitFor(() => atOnce === 0);
    expect([runs, mostAtOnce]).toEqual([2, 1]);
  });

  it('neither repeats nor keeps a run that throws, and the next wake-up runs it again', async () => {
    const key = newKey();
    let runs = 0;
    await work(async (run) => {
      if (run === key) runs++;
      throw new Error('broken');
    });
    await deployment.addRun(key);
    await waitFor(() => runs === 1);
    const other = newKey();
    await deployment.addRun(other);
    await deployment.addRun(key);
    await waitFor(() => runs === 2);
  });

  it('keeps several conversations going at once, up to its concurrency', async () => {
    let atOnce = 0;
    let most = 0;
    let done = 0;
    await work(async () => {
      most = Math.max(most, ++atOnce);
      await sleep(30);
      atOnce--;
      done++;
    }, 3);
    await Promise.all(Array.from({ length: 9 }, () => deployment.addRun(newKey())));
    await waitFor(() => done === 9);
    expect(most).toBe(3);
  });

  it('waits for its runs when it closes in time', async () => {
    const key = newKey();
    let state = 'waiting';
    const worker = await work(async (_, signal) => {
      state = 'running';
      await sleep(300);
      state = signal.aborted ? 'aborted' : 'finished';
    });
    await deployment.addRun(key);
    await waitFor(() => state === 'running');
    await worker.close(10_000);
    expect(state).toBe('finished');
    expect(worker.active()).toBe(0);
  });

  it('aborts its runs at the deadline and leaves their conversations to the next worker', async () => {
    const key = newKey();
    const reasons: unknown[] = [];
    const worker = await work(async (run, signal) => {
      if (run !== key) return;
      reasons.push('started');
      await sleep(60_000, undefined, { signal }).catch(() => undefined);
      reasons.push(signal.reason);
    });
    await deployment.addRun(key);
    await waitFor(() => reasons.length === 1);
    const before = performance.now();
    await worker.close(100);
    expect(performance.now() - before).toBeLessThan(6_000);
    expect(reasons).toEqual(['started', 'shutdown']);
    let takenOver = false;
    await work(async (run) => {
      takenOver ||= run === key;
    });
    await waitFor(() => takenOver);
  });

  it('gives up on a run that ignores the abort', async () => {
    const key = newKey();
    let started = false;
    let release = () => {};
    const worker = await work((run) => {
      started ||= run === key;
      return new Promise((resolve) => {
        release = resolve;
      });
    });
    await deployment.addRun(key);
    await waitFor(() => started);
    const before = performance.now();
    await worker.close(0);
    expect(performance.now() - before).toBeLessThan(9_000);
    expect(worker.active()).toBe(1);
    release();
  });
});
