import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conversationKey, type InboxItem } from '../../src/core/chat/message.js';
import { outboxEntry } from '../../src/core/chat/outbox-entry.js';
import { createTexts } from '../../src/core/chat/texts/index.js';
import type { ChoiceRow, ConversationStore } from '../../src/core/ports/store.js';
import { createRunProcessor } from '../../src/jobs/run-processor.js';
import { call, scriptedModel } from '../core/agent/scripted-model.js';
import { agentSpec } from '../fakes/agent-spec.js';
import { createFaultyProcess, DeadProcessError, type FaultyProcess } from '../fakes/faulty.js';
import { createMemoryConversations } from '../fakes/memory-conversations.js';
import { createMemoryRecords } from '../fakes/memory-ports.js';
import { createPlatformAdapter } from '../fakes/platform/adapter.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createCountingMetrics, deafRelay, quietLogger } from '../fakes/quiet.js';

const ask = {
  ...{ reason: 'It decides everything.', blockerType: 'ambiguous_goal', question: 'Where to?' },
  options: ['staging', 'production', 'both'],
};

interface Outcome {
  readonly steps: number;
  readonly fired: string | undefined;
  readonly visible: readonly string[];
  /** Buttons of the card as the last commit left it. */
  readonly buttons: number;
  readonly pressed: readonly string[];
}

/** A question, its press and the answer below it, with one fault anywhere before, between or after. */
async function converse(server: PlatformServer, fault: 'kill' | 'pause' | 'none', at: number): Promise<Outcome> {
  const space = `ask-${fault}-${at}`;
  const key = conversationKey('fake', 'lookup', space, '');
  const memory = createMemoryConversations();
  const opened: ChoiceRow[] = [];
  let buttons = 0;
  const store: ConversationStore = {
    ...memory,
    async commit(one, epoch, commit) {
      const result = await memory.commit(one, epoch, commit);
      if (result !== 'ok') return result;
      opened.push(...(commit.openChoices ?? []));
      for (const body of commit.outbox ?? []) {
        const entry = outboxEntry.parse(body);
        if (entry.slot.startsWith('q')) buttons = entry.buttons?.length ?? 0;
      }
      return result;
    },
  };
  const item = {
    v: 1,
    person: { id: 'fake:1', name: 'Ada' },
    place: { platform: 'fake', account: 'lookup', space },
  } as const;
  const accept = async (one: InboxItem) => (await store.accept(key, one)).result;
  await accept({ ...item, kind: 'message', dedupe: 'm', messageId: 'm', text: 'deploy' });

  function processor(faulty: FaultyProcess) {
    const adapter = faulty.wrap(
      'platform',
      createPlatformAdapter({ url: server.url, mode: 'lookup', editIntervalMs: 15, pageLength: 500 }),
    );
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return { text: `answer ${last.content}` };
      return { text: 'One moment.', calls: [call('q1', 'ask_agent', JSON.stringify(ask))] };
    });
    const agent = agentSpec(model, { mode: 'plan' });
    const run = createRunProcessor({
      store: {
        conversations: faulty.wrap('store', store) as ConversationStore,
        budgets: { take: async () => 0 },
        records: createMemoryRecords(),
      },
      ...{ adapter: () => adapter, route: () => 'assistant', agent: () => agent, model: () => undefined },
      ...{ names: { models: [], mcpServers: [] }, texts: createTexts('en'), relay: deafRelay },
      ...{ addRun: async () => undefined, logger: quietLogger, metrics: createCountingMetrics() },
    });
    return async () => {
      for (let i = 0; i < 50 && (await memory.summary(key))?.busy; i++) {
        await run(key, new AbortController().signal);
      }
    };
  }

  const [first, second] = [createFaultyProcess(fault, at), createFaultyProcess('none')];
  const [runFirst, runSecond] = [processor(first), processor(second)];
  let fired: string | undefined;
  void first.fired.then((label) => {
    fired = label;
  });
  let paused: Promise<void> | undefined;
  /** The first process works until its fault; from then on the second one does. */
  async function work(): Promise<void> {
    if (fired === undefined) {
      const working = runFirst().catch((error: unknown) => {
        if (!(error instanceof DeadProcessError)) throw error;
      });
      await Promise.race([fault === 'pause' ? first.fired : working, working]);
      await Promise.resolve();
      if (fired === undefined) return;
      paused = working;
    }
    await runSecond();
  }
  await work();
  const pressed: string[] = [];
  const press = async (n: number) => {
    const { id = '' } = opened.at(-1) ?? {};
    pressed.push(await accept({ ...item, kind: 'choice', dedupe: `p${n}`, messageId: 'c', choice: id, option: '2' }));
  };
  await press(1);
  await press(2);
  await work();
  first.resume();
  await paused;
  await runSecond();
  const visible = server.messages.filter((m) => m.space === space && !m.removed).map((m) => m.text);
  return { steps: first.labels.length, fired, visible, buttons, pressed };
}

describe('a question whose process is lost', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  it.each(['kill', 'pause'] as const)(
    'is asked once, answered once and closed after a %s at any step',
    {
      timeout: 120_000,
    },
    async (fault) => {
      const { steps } = await converse(server, 'none', 0);
      expect(steps).toBeGreaterThan(30);
      const points = Array.from({ length: steps + 2 }, (_, i) => i + 1);
      const lanes = Array.from({ length: 8 }, async () => {
        for (let at = points.shift(); at !== undefined; at = points.shift()) {
          const { fired, visible, buttons, pressed } = await converse(server, fault, at);
          expect(
            visible.map((text) => text.replace(/\s+/g, ' ')),
            `${fault} at ${fired}`,
          ).toEqual([
            'One moment.',
            '❓ **Where to?** It decides everything. _✔ Ada: production_',
            'answer production',
          ]);
          expect(buttons).toBe(0);
          expect(pressed).toEqual(['accepted', 'already']);
        }
      });
      await Promise.all(lanes);
    },
  );
});
