import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mcpServerConfig } from '../../../../src/core/tools/mcp/server-config.js';
import { waitFor } from '../../../fakes/wait-for.js';
import { startChild } from '../../../jobs/child.js';
import { type OpenServers, openServers } from './fixture.js';

const PROGRAM = fileURLToPath(new URL('../../../fakes/mcp-program.mjs', import.meta.url));
const signal = new AbortController().signal;

let folder: string;
let mcp: OpenServers | undefined;
let time: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'threadloop-mcp-'));
  time = 1_000_000;
});

afterEach(async () => {
  await mcp?.servers.close();
  mcp = undefined;
  rmSync(folder, { recursive: true });
});

function start(modes: readonly string[], more: object = {}): OpenServers {
  const env = { FAKE_PIDS: join(folder, 'pids'), FAKE_KEY: 'the-secret-key' };
  const config = { transport: 'stdio', command: process.execPath, args: [PROGRAM, ...modes], env, ...more };
  mcp = openServers(mcpServerConfig.parse(config), { now: () => time });
  return mcp;
}

/** Of all processes the program was started as, and of those it started. */
function pids(): readonly number[] {
  try {
    return readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n').map(Number);
  } catch {
    return [];
  }
}

describe('a server program', () => {
  it('that ends during a call fails that call, and is started again for the next one after a pause', async () => {
    const { run, servers, lines } = start([]);
    const ended = await run('exit');
    expect(ended).toEqual({
      content: expect.stringMatching(/was interrupted: the program ended\. Its outcome is unknown/),
      failed: true,
    });
    expect(servers.status()).toMatchObject([{ state: 'failed', detail: 'the program ended' }]);
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([{ fields: { kind: 'lost', failures: 1 } }]);
    time += 1_000;
    expect(await run('echo', { text: 'again' })).toEqual({ content: 'again' });
    expect(pids()).toHaveLength(2);
  });

  it('gets the safe part of the environment and what is configured', async () => {
    process.env.THREADLOOP_TEST_SECRET = 'not for servers';
    try {
      const environment = JSON.parse((await start([]).run('environment')).content) as Record<string, string>;
      expect(environment.FAKE_KEY).toBe('the-secret-key');
      expect(environment.PATH).toBe(process.env.PATH);
      const allowed = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'FAKE_KEY', 'FAKE_PIDS'];
      expect(Object.keys(environment).filter((name) => !allowed.includes(name))).toEqual([]);
    } finally {
      delete process.env.THREADLOOP_TEST_SECRET;
    }
  });

  it('that ends at a word it does not know is started again and greeted in the older protocol', async () => {
    const { run } = start(['strict']);
    expect(await run('echo', { text: 'hello' })).toEqual({ content: 'hello' });
    expect(pids()).toHaveLength(2);
  });

  it('leaves no process behind when it is closed, not even one that ignores everything', async () => {
    const { run, servers } = start(['child']);
    await run('echo', { text: 'hello' });
    expect(pids()).toHaveLength(2);
    expect(pids().filter(isAlive)).toHaveLength(2);
    await servers.close();
    expect(pids().filter(isAlive)).toEqual([]);
  });

  it('leaves no process behind when it ends by itself', async () => {
    const { run } = start(['child']);
    await run('exit');
    await waitFor(() => pids().filter(isAlive).length === 0);
  });

  it('ends with a process that did not close it', async () => {
    const env = { FAKE_PIDS: join(folder, 'pids') };
    const config = { transport: 'stdio', command: process.execPath, args: [PROGRAM, 'child'], env };
    const child = startChild(new URL('./abandoning-process.ts', import.meta.url), config);
    expect(await child.message()).toBe(3);
    expect(pids().filter(isAlive)).toHaveLength(2);
    await child.exited;
    await waitFor(() => pids().filter(isAlive).length === 0);
  });

  it('that is closed while it is being connected leaves no process behind', async () => {
    const { servers } = start(['mute', 'child']);
    const loading = servers.tools(['fake'], signal);
    await waitFor(() => pids().length === 2, { timeoutMs: 25_000 });
    await servers.close();
    expect(pids().filter(isAlive)).toEqual([]);
    expect((await loading).skipped).toMatchObject([{ reason: 'failed' }]);
  });

  it('that never answers is given up in time and ended', async () => {
    const { servers } = start(['mute'], { connectTimeoutMs: 300 });
    const { skipped } = await servers.tools(['fake'], signal);
    expect(skipped).toEqual([{ server: 'fake', reason: 'failed', detail: 'it was not ready within 0.3 s' }]);
    expect(pids().filter(isAlive)).toEqual([]);
  });

  it('that ends at once is skipped; what it wrote is for the operator, without the secrets', async () => {
    const { servers, lines } = start(['broken']);
    const { skipped } = await servers.tools(['fake'], signal);
    expect(skipped).toEqual([{ server: 'fake', reason: 'failed', detail: 'the program ended' }]);
    const output = 'cannot read the settings, the key was ***';
    expect(servers.status()).toMatchObject([{ state: 'failed', detail: `the program ended; it wrote: ${output}` }]);
    expect(lines.find(({ level }) => level === 'error')?.fields).toMatchObject({
      problem: 'the program ended',
      output,
    });
    expect(JSON.stringify(lines)).not.toContain('the-secret-key');
  });

  it('that does not exist is named in the reason', async () => {
    const command = join(folder, 'nowhere');
    mcp = openServers(mcpServerConfig.parse({ transport: 'stdio', command }));
    const { skipped } = await mcp.servers.tools(['fake'], signal);
    expect(skipped).toEqual([
      { server: 'fake', reason: 'failed', detail: `the program ${JSON.stringify(command)} was not found` },
    ]);
  });

  it('whose circuit is open costs a call no time', async () => {
    mcp = openServers(mcpServerConfig.parse({ transport: 'stdio', command: join(folder, 'nowhere') }), {
      now: () => time,
    });
    for (const pause of [0, 1_000, 2_000, 4_000, 8_000]) {
      time += pause;
      await mcp.servers.tools(['fake'], signal);
    }
    expect(mcp.servers.status()).toMatchObject([{ state: 'open' }]);
    expect((await mcp.servers.tools(['fake'], signal)).skipped[0]?.detail).toMatch(
      /was not found; next attempt in 60 s/,
    );
  });
});

/** A process that still runs. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
