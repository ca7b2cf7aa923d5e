import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { toError } from '../../errors.js';
import type { StdioServerConfig } from './server-config.js';

type Sdk = typeof import('@modelcontextprotocol/client');

/** Time a server has to end after its input was closed, and again after SIGTERM. */
const GRACE_MS = 2_000;
/** What a program wrote before its end still counts; something else that holds the pipe open does not. */
const LAST_WORDS_MS = 500;
const STDERR_KEPT = 2_000;

/** A server that is a program; the SDK recognises a local process by `stderr` and `pid`. */
export interface ProcessTransport extends Transport {
  readonly pid: number | undefined;
  /** The last 2,000 characters of what the program wrote to standard error. */
  readonly stderr: string;
  /** True once the program has ended. */
  readonly ended: boolean;
}

/**
 * Runs the program in a process group of its own, so that closing ends all it started: `npx` and shells pass on
 * neither signals nor the end of their input. The SDK's own transport ends the first process only, and needs a second
 * one to find out the protocol.
 */
export function createProcessTransport(sdk: Sdk, server: StdioServerConfig, env: NodeJS.ProcessEnv): ProcessTransport {
  let child: ChildProcess | undefined;
  let ended = false;
  let closed = false;
  let stderr = '';
  let ending: Promise<void> | undefined;

  async function afterEnd(started: ChildProcess, group: number): Promise<void> {
    await new Promise((resolve) => started.once('exit', resolve));
    ended = true;
    ending ??= endGroup(group, () => ended);
    await Promise.race([outputEnd(started), sleep(LAST_WORDS_MS, undefined, { ref: false })]);
    transport.onclose?.();
    await ending;
    forget(group);
  }

  const transport: ProcessTransport = {
    get pid() {
      return child?.pid;
    },
    get stderr() {
      return stderr;
    },
    get ended() {
      return ended;
    },
    async start() {
      if (closed) throw new sdk.SdkError(sdk.SdkErrorCode.NotConnected, 'closed before it started');
      const { command, args, cwd } = server;
      const started = spawn(command, args, { env, ...(cwd !== undefined && { cwd }), stdio: 'pipe', detached: true });
      child = started;
      started.stdin.on('error', (error) => transport.onerror?.(error));
      started.stdout.on('data', createReader(sdk, transport));
      started.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr = (stderr + text).slice(-STDERR_KEPT);
      });
      await once(started, 'spawn').catch((error: unknown) => {
        ended = true;
        throw error;
      });
      started.on('error', (error) => transport.onerror?.(error));
      const group = started.pid ?? 0;
      remember(group);
      void afterEnd(started, group);
    },
    send(message) {
      return new Promise((resolve, reject) => {
        if (!child?.stdin || ended) {
          reject(new sdk.SdkError(sdk.SdkErrorCode.NotConnected, 'the program has ended'));
          return;
        }
        child.stdin.write(sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()));
      });
    },
    async close() {
      closed = true;
      if (child?.pid === undefined) return;
      child.stdin?.end();
      ending ??= endGroup(child.pid, () => ended);
      await ending;
    },
  };
  return transport;
}

/** Reads messages off a program's output. Lines that are none are reported and passed over. */
function createReader(sdk: Sdk, transport: ProcessTransport): (chunk: Buffer) => void {
  const buffer = new sdk.ReadBuffer();
  return (chunk) => {
    try {
      buffer.append(chunk);
    } catch (error) {
      // Above 10 MB without the end of a line: nothing that follows can be trusted to begin a message.
      transport.onerror?.(toError(error));
      void transport.close();
      return;
    }
    for (let message = read(); message !== null; message = read()) {
      if (message !== 'unreadable') transport.onmessage?.(message);
    }
  };

  function read(): JSONRPCMessage | null | 'unreadable' {
    try {
      return buffer.readMessage();
    } catch (error) {
      transport.onerror?.(toError(error));
      return 'unreadable';
    }
  }
}

async function outputEnd({ stdout }: ChildProcess): Promise<void> {
  if (stdout && !stdout.closed) await once(stdout, 'close');
}

const living = new Set<number>();

/** A process that ends without closing its servers must not leave them behind. */
function killLiving(): void {
  for (const group of living) signalGroup(group, 'SIGKILL');
}

function remember(group: number): void {
  if (living.size === 0) process.on('exit', killLiving);
  living.add(group);
}

function forget(group: number): void {
  living.delete(group);
  if (living.size === 0) process.off('exit', killLiving);
}

/** Waits for every process of the group to end: asks after 2 s, or once the program itself has ended; then insists. */
async function endGroup(group: number, programEnded: () => boolean): Promise<void> {
  if (await groupEnds(group, programEnded)) return;
  signalGroup(group, 'SIGTERM');
  if (await groupEnds(group)) return;
  signalGroup(group, 'SIGKILL');
  await groupEnds(group);
}

/** True when no process is left; false after 2 s, or earlier when there is no use in waiting. */
async function groupEnds(group: number, enough = () => false): Promise<boolean> {
  const deadline = performance.now() + GRACE_MS;
  while (signalGroup(group, 0)) {
    if (enough() || performance.now() > deadline) return false;
    await sleep(25);
  }
  return true;
}

/** False when no process of the group is left. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}
