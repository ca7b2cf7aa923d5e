import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AgentSpec } from '../../src/core/agent/run-turn.js';
import { conversationKey, type InboxItem } from '../../src/core/chat/message.js';
import { createTexts } from '../../src/core/chat/texts/index.js';
import type { ConversationStore } from '../../src/core/ports/store.js';
import { createToolCatalog } from '../../src/core/tools/catalog.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { createRunProcessor } from '../../src/jobs/run-processor.js';
import { createEchoModel } from '../fakes/echo-model.js';
import { createFaultyProcess, DeadProcessError, type FaultyProcess } from '../fakes/faulty.js';
import { createMemoryConversations } from '../fakes/memory-conversations.js';
import { createPlatformAdapter } from '../fakes/platform/adapter.js';
import { type PlatformMode, type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createCountingMetrics, deafRelay, quietLogger } from '../fakes/quiet.js';

const PAGE = 220;
const PADDING = 90;

interface Outcome {
  readonly steps: number;
  readonly fired: string | undefined;
  /** Ids named by the visible answers, in order. */
  readonly answered: readonly string[];
  /** Visible texts, in order. */
  readonly visible: readonly string[];
  readonly unknownPosts: number;
}

/** One conversation with a tool round, a steer during it and an answer of several messages, with one fault in it. */
async function converse(
  server: PlatformServer,
  fault: 'kill' | 'pause' | 'none',
  at: number,
  mode: PlatformMode,
): Promise<Outcome> {
  const space = `${mode}-${fault}-${at}`;
  const key = conversationKey('fake', mode, space, '');
  const store = createMemoryConversations();
  const metrics = createCountingMetrics();
  const first = createFaultyProcess(fault, at);
  const second = createFaultyProcess('none');
  const say = (id: string): InboxItem => ({
    ...{ v: 1, kind: 'message', dedupe: id, messageId: id, text: `please ${id}` },
    person: { id: 'fake:1', name: 'Ada' },
    place: { platform: 'fake', account: mode, space },
  });
  await store.accept(key, say('#1'));

  const processor = (faulty: FaultyProcess) => {
    const faultyStore = faulty.wrap('store', store);
    const adapter = faulty.wrap(
      'platform',
      createPlatformAdapter({ url: server.url, mode, editIntervalMs: 15, pageLength: PAGE }),
    );
    const work = defineTool({
      name: 'work',
      description: 'Works a little.',
      parameters: z.object({}),
      idempotent: true,
      async execute() {
        await store.accept(key, say('#2'));
        return 'done';
      },
    });
    const model = createEchoModel({ toolRounds: 1, milliseconds: 60, padding: PADDING });
    const agent: AgentSpec = {
      ...{
        name: 'assistant',
        mode: 'tools',
        model,
        systemPrompt: '',
        maxIterations: undefined,
        maxToolCallsPerTurn: 5,
      },
      ...{ enableTools: true, catalog: createToolCatalog([work]), steering: 'steer', display: 'normal' },
      ...{ showReasoning: false, showAnswer: true, stoppers: [] },
    };
    const run = createRunProcessor({
      store: { conversations: faultyStore as ConversationStore, budgets: { take: async () => 0 } },
      adapter: () => adapter,
      route: () => 'assistant',
      agent: () => agent,
      texts: createTexts('en'),
      relay: deafRelay,
      addRun: async () => undefined,
      logger: quietLogger,
      metrics,
    });
    return (signal = new AbortController().signal) => run(key, signal);
  };

  const runFirst = processor(first)().catch((error: unknown) => {
    if (!(error instanceof DeadProcessError)) throw error;
  });
  const fired = await Promise.race([first.fired, runFirst.then(() => undefined)]);
  const runSecond = processor(second);
  const settle = async () => {
    for (let i = 0; i < 50 && (await store.summary(key))?.busy; i++) await runSecond();
  };
  if (fault === 'pause' && fired) {
    await settle();
    first.resume();
    await runFirst;
  }
  await runFirst;
  await settle();
  const visible = server.messages.filter((m) => m.space === space && !m.removed).map((m) => m.text);
  return {
    steps: first.labels.length,
    fired,
    answered: visible.flatMap((text) => (text.startsWith('answer ') ? (text.match(/#\d/g) ?? []) : [])),
    visible,
    unknownPosts: metrics.counts.get('posts_outcome_unknown') ?? 0,
  };
}

/** Every step of a fault-free run, thinned where several thousand would be needed. */
async function sweep(server: PlatformServer, fault: 'kill' | 'pause', mode: PlatformMode): Promise<Outcome[]> {
  const { steps } = await converse(server, 'none', 0, mode);
  const points = Array.from({ length: steps + 3 }, (_, i) => i + 1);
  const outcomes: Outcome[] = [];
  const lanes = Array.from({ length: 12 }, async () => {
    for (let at = points.shift(); at !== undefined; at = points.shift())
      outcomes.push(await converse(server, fault, at, mode));
  });
  await Promise.all(lanes);
  return outcomes;
}

const words = (texts: readonly string[]) => texts.flatMap((text) => text.match(/\bw\d+\b/g) ?? []);
const everyWord = Array.from({ length: PADDING }, (_, i) => `w${i + 1}`);

describe('a run whose process is lost', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  it('answers both texts once in several messages when nothing fails', async () => {
    const outcome = await converse(server, 'none', 0, 'lookup');
    expect(outcome.answered).toEqual(['#1', '#2']);
    expect(outcome.visible.length).toBeGreaterThan(1);
    expect(words(outcome.visible)).toEqual(everyWord);
  });

  for (const mode of ['idempotent', 'lookup'] as const) {
    for (const fault of ['kill', 'pause'] as const) {
      it(`is continued in the same messages after a ${fault} at any step (${mode} platform)`, {
        timeout: 120_000,
      }, async () => {
        const outcomes = await sweep(server, fault, mode);
        expect(outcomes.length).toBeGreaterThan(40);
        for (const outcome of outcomes) {
          expect(outcome.answered, `${fault} at ${outcome.fired}`).toEqual(['#1', '#2']);
          expect(words(outcome.visible), `${fault} at ${outcome.fired}`).toEqual(everyWord);
        }
      });
    }
  }

  it('doubles at most the one post in flight where the platform cannot look up, and counts it', {
    timeout: 120_000,
  }, async () => {
    for (const outcome of await sweep(server, 'kill', 'blind')) {
      const surplus = outcome.visible.length - new Set(outcome.visible).size;
      expect(outcome.unknownPosts, `kill at ${outcome.fired}`).toBeLessThanOrEqual(1);
      if (outcome.unknownPosts === 0) {
        expect(outcome.answered).toEqual(['#1', '#2']);
        expect(surplus).toBe(0);
      }
      expect(new Set(words(outcome.visible))).toEqual(new Set(everyWord));
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
  const agent: AgentSpec = {
    ...{ name: 'assistant', mode: 'tools', model, systemPrompt: '', maxIterations: undefined, maxToolCallsPerTurn: 5 },
    ...{ enableTools: true, catalog: createToolCatalog([]), steering: 'steer', display: 'normal' },
    ...{ showReasoning: false, showAnswer: true, stoppers: [] },
  };
  const run = createRunProcessor({
    store: { conversations: store, budgets: { take: async () => 0 } },
    adapter: () => createPlatformAdapter({ url: server.url, mode: 'lookup', editIntervalMs: 15 }),
    route: () => 'assistant',
    agent: () => agent,
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
