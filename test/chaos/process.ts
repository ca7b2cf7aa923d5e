import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { conversationKey } from '../../src/core/chat/message.js';
import { createTexts } from '../../src/core/chat/texts/index.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { openDeployment } from '../../src/jobs/deployment.js';
import { createInbox } from '../../src/jobs/inbox.js';
import { createRunProcessor } from '../../src/jobs/run-processor.js';
import { startSweeper } from '../../src/jobs/sweeper.js';
import { agentSpec } from '../fakes/agent-spec.js';
import { createEchoModel } from '../fakes/echo-model.js';
import { createPlatformAdapter } from '../fakes/platform/adapter.js';
import type { PlatformMode } from '../fakes/platform/server.js';
import { createCountingMetrics, quietLogger } from '../fakes/quiet.js';

/**
 * One process of the chaos test, killed at random by the test: a worker, a producer, or both in one (the embedded
 * database belongs to a single process). A producer starts over from its first message after a kill; the store drops
 * what it knows, so the messages of a conversation are still accepted once and in order.
 */
const plan = z
  .object({
    role: z.enum(['worker', 'producer', 'all']),
    store: z.object({ redisUrl: z.string().optional(), postgresUrl: z.string().optional(), dataDir: z.string() }),
    platformUrl: z.string(),
    sweeper: z.boolean(),
    conversations: z.object({ from: z.number(), to: z.number() }),
    messages: z.number(),
    /** Share of accepts after which the producer "dies" before adding the job. */
    forgetJob: z.number(),
    pauseMs: z.number(),
  })
  .parse(JSON.parse(process.env.CHAOS_PLAN ?? '{}'));

const MODES: readonly PlatformMode[] = ['idempotent', 'lookup'];
const modeOf = (n: number): PlatformMode => MODES[n % MODES.length] ?? 'lookup';
const adapters = new Map(
  MODES.map((mode) => [
    mode,
    createPlatformAdapter({ url: plan.platformUrl, mode, editIntervalMs: 60, pageLength: 400 }),
  ]),
);

const deployment = await openDeployment({ ...plan.store, logger: quietLogger, onProgress: () => undefined });
const { store, addRun, relay } = deployment;

async function work(): Promise<void> {
  const metrics = createCountingMetrics();
  const tool = defineTool({
    name: 'work',
    description: 'Works a little.',
    parameters: z.object({}),
    idempotent: true,
    execute: async () => 'done',
  });
  const model = createEchoModel({ toolRounds: 1, milliseconds: 80, padding: 40 });
  const agent = agentSpec(model, { tools: [tool], display: 'quiet' });
  const run = createRunProcessor({
    store,
    adapter: (_platform, account) => adapters.get(account as PlatformMode),
    route: () => 'assistant',
    agent: () => agent,
    model: () => undefined,
    names: { models: [], mcpServers: [] },
    texts: createTexts('en'),
    relay,
    addRun,
    logger: quietLogger,
    metrics,
  });
  await deployment.startRunWorker({ concurrency: 24, process: run, logger: quietLogger });
  if (plan.sweeper) {
    await startSweeper({ store, addRun, owner: String(process.pid), logger: quietLogger });
  }
}

async function produce(): Promise<void> {
  const inbox = createInbox({
    conversations: store.conversations,
    addRun,
    relay,
    logger: quietLogger,
    metrics: createCountingMetrics(),
  });
  const { from, to } = plan.conversations;
  await Promise.all(
    Array.from({ length: to - from }, async (_, i) => {
      const n = from + i;
      const mode = modeOf(n);
      const key = conversationKey('fake', mode, `c${n}`, '');
      for (let m = 0; m < plan.messages; m++) {
        const id = `#${n}-${m}`;
        const item = {
          ...{ v: 1 as const, kind: 'message' as const, dedupe: id, messageId: id, text: `please ${id}` },
          person: { id: 'fake:1', name: 'Ada' },
          place: { platform: 'fake', account: mode, space: `c${n}` },
        };
        const forget = Math.random() < plan.forgetJob;
        const { result } = await (forget ? store.conversations : inbox).accept(key, item);
        // Messages of before the last kill come as fast as they can.
        if (result === 'accepted') await sleep(Math.random() * 2 * plan.pauseMs);
      }
    }),
  );
  process.send?.('produced');
}

if (plan.role !== 'producer') await work();
process.send?.('ready');
if (plan.role !== 'worker') await produce();
if (plan.role === 'producer') process.exit(0);
process.on('disconnect', () => process.exit(0));
