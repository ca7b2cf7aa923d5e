import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const TICKS_PER_SECOND = 100;

/** A gateway from `dist` in a process of its own; its CPU time and memory are read from /proc. */
export interface BenchGateway {
  readonly url: string;
  /** From spawn to `/readyz` 200. */
  readonly startMs: number;
  /** User and system time so far, ms. */
  cpuMs(): number;
  /** Resident memory, MB. */
  rssMb(): number;
  /** SIGTERM unless another signal is named; resolves when it is gone. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

export function benchFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'threadloop-bench-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export async function startBenchGateway(folder: string, config: object, role = 'all'): Promise<BenchGateway> {
  const file = join(folder, `config-${Math.random().toString(36).slice(2)}.yaml`);
  writeFileSync(file, stringify({ store: { dataDir: join(folder, 'data') }, ...config }));
  const { PATH = '', HOME = '' } = process.env;
  const began = performance.now();
  const child = spawn(process.execPath, [CLI, 'start', '--config', file, '--role', role, '--port', '0'], {
    env: { PATH, HOME, LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await readyUrl(child);
  const readiness = await fetch(`${url}/readyz`);
  if (!readiness.ok) throw new Error(`not ready: ${await readiness.text()}`);
  const startMs = performance.now() - began;
  return {
    url,
    startMs,
    cpuMs: () => cpuMsOf(child.pid ?? 0),
    rssMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    async stop(signal = 'SIGTERM') {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill(signal);
      await gone;
    },
  };
}

/** User and system time of a process, ms. */
export function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_SECOND;
}

function readyUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}:\n${output}`)));
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
      const url = /is ready: (\S+)/.exec(output)?.[1];
      if (url) resolve(url);
    });
  });
}

/** The value below which a share of the sorted values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
