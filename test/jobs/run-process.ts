import { setTimeout as sleep } from 'node:timers/promises';
import { openDeployment } from '../../src/jobs/deployment.js';
import { startSweeper } from '../../src/jobs/sweeper.js';
import { quietLogger } from '../fakes/quiet.js';

/**
 * A worker process for tests. Says `ready`, `started <key>` and `ended <key>` with the time; a run takes `runMs`,
 * claims its conversation, and ends early when its signal is aborted. On `close <ms>` it shuts down and says `closed`.
 */
const { config, runMs, sweeper } = JSON.parse(process.env.INPUT ?? '{}');
const deployment = await openDeployment({ ...config, logger: quietLogger, onProgress: () => undefined });
const say = (what: string, key: string): void => {
  process.send?.({ what, key, at: Date.now() });
};

const worker = await deployment.startRunWorker({
  concurrency: 20,
  logger: quietLogger,
  async process(key, signal) {
    const { conversations } = deployment.store;
    const { epoch } = await conversations.claim(key);
    say('started', key);
    try {
      await sleep(runMs, undefined, { signal });
    } catch {
      say(`aborted: ${signal.reason}`, key);
      return;
    }
    const reading = await conversations.read(key, epoch);
    if (reading === 'superseded') return say('superseded', key);
    await conversations.commit(key, epoch, { state: {}, ack: reading.items.map((item) => item.seq) });
    await conversations.settle(key, epoch, reading.seen, null);
    say('ended', key);
  },
});
const running = sweeper
  ? startSweeper({
      store: deployment.store,
      addRun: deployment.addRun,
      owner: String(process.pid),
      logger: quietLogger,
    })
  : undefined;
say('ready', '');
process.on('message', async (message: { close?: number; add?: string }) => {
  if (message.add !== undefined) await deployment.addRun(message.add);
  if (message.close === undefined) return;
  await running?.close();
  await worker.close(message.close);
  await deployment.close();
  say('closed', '');
  process.disconnect();
});
process.on('disconnect', () => process.exit(0));
