import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { freshDataDir } from '../jobs/targets.js';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const START_MS = 60_000;

/** A gateway in a process of its own, on a configuration file of its own. */
export interface GatewayProcess {
  /** Where it listens. */
  readonly url: string;
  readonly pid: number;
  /** Everything it printed, both streams. */
  readonly output: string;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** A folder for configuration and data, removed by `remove`. */
export interface Workspace {
  readonly directory: string;
  /** Starts `threadloop start` with this configuration (the data directory is the workspace's). */
  start(config: object, role?: 'all' | 'gateway' | 'worker'): Promise<GatewayProcess>;
  /** Kills what still runs and removes the folder. */
  remove(): Promise<void>;
}

export function createWorkspace(): Workspace {
  const directory = mkdtempSync(join(tmpdir(), 'threadloop-e2e-'));
  const running = new Set<ChildProcess>();
  let files = 0;
  let dataDir: Promise<string> | undefined;

  async function start(config: object, role = 'all'): Promise<GatewayProcess> {
    files += 1;
    dataDir ??= freshDataDir();
    const file = join(directory, `config-${files}.yaml`);
    writeFileSync(file, stringify({ store: { dataDir: await dataDir }, ...config }));
    // Nothing of the caller's own settings may leak in.
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', CLI, 'start', '--config', file, '--role', role, '--port', '0'],
      {
        env: { PATH, HOME, LOG_FORMAT: 'json' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    running.add(child);
    const gone = once(child, 'exit').then(([code]) => {
      running.delete(child);
      return code as number | null;
    });
    let output = '';
    const url = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`not ready in time:\n${output}`)), START_MS);
      const read = (chunk: Buffer): void => {
        output += chunk.toString('utf8');
        const found = /is ready: (\S+)/.exec(output);
        if (!found?.[1]) return;
        clearTimeout(timer);
        resolve(found[1]);
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      void gone.then((code) => reject(new Error(`ended with ${code}:\n${output}`)));
    });
    return {
      url,
      pid: child.pid ?? 0,
      get output() {
        return output;
      },
      async kill() {
        child.kill('SIGKILL');
        await gone;
      },
      async stop() {
        child.kill('SIGTERM');
        return gone;
      },
    };
  }

  return {
    directory,
    start,
    async remove() {
      await Promise.all(
        [...running].map(async (child) => {
          child.kill('SIGKILL');
          await once(child, 'exit');
        }),
      );
      for (const folder of [directory, await dataDir]) if (folder) rmSync(folder, { recursive: true, force: true });
    },
  };
}
