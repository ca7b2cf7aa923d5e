import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { openDeployment } from '../../src/jobs/deployment.js';
import { quietLogger } from '../fakes/quiet.js';
import { startChild } from './child.js';
import { describeOnTargets, open } from './targets.js';

/** A port of this machine nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

const rest = { dataDir: '/nowhere/at/all', logger: quietLogger, onProgress: () => undefined };

it.each([
  ['redisUrl', 'redis://me:secret@127.0.0.1', '/2'],
  ['postgresUrl', 'postgres://me:secret@127.0.0.1', '/app'],
])('a %s that does not answer is an error with its address and without its password', async (name, start, end) => {
  const port = await closedPort();
  const opening = openDeployment({ ...rest, [name]: `${start}:${port}${end}` });
  const error: unknown = await opening.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'store_unreachable', message: expect.stringContaining(`127.0.0.1:${port}`) });
  expect(error).toMatchObject({ hint: expect.stringContaining(name) });
  expect(String(error)).not.toContain('secret');
});

it('two configured stores are an error, whether they answer or not', async () => {
  const opening = openDeployment({ ...rest, redisUrl: 'redis://127.0.0.1:1', postgresUrl: 'postgres://127.0.0.1:1' });
  await expect(opening).rejects.toMatchObject({ code: 'store_ambiguous' });
});

it.each(['/dev/null/data', '/dev/null', '/proc/nope/data', '/proc'])(
  'a data directory that cannot be made or used is an error that names it (%s)',
  async (dataDir) => {
    const opening = openDeployment({ ...rest, dataDir });
    await expect(opening).rejects.toMatchObject({
      code: 'store_unwritable',
      message: expect.stringContaining(`the data directory ${dataDir} cannot be used`),
    });
  },
);

describeOnTargets('a deployment', (make) => {
  it('says what it is, answers, and can be opened again after it was closed', async () => {
    const target = await make();
    for (let time = 0; time < 2; time++) {
      const deployment = await open(target);
      expect(deployment.kind).toBe(target.kind);
      await deployment.store.ping();
      await deployment.close();
    }
    await target.remove();
  }, 60_000);

  it('loads the driver of its own store only', async () => {
    const target = await make();
    const child = startChild(new URL('./loaded-libraries.ts', import.meta.url), target.config);
    // PGlite itself runs in a thread.
    expect(await child.message()).toEqual([target.kind === 'redis' ? 'ioredis' : 'pg']);
    expect(await child.exited).toBe(0);
    await target.remove();
  }, 60_000);
});
