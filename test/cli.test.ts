import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const cli = join(import.meta.dirname, '../src/cli.ts');
const tsx = import.meta.resolve('tsx');

let folder: string;
let running: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'threadloop-cli-'));
});

afterEach(async () => {
  if (running && running.exitCode === null && running.signalCode === null) {
    running.kill('SIGKILL');
    await once(running, 'exit');
  }
  running = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the command in an empty folder, with nothing of Threadloop's in its environment. */
function launch(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['--import', tsx, cli, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running = child;
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString();
  });
  const exit = once(child, 'close').then(([code]) => code as number | null);
  return { child, output, exit };
}

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const { output, exit } = launch(args, env);
  return { code: await exit, ...output };
}

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 1;
}

describe('threadloop', () => {
  it('prints its version and help with exit code 0', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    expect(await run(['start', '--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('--role') });
  });

  it.each([
    [['bogus'], /unknown command/],
    [['start', '--role', 'boss'], /Allowed choices are all, gateway, worker/],
    [['start', '--port', '70000'], /from 0 to 65535/],
    [['start', '--prot', '1'], /Did you mean --port\?/],
    [['config', 'check', '--config', 'absent.yaml'], /cannot read absent\.yaml/],
  ])('exits with 2 and says why for %j', async (args, message) => {
    const { code, stderr } = await run(args);
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
  });
});

describe('threadloop config', () => {
  it('accepts an empty environment and tells that the demo answers', async () => {
    const { code, stdout } = await run(['config', 'check']);
    expect(stdout).toMatch(/demo model answers/);
    expect(code).toBe(0);
  });

  it('lists every mistake of ./config.yaml with path and fix, without a stack', async () => {
    writeFileSync(join(folder, 'config.yaml'), 'htpp: {}\nagents: { a: { model: x } }\n');
    const { code, stderr } = await run(['config', 'check']);
    expect(stderr).toContain('  htpp: unknown key; did you mean "http"?\n');
    expect(stderr).toContain('  agents.a.model: no model is called "x"; known: default\n');
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(code).toBe(2);
  });

  it('prints the configuration as YAML with secrets masked', async () => {
    const { code, stdout } = await run(['config', 'print'], { OPENAI_API_KEY: 'sk-very-secret' });
    expect(stdout).not.toContain('sk-very-secret');
    expect(parse(stdout)).toMatchObject({ models: { default: { apiKey: '***' } } });
    expect(code).toBe(0);
  });

  it('prints the JSON schema', async () => {
    const { code, stdout } = await run(['config', 'schema']);
    expect(JSON.parse(stdout)).toMatchObject({ type: 'object', properties: { http: {} } });
    expect(code).toBe(0);
  });
});

describe('threadloop start', () => {
  it('prints one line with the address, answers there, and stops on SIGTERM with exit code 0', async () => {
    const { child, output, exit } = launch(['start', '--port', '0']);
    const url = await firstMatch(child, output, /is ready: (http:\/\/\S+)/);
    expect((await fetch(new URL('/healthz', url))).status).toBe(200);
    expect(output.stdout).toMatch(/scripted demo answers/);
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
  }, 120_000);

  it('exits with 1 and names address and fix when the configured store does not answer', async () => {
    const port = await closedPort();
    const { code, stderr } = await run(['start', '--port', '0'], { REDIS_URL: `redis://:pass-word@127.0.0.1:${port}` });
    expect(stderr).toContain(`127.0.0.1:${port}`);
    expect(stderr).not.toContain('pass-word');
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(code).toBe(1);
  });

  it('exits with 1 and names directory and fix when the data directory cannot be made', async () => {
    writeFileSync(join(folder, 'config.yaml'), 'store: { dataDir: /proc/nope }\n');
    const { code, stderr } = await run(['start', '--port', '0']);
    expect(code).toBe(1);
    expect(stderr).toContain('the data directory /proc/nope cannot be used');
    expect(stderr).toContain('store.dataDir');
  });

  it('exits with 2 before it touches anything when the configuration is wrong', async () => {
    const { code, stderr } = await run(['start'], { REDIS_URL: 'http://h' });
    expect(stderr).toMatch(/store\.redisUrl: write a URL like redis:/);
    expect(code).toBe(2);
  });

  it('exits with 2 for a log level nobody knows', async () => {
    const { code, stderr } = await run(['start'], { LOG_LEVEL: 'loud' });
    expect(stderr).toMatch(/LOG_LEVEL is "loud"[\s\S]*Use debug, info/);
    expect(code).toBe(2);
  });
});

/** The first group of the pattern in standard output; fails with the whole output when the process ends before. */
function firstMatch(child: ChildProcess, output: { stdout: string; stderr: string }, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const found = pattern.exec(output.stdout)?.[1];
      if (found) resolve(found);
    };
    child.stdout?.on('data', look);
    child.once('close', () => reject(new Error(`ended without ${pattern}:\n${output.stdout}${output.stderr}`)));
  });
}
