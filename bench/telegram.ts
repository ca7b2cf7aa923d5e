import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startModelServer } from '../test/fakes/model-server.js';
import { type FakeChat, startTelegramServer, type TelegramServer } from '../test/fakes/telegram-server.js';
import { findProgram, startRedis } from '../test/services.js';
import { benchFolder, quantile, startBenchGateway } from './gateway.js';

const RATE = 60;
const BARE_CLIENT = fileURLToPath(new URL('bare-client.mjs', import.meta.url));

interface AnswerFigures {
  readonly complete: boolean;
  readonly firstTextMs: number;
  readonly longestGapMs: number;
  readonly writes: number;
  readonly messages: number;
  /** seconds / 1.1 + 2 per message (design 12). */
  readonly writesAllowed: number;
}

/** A model whose answer is as long as the last number of the question says, 60 words a second. */
export const startWordsModel = () =>
  startModelServer(({ body }) => {
    const asked = Number(/(\d+)\s*$/.exec(body.messages.at(-1).content)?.[1] ?? 1);
    return { words: asked, tokensPerSecond: RATE };
  });

async function ask(server: TelegramServer, chat: FakeChat, words: number): Promise<AnswerFigures> {
  const askedAt = Date.now();
  const before = server.writes(chat).length;
  chat.say(`Count to ${words}`);
  const count = () => chat.botTexts.join(' ').match(/\bw\d+\b/g)?.length ?? 0;
  const timeoutMs = (words / RATE) * 1_000 * 3 + 60_000;
  await server.waitFor(() => count() >= words, { timeoutMs }).catch(() => undefined);
  await sleep(2_000);
  const times = chat.botMessages.flatMap((m) => m.versions.map((v) => v.at)).sort((a, b) => a - b);
  const gaps = times.slice(1).map((at, i) => at - (times[i] ?? at));
  const seconds = words / RATE;
  return {
    complete: count() === words,
    firstTextMs: (times[0] ?? Number.NaN) - askedAt,
    longestGapMs: Math.max(0, ...gaps),
    writes: server.writes(chat).length - before,
    messages: chat.botMessages.length,
    writesAllowed: seconds / 1.1 + 2 * chat.botMessages.length,
  };
}

/** Fifty chats at once, 600 words each, by long polling. */
export async function fiftyChats(): Promise<void> {
  await askFifty('embedded', {});
  if (!findProgram('redis-server')) return;
  const redis = await startRedis();
  await askFifty('Redis', { store: { redisUrl: redis.url } });
  await redis.stop();
}

async function askFifty(name: string, store: object): Promise<void> {
  await withGateway(store, async (server) => {
    const chats = Array.from({ length: 50 }, () => server.privateChat());
    const figures = await Promise.all(chats.map((chat) => ask(server, chat, 600)));
    const of = (pick: (f: AnswerFigures) => number) => figures.map(pick);
    console.log(`50 Telegram chats at once, 600 words at 60 a second, long polling, 30 ms platform latency, ${name}`);
    console.log(`  complete answers     ${figures.filter((f) => f.complete).length} of 50`);
    console.log(
      `  first text p50 / p95 ${quantile(
        of((f) => f.firstTextMs),
        0.5,
      )} / ${quantile(
        of((f) => f.firstTextMs),
        0.95,
      )} ms`,
    );
    console.log(`  longest gap          ${Math.max(...of((f) => f.longestGapMs))} ms`);
    console.log(`  writes per answer    ${Math.max(...of((f) => f.writes))} at most`);
  });
}

/** One long answer each: completeness, rhythm and CPU time, beside a bare client that reads the same stream. */
export async function longAnswers(): Promise<void> {
  await withGateway({}, async (server, cpuMs, modelUrl) => {
    await ask(server, server.privateChat(), 60);
    console.log('one answer on Telegram, 60 words a second (CPU: gateway process, and a bare openai client)');
    for (const words of [1_000, 3_000, 9_000]) {
      const idle = await idleCpu(cpuMs);
      const before = cpuMs();
      const began = Date.now();
      const figures = await ask(server, server.privateChat(), words);
      const spent = cpuMs() - before - (idle * (Date.now() - began)) / 1_000;
      const bare = Number((await promisify(execFile)(process.execPath, [BARE_CLIENT, modelUrl, `to ${words}`])).stdout);
      console.log(
        `  ${words} words: complete ${figures.complete}, ${figures.messages} messages, longest gap ${figures.longestGapMs} ms, ` +
          `writes ${figures.writes} (allowed ${figures.writesAllowed.toFixed(0)}), CPU ${spent.toFixed(0)} ms, ` +
          `bare client ${bare.toFixed(0)} ms, beyond it ${(spent - bare).toFixed(0)} ms`,
      );
    }
  });
}

/** CPU the waiting gateway spends anyway, ms per second. */
async function idleCpu(cpuMs: () => number): Promise<number> {
  const before = cpuMs();
  await sleep(10_000);
  return (cpuMs() - before) / 10;
}

async function withGateway(
  store: object,
  work: (server: TelegramServer, cpuMs: () => number, modelUrl: string) => Promise<void>,
): Promise<void> {
  const folder = benchFolder();
  const model = await startWordsModel();
  const server = await startTelegramServer({ latencyMs: 30 });
  const gateway = await startBenchGateway(folder.path, {
    ...store,
    models: { default: { baseUrl: model.url, apiKey: 'none', model: 'fake', maxOutputTokens: 16_000 } },
    adapters: { telegram: { botToken: server.token, apiRoot: server.apiRoot, access: { users: ['*'] } } },
  });
  try {
    await work(server, gateway.cpuMs, model.url);
    console.log(`  memory               ${gateway.rssMb().toFixed(0)} MB (gateway and worker in one process)`);
  } finally {
    await gateway.stop();
    await server.close();
    await model.close();
    folder.remove();
  }
}
