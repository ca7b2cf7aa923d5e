import { beforeEach, describe, expect, it } from 'vitest';
import type { MessageView } from '../../../src/adapters/web/board-message.js';
import { messageView } from '../../../src/adapters/web/board-message.js';
import { webConversation } from '../../../src/adapters/web/inbound.js';
import { createWebAdapter } from '../../../src/adapters/web/index.js';
import type { MessageBody } from '../../../src/core/chat/adapter.js';
import type { Place } from '../../../src/core/chat/message.js';
import { PlatformError } from '../../../src/core/errors.js';
import { createMemoryBoard, createMemoryRelay } from '../../fakes/memory-board.js';

const place: Place = { platform: 'web', account: 'default', space: 'chat-1', direct: true };
const key = webConversation('chat-1');
const nonce = `${key}/a1.0`;

let board: ReturnType<typeof createMemoryBoard>;
let relay: ReturnType<typeof createMemoryRelay>;
let adapter: ReturnType<typeof createWebAdapter>;
let hints: number;

beforeEach(async () => {
  board = createMemoryBoard();
  relay = createMemoryRelay();
  adapter = createWebAdapter({ board, relay });
  hints = 0;
  await relay.subscribe(key, () => {
    hints += 1;
  });
});

const post = (body: MessageBody, options = { nonce }) => adapter.post(place, adapter.render(body), options);

async function shown(): Promise<MessageView[]> {
  return (await board.list(key, 0)).messages.flatMap((message) => messageView(message) ?? []);
}

describe('the web adapter', () => {
  it('posts a rendered message to the board and hints at it', async () => {
    const buttons = [{ id: 'ask-1.yes', label: 'Yes', style: 'primary' as const }];
    const plan = { title: 'Greet', steps: [{ title: 'Say hello', status: 'done' as const }], hidden: 0 };
    const id = await post({
      state: 'final',
      markdown: 'Hello **you**',
      status: ['one'],
      plan,
      reasoning: 'why',
      buttons,
      footer: 'f',
    });
    expect(await shown()).toEqual([
      {
        ...{ id, role: 'bot', state: 'final', text: expect.stringContaining('Hello'), at: expect.any(Number) },
        ...{
          html: expect.stringContaining('<strong>you</strong>'),
          status: ['one'],
          reasoning: expect.stringContaining('why'),
        },
        ...{ plan, buttons, footer: 'f' },
      },
    ]);
    expect(hints).toBe(1);
  });

  it('takes a repeated post as the same message, whichever process makes it', async () => {
    const first = await post({ state: 'streaming', markdown: 'half' });
    const other = createWebAdapter({ board, relay });
    const second = await other.post(place, other.render({ state: 'final', markdown: 'whole' }), { nonce });
    expect(second).toBe(first);
    expect(await shown()).toMatchObject([{ id: first, state: 'final', text: expect.stringContaining('whole') }]);
  });

  it('finds a message by its nonce until it is removed', async () => {
    expect(await adapter.find?.(place, nonce)).toEqual([]);
    const id = await post({ state: 'streaming', markdown: 'half' });
    expect(await adapter.find?.(place, nonce)).toEqual([id]);
    await adapter.remove(place, id);
    await adapter.remove(place, id);
    expect(await adapter.find?.(place, nonce)).toEqual([]);
    expect(await shown()).toEqual([]);
  });

  it('edits in place and keeps time and position of the first post', async () => {
    const id = await post({ state: 'streaming', markdown: 'half' });
    await post({ state: 'final', markdown: 'later' }, { nonce: `${key}/n7` });
    const [before] = await shown();
    await adapter.edit(place, id, adapter.render({ state: 'final', markdown: 'whole' }));
    const [after, later] = await shown();
    expect(after).toMatchObject({ id, at: before?.at, state: 'final' });
    expect(later?.text).toContain('later');
    expect(hints).toBe(3);
  });

  it('takes buttons and plan away when the new body has none', async () => {
    const plan = { title: 'Greet', steps: [{ title: 'Say hello', status: 'pending' as const }], hidden: 0 };
    const id = await post({ state: 'final', markdown: '?', plan, buttons: [{ id: 'ask-1.yes', label: 'Yes' }] });
    await adapter.edit(place, id, adapter.render({ state: 'final', markdown: '? _Yes_', buttons: [] }));
    const [message] = await shown();
    expect(message).not.toHaveProperty('buttons');
    expect(message).not.toHaveProperty('plan');
  });

  it('says that a message is gone instead of bringing it back', async () => {
    const id = await post({ state: 'streaming', markdown: 'half' });
    await adapter.remove(place, id);
    const edit = adapter.edit(place, id, adapter.render({ state: 'final', markdown: 'whole' }));
    await expect(edit).rejects.toMatchObject({ kind: 'gone' });
    expect(await shown()).toEqual([]);
  });

  it('marks the later pages of an answer, also after edits and reposts', async () => {
    for (const slot of ['a1.0', 'a1.1', 'a1.1/anew', 'a1.10', 'n5', 'dead.5', 'done.a1']) {
      const id = await post({ state: 'streaming', markdown: slot }, { nonce: `web:default::x.1/${slot}` });
      await adapter.edit(place, id, adapter.render({ state: 'final', markdown: slot }));
    }
    expect((await shown()).map((message) => message.continues ?? false)).toEqual([
      ...[false, true, true, true, false, false, false],
    ]);
  });

  it("puts the acknowledgement on the person's message and keeps the rest of it", async () => {
    const own = { role: 'user', text: 'hi', html: 'hi', state: 'final', at: 5, clientMessageId: 'c' };
    await board.put(key, 'u1', own);
    await adapter.react?.(place, 'u1', 'queued');
    await adapter.react?.(place, 'u1', 'seen');
    expect(await shown()).toEqual([{ id: 'u1', ...own, mark: 'seen' }]);
    await adapter.react?.(place, 'u1', 'seen');
    await adapter.react?.(place, 'unknown', 'seen');
    expect(hints).toBe(2);
  });

  it('tells a store that is down as a failure that may be tried again', async () => {
    board.put = () => Promise.reject(new Error('connection refused'));
    const failure = await post({ state: 'final', markdown: 'x' }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(PlatformError);
    expect(failure).toMatchObject({ kind: 'temporary', outcomeUnknown: true });
  });

  it('does not fail when a hint cannot be sent', async () => {
    relay.publish = () => Promise.reject(new Error('connection refused'));
    await post({ state: 'final', markdown: 'x' });
    expect(await shown()).toHaveLength(1);
  });

  it('edits four times a second without a shared budget', () => {
    expect(adapter.editIntervalMs(place)).toBe(250);
    expect(adapter.budgets(place)).toEqual([]);
    expect(adapter.limits.page).toBeLessThan(adapter.limits.text);
  });
});
