import { mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '../../../../src/core/errors.js';
import { type DataDirLock, lockDataDir } from '../../../../src/jobs/store/embedded/data-dir-lock.js';
import { socketDirectory } from '../../../../src/jobs/store/embedded/socket-directory.js';
import { type Child, startChild } from '../../child.js';

let dataDir: string;
const children: Child[] = [];
const locks: DataDirLock[] = [];

beforeEach(async () => {
  dataDir = await realpath(await mkdtemp(join(tmpdir(), 'tl-lock-')));
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  await Promise.all(locks.splice(0).map((lock) => lock.release()));
  await rm(dataDir, { recursive: true, force: true });
});

async function take(directory = dataDir): Promise<DataDirLock> {
  const lock = await lockDataDir(directory, await socketDirectory(directory));
  locks.push(lock);
  return lock;
}

function startHolder(): Child {
  const child = startChild(new URL('./lock-holder.ts', import.meta.url), dataDir);
  children.push(child);
  return child;
}

describe('the lock of a data directory', () => {
  it('is refused while another process holds it, naming the process and the directory', async () => {
    const holder = startHolder();
    expect(await holder.message()).toBe('held');
    const error = await take().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: 'store_locked', message: expect.stringContaining(`process ${holder.pid}`) });
    expect(error).toMatchObject({
      message: expect.stringContaining(dataDir),
      hint: expect.stringContaining('dataDir'),
    });
  });

  it('is refused while its holder is paused', async () => {
    const holder = startHolder();
    await holder.message();
    holder.pause();
    await expect(take()).rejects.toMatchObject({ code: 'store_locked' });
  });

  it('is free after its holder was killed, and nothing is left of it', async () => {
    const holder = startHolder();
    await holder.message();
    await holder.kill('SIGKILL');
    const run = join(dataDir, 'run');
    expect(await readdir(run)).toHaveLength(1);
    await take();
    expect(await readdir(run)).toEqual([expect.stringMatching(new RegExp(`^lock-${process.pid}-`))]);
  });

  it('is free after it was released', async () => {
    await (await take()).release();
    await take();
  });

  it('trusts no process id: a left-over that names a living process does not hold it', async () => {
    const { address } = await socketDirectory(dataDir);
    const path = address(`lock-${process.ppid}-0badcafe`);
    await writeFile(path, '');
    await take();
    expect(await readdir(join(dataDir, 'run'))).toHaveLength(1);
  });

  it('counts a socket that accepts connections as a living process, whatever its name says', async () => {
    const { address } = await socketDirectory(dataDir);
    const server = createServer().listen(address('lock-999999999-0badcafe'));
    await expect(take()).rejects.toMatchObject({ code: 'store_locked' });
    await new Promise((resolve) => server.close(resolve));
  });

  it('goes to exactly one of many that start together, again and again', async () => {
    for (let round = 0; round < 5; round++) {
      const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => take()));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      await Promise.all(locks.splice(0).map((lock) => lock.release()));
    }
  });

  it('goes to exactly one of several processes that start together over the left-over of a killed one', async () => {
    const first = startHolder();
    await first.message();
    await first.kill('SIGKILL');
    const contenders = Array.from({ length: 3 }, startHolder);
    const outcomes = await Promise.all(contenders.map((child) => child.message()));
    expect(outcomes.sort()).toEqual(['held', 'store_locked', 'store_locked']);
  });
});

describe('a data directory with a path too long for a socket', () => {
  it('has its sockets in a private temporary directory, the same for every process', async () => {
    const long = join(dataDir, 'a'.repeat(120));
    const [one, two] = [await socketDirectory(long), await socketDirectory(long)];
    expect(one.path).toBe(two.path);
    expect(one.path).not.toContain(long);
    expect(Buffer.byteLength(one.address('lock-4194304-0badcafe'))).toBeLessThanOrEqual(100);
    await rm(one.path ?? '', { recursive: true });
  });

  it('is refused when somebody prepared that place', async () => {
    const long = join(dataDir, 'b'.repeat(120));
    const { path = '' } = await socketDirectory(long);
    await rm(path, { recursive: true });
    await symlink(dataDir, path);
    await expect(socketDirectory(long)).rejects.toMatchObject({ code: 'store_socket' });
    await rm(path);
  });
});
