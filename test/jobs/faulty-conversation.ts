import { z } from 'zod';
import { conversationKey, type InboxItem } from '../../src/core/chat/message.js';
import { createTexts } from '../../src/core/chat/texts/index.js';
import type { ConversationStore } from '../../src/core/ports/store.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { createRunProcessor } from '../../src/jobs/run-processor.js';
import { agentSpec } from '../fakes/agent-spec.js';
import { createEchoModel } from '../fakes/echo-model.js';
import { createFaultyProcess, DeadProcessError, type FaultyProcess } from '../fakes/faulty.js';
import { createMemoryRecords } from '../fakes/memory-ports.js';
import { createPlatformAdapter } from '../fakes/platform/adapter.js';
import type { PlatformMode, PlatformServer } from '../fakes/platform/server.js';
import { createCountingMetrics, deafRelay, quietLogger } from '../fakes/quiet.js';

const PAGE = 220;
const PADDING = 90;

/** Where a conversation takes place: the fake platform, its behaviour, and the store under test. */
export interface Scene {
  readonly server: PlatformServer;
  readonly mode: PlatformMode;
  readonly store: ConversationStore;
  /** Part of the conversation's key, so that scenes on one store do not meet. */
  readonly name: string;
}

export interface Outcome {
  readonly steps: number;
  readonly fired: string | undefined;
  /** Ids named by the visible answers, in order. */
  readonly answered: readonly string[];
  /** Visible texts, in order. */
  readonly visible: readonly string[];
  readonly unknownPosts: number;
}

/** One conversation with a tool round, a steer during it and an answer of several messages, with one fault in it. */
export async function converse(scene: Scene, fault: 'kill' | 'pause' | 'none', at: number): Promise<Outcome> {
  const { server, mode, store } = scene;
  const space = `${scene.name}-${mode}-${fault}-${at}`;
  const key = conversationKey('fake', mode, space, '');
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
    const agent = agentSpec(model, { tools: [work] });
    const run = createRunProcessor({
      store: {
        conversations: faultyStore as ConversationStore,
        budgets: { take: async () => 0 },
        records: createMemoryRecords(),
      },
      adapter: () => adapter,
      route: () => 'assistant',
      agent: () => agent,
      model: () => undefined,
      names: { models: [], mcpServers: [] },
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

/** One conversation with the fault at each step of a fault-free run. */
export async function sweep(scene: Scene, fault: 'kill' | 'pause'): Promise<Outcome[]> {
  const { steps } = await converse(scene, 'none', 0);
  const points = Array.from({ length: steps + 3 }, (_, i) => i + 1);
  const outcomes: Outcome[] = [];
  const lanes = Array.from({ length: 12 }, async () => {
    for (let at = points.shift(); at !== undefined; at = points.shift())
      outcomes.push(await converse(scene, fault, at));
  });
  await Promise.all(lanes);
  return outcomes;
}

/** Numbered words in texts, in order. */
export const wordsIn = (texts: readonly string[]) => texts.flatMap((text) => text.match(/\bw\d+\b/g) ?? []);

/** Every word of a whole answer. */
export const everyWord = Array.from({ length: PADDING }, (_, i) => `w${i + 1}`);
