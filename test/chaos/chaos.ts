import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openEmbedded } from '../../src/jobs/store/embedded/open-embedded.js';
import { type PlatformMessage, startPlatformServer } from '../fakes/platform/server.js';
import { quietLogger } from '../fakes/quiet.js';

export interface ChaosOptions {
  readonly store: { redisUrl?: string; postgresUrl?: string; dataDir: string };
  readonly conversations: number;
  readonly messages: number;
  /** 0: one process does everything (the embedded database belongs to one process). */
  readonly workers: number;
  readonly producers: number;
  readonly sweeper: boolean;
  readonly forgetJob: number;
  /** Mean pause of a producer between two messages of a conversation, ms. */
  readonly pauseMs: number;
  readonly killEveryMs: number;
  /** Kills at least; the killing ends when they are done and every message is accepted. */
  readonly kills: number;
  /** Longest time for all messages to be accepted, ms. */
  readonly acceptMs: number;
  /** Longest wait for quiet after the last message was accepted and the killing ended, ms. */
  readonly quietMs: number;
}

export interface ChaosResult {
  readonly kills: number;
  /** Ids that no visible answer names. */
  readonly missing: readonly string[];
  /** Ids that more than one visible answer names. */
  readonly doubled: readonly string[];
  /** Conversations whose answers name their ids in another order than they were accepted. */
  readonly disordered: readonly string[];
  /** Visible messages that are no final answer: frozen halves. */
  readonly halves: readonly string[];
  /** Milliseconds from the last accept and kill until every id was answered. */
  readonly quietAfterMs: number;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Inside the project, so that packages are found; a process that starts in half a second can be killed more often. */
const COMPILED = `${ROOT}node_modules/.cache/threadloop-chaos`;
const PROCESS = `${COMPILED}/test/chaos/process.js`;

/** A TCP entrance to the embedded database of this process, so that other processes can be its clients. */
export async function serveEmbedded(dataDir: string): Promise<{ url: string; close(): Promise<void> }> {
  const database = await openEmbedded({ dataDir, logger: quietLogger, onProgress: () => undefined });
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = database.poolConfig.stream?.() as Socket;
    upstream.connect(0);
    clients.add(client);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.pipe(other);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
    client.on('close', () => clients.delete(client));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async close() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
      await database.close();
    },
  };
}

/** Compiles the process once; call it before `runChaos`. */
export function compileProcess(): void {
  const tsc = `${ROOT}node_modules/typescript/bin/tsc`;
  const options = ['-p', `${ROOT}tsconfig.json`, '--noEmit', 'false', '--outDir', COMPILED, '--rootDir', ROOT];
  execFileSync(process.execPath, [tsc, ...options], { stdio: 'inherit' });
}

/** Runs producers and workers as processes, kills them at random, and judges what the platform shows in the end. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const platform = await startPlatformServer({ drop: 0.02, limit: 0.01, latencyMs: 12 });
  const crew = createCrew(options, platform.url);
  try {
    const alone = options.workers === 0;
    for (let i = 0; i < options.workers; i++) void crew.keep('worker', 0, 0);
    if (alone) void crew.keep('all', 0, options.conversations);
    const share = Math.ceil(options.conversations / Math.max(1, options.producers));
    const producers = Array.from({ length: alone ? 0 : options.producers }, (_, i) =>
      crew.keep('producer', i * share, Math.min((i + 1) * share, options.conversations)),
    );
    const accepted = alone ? crew.allProduced : Promise.all(producers);
    const killing = crew.killAtRandom(options.killEveryMs);
    await Promise.race([Promise.all([accepted, killing.atLeast(options.kills)]), sleep(options.acceptMs)]);
    const kills = await killing.stop();

    const began = Date.now();
    while (Date.now() - began < options.quietMs && !isQuiet(platform.messages, options)) await sleep(100);
    const quietAfterMs = Date.now() - began;
    // What a late worker may still do wrong must be done by now.
    await sleep(1_500);
    return { kills, quietAfterMs, ...judge(platform.messages, options) };
  } finally {
    await crew.end();
    await platform.close();
  }
}

type Role = 'worker' | 'producer' | 'all';

/** Keeps processes running: one that was killed is started again, until it ends on its own or the crew ends. */
function createCrew(options: ChaosOptions, platformUrl: string) {
  const ready = new Set<ChildProcess>();
  const running = new Set<ChildProcess>();
  const kept: Promise<void>[] = [];
  let ended = false;
  let announce = (): void => undefined;
  const allProduced = new Promise<void>((resolve) => {
    announce = resolve;
  });

  function start(role: Role, from: number, to: number): ChildProcess {
    const plan = {
      ...{ role, store: options.store, platformUrl, sweeper: options.sweeper, conversations: { from, to } },
      ...{ messages: options.messages, forgetJob: options.forgetJob, pauseMs: options.pauseMs },
    };
    const child = fork(PROCESS, {
      execArgv: [],
      env: { ...process.env, CHAOS_PLAN: JSON.stringify(plan) },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    running.add(child);
    child.on('message', (message) => {
      if (message === 'ready') ready.add(child);
      if (message === 'produced' && role === 'all') announce();
    });
    child.once('exit', () => {
      running.delete(child);
      ready.delete(child);
    });
    return child;
  }

  async function keepOne(role: Role, from: number, to: number): Promise<void> {
    while (!ended) {
      const [code] = (await once(start(role, from, to), 'exit')) as [number | null];
      if (role === 'producer' && code === 0) return;
    }
  }

  function kill(child: ChildProcess): void {
    if (child.pid !== undefined && child.exitCode === null) process.kill(child.pid, 'SIGKILL');
  }

  return {
    allProduced,
    keep(role: Role, from: number, to: number): Promise<void> {
      const one = keepOne(role, from, to);
      kept.push(one);
      return one;
    },
    /** Kills processes that had come up; a process that never comes up would prove nothing. */
    killAtRandom(everyMs: number) {
      const end = new AbortController();
      let kills = 0;
      const goals: { count: number; reached: () => void }[] = [];
      const loop = (async () => {
        while (!end.signal.aborted) {
          await sleep(everyMs * (0.5 + Math.random()), undefined, { signal: end.signal }).catch(() => undefined);
          const victim = [...ready][Math.floor(Math.random() * ready.size)];
          if (end.signal.aborted || !victim) continue;
          ready.delete(victim);
          kill(victim);
          kills += 1;
          for (const goal of goals) if (kills >= goal.count) goal.reached();
        }
      })();
      return {
        atLeast: (count: number) =>
          new Promise<void>((reached) => {
            goals.push({ count, reached });
            if (kills >= count) reached();
          }),
        async stop(): Promise<number> {
          end.abort();
          await loop;
          return kills;
        },
      };
    },
    async end(): Promise<void> {
      ended = true;
      for (const child of running) kill(child);
      await Promise.all(kept);
    },
  };
}

function idsOf(message: PlatformMessage): string[] {
  return message.text.match(/#\d+-\d+/g) ?? [];
}

function isQuiet(messages: readonly PlatformMessage[], options: ChaosOptions): boolean {
  const verdict = judge(messages, options);
  return verdict.missing.length + verdict.halves.length === 0;
}

function judge(messages: readonly PlatformMessage[], { conversations, messages: count }: ChaosOptions) {
  const spaces = groupBySpace(messages);
  const missing: string[] = [];
  const doubled: string[] = [];
  const disordered: string[] = [];
  const halves: string[] = [];
  for (let n = 0; n < conversations; n++) {
    const visible = (spaces.get(`c${n}`) ?? []).filter((m) => !m.removed).sort((a, b) => a.position - b.position);
    const named = visible.flatMap(idsOf);
    const wanted = Array.from({ length: count }, (_, m) => `#${n}-${m}`);
    missing.push(...wanted.filter((id) => !named.includes(id)));
    doubled.push(...wanted.filter((id) => named.filter((other) => other === id).length > 1));
    const order = named.map((id) => Number(id.split('-')[1]));
    if (order.some((value, i) => i > 0 && value <= (order[i - 1] ?? -1))) disordered.push(`c${n}: ${named.join(' ')}`);
    // The padding of a whole answer ends with its last word.
    halves.push(...visible.filter((m) => !/ w40$/.test(m.text)).map((m) => `c${n} ${m.id}: ${m.text}`));
  }
  return { missing, doubled, disordered, halves };
}

function groupBySpace(messages: readonly PlatformMessage[]): Map<string, PlatformMessage[]> {
  const groups = new Map<string, PlatformMessage[]>();
  for (const message of messages) groups.set(message.space, [...(groups.get(message.space) ?? []), message]);
  return groups;
}
