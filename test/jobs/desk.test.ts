import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OutboxEntryBody } from '../../src/core/chat/outbox-entry.js';
import { EMPTY_STATE } from '../../src/jobs/conversation-state.js';
import { createDesk } from '../../src/jobs/desk.js';
import { openSession } from '../../src/jobs/session.js';
import { createMemoryConversations } from '../fakes/memory-conversations.js';
import { createPlatformAdapter } from '../fakes/platform/adapter.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createCountingMetrics, quietLogger } from '../fakes/quiet.js';

describe('deliveries at one desk', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  it('never show what an overtaken reading holds over what was delivered since', async () => {
    const place = { platform: 'fake', account: 'lookup', space: 'desk' };
    const card = (markdown: string): OutboxEntryBody => ({
      ...{ v: 1, kind: 'note', slot: 'q1', place, state: 'final' },
      markdown,
    });
    const session = await openSession(createMemoryConversations(), 'fake:lookup:desk:');
    const desk = createDesk({
      ...{ session, state: EMPTY_STATE, budgets: { take: async () => 0 }, logger: quietLogger },
      adapter: createPlatformAdapter({ url: server.url, mode: 'lookup', editIntervalMs: 15, pageLength: 500 }),
      ...{ metrics: createCountingMetrics(), signal: new AbortController().signal },
    });
    await desk.commit((state) => state, { outbox: [card('open')] });
    const slow = await desk.read();
    await desk.commit((state) => state, { outbox: [card('decided')] });
    await desk.deliverOutbox(await desk.read());
    await desk.deliverOutbox(slow);
    expect(server.messages.filter((m) => !m.removed).map((m) => m.text)).toEqual(['decided']);
    expect((await desk.read()).outbox).toEqual([]);
  });
});
