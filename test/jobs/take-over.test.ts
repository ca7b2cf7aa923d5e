import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conversationKey } from '../../src/core/chat/message.js';
import { createTexts } from '../../src/core/chat/texts/index.js';
import { createRunProcessor } from '../../src/jobs/run-processor.js';
import { agentSpec } from '../fakes/agent-spec.js';
import { createEchoModel } from '../fakes/echo-model.js';
import { createMemoryConversations } from '../fakes/memory-conversations.js';
import { createMemoryRecords } from '../fakes/memory-ports.js';
import { createPlatformAdapter } from '../fakes/platform/adapter.js';
import { type PlatformMode, type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createCountingMetrics, deafRelay, quietLogger } from '../fakes/quiet.js';
import { converse, everyWord, sweep, wordsIn } from './faulty-conversation.js';

describe('a run whose process is lost', () => {
  let server: PlatformServer;
  const scene = (mode: PlatformMode) => ({ server, mode, store: createMemoryConversations(), name: 'memory' });
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  it('answers both texts once in several messages when nothing fails', async () => {
    const outcome = await converse(scene('lookup'), 'none', 0);
    expect(outcome.answered).toEqual(['#1', '#2']);
    expect(outcome.visible.length).toBeGreaterThan(1);
    expect(wordsIn(outcome.visible)).toEqual(everyWord);
  });

  for (const mode of ['idempotent', 'lookup'] as const) {
    for (const fault of ['kill', 'pause'] as const) {
      it(`is continued in the same messages after a ${fault} at any step (${mode} platform)`, {
        timeout: 120_000,
      }, async () => {
        const outcomes = await sweep(scene(mode), fault);
        expect(outcomes.length).toBeGreaterThan(40);
        for (const outcome of outcomes) {
          expect(outcome.answered, `${fault} at ${outcome.fired}`).toEqual(['#1', '#2']);
          expect(wordsIn(outcome.visible), `${fault} at ${outcome.fired}`).toEqual(everyWord);
        }
      });
    }
  }

  it('doubles at most the one post in flight where the platform cannot look up, and counts it', {
    timeout: 120_000,
  }, async () => {
    for (const outcome of await sweep(scene('blind'), 'kill')) {
      const surplus = outcome.visible.length - new Set(outcome.visible).size;
      expect(outcome.unknownPosts, `kill at ${outcome.fired}`).toBeLessThanOrEqual(1);
      if (outcome.unknownPosts === 0) {
        expect(outcome.answered).toEqual(['#1', '#2']);
        expect(surplus).toBe(0);
      }
      expect(new Set(wordsIn(outcome.visible))).toEqual(new Set(everyWord));
    }
  });

  it('leaves the conversation to the next holder when the worker shuts down', async () => {
    expect(await handOver(server)).toEqual(['#1']);
  });
});

async function handOver(server: PlatformServer): Promise<readonly string[]> {
  const key = conversationKey('fake', 'lookup', 'handover', '');
  const store = createMemoryConversations();
  const added: string[] = [];
  const model = createEchoModel({ toolRounds: 0, milliseconds: 300 });
  const agent = agentSpec(model);
  const run = createRunProcessor({
    store: { conversations: store, budgets: { take: async () => 0 }, records: createMemoryRecords() },
    adapter: () => createPlatformAdapter({ url: server.url, mode: 'lookup', editIntervalMs: 15 }),
    route: () => 'assistant',
    agent: () => agent,
    model: () => undefined,
    names: { models: [], mcpServers: [] },
    texts: createTexts('en'),
    relay: deafRelay,
    addRun: async (one) => void added.push(one),
    logger: quietLogger,
    metrics: createCountingMetrics(),
  });
  await store.accept(key, {
    ...{ v: 1, kind: 'message', dedupe: '1', messageId: '1', text: 'please #1' },
    person: { id: 'fake:1', name: 'Ada' },
    place: { platform: 'fake', account: 'lookup', space: 'handover' },
  });
  const shutdown = new AbortController();
  const first = run(key, shutdown.signal);
  await sleep(100);
  shutdown.abort('shutdown');
  await first;
  expect(added).toEqual([key]);
  expect((await store.summary(key))?.busy).toBe(true);
  await run(key, new AbortController().signal);
  const visible = server.messages.filter((m) => m.space === 'handover' && !m.removed);
  return visible.flatMap((m) => m.text.match(/#\d/g) ?? []);
}
