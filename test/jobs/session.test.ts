import { beforeEach, describe, expect, it } from 'vitest';
import type { InboxItem, NumberedItem } from '../../src/core/chat/message.js';
import { SupersededError } from '../../src/core/errors.js';
import { openSession, type Session, viewInbox } from '../../src/jobs/session.js';
import { createMemoryConversations } from '../fakes/memory-conversations.js';

const base = {
  v: 1 as const,
  person: { id: 'fake:1', name: 'Ada' },
  place: { platform: 'fake', account: 'x', space: 's' },
};
const message = (seq: number, messageId: string, text = messageId): NumberedItem => ({
  ...base,
  kind: 'message',
  dedupe: `d${seq}`,
  messageId,
  text,
  seq,
});

describe('viewInbox', () => {
  it('gives waiting texts in order with their numbers', () => {
    const { texts } = viewInbox([message(1, 'a'), message(2, 'b')]);
    expect(texts.map((t) => [t.text, t.seqs])).toEqual([
      ['a', [1]],
      ['b', [2]],
    ]);
  });

  it('replaces a waiting text by its newest edit and acks both', () => {
    const edit = { ...base, kind: 'edit', dedupe: 'e', messageId: 'a', text: 'better', seq: 3 } as NumberedItem;
    const { texts, corrections } = viewInbox([message(1, 'a'), message(2, 'b'), edit]);
    expect(texts[0]).toMatchObject({ text: 'better', seqs: [1, 3] });
    expect(corrections).toEqual([]);
  });

  it('tells edits of delivered texts apart as corrections', () => {
    const edit = { ...base, kind: 'edit', dedupe: 'e', messageId: 'old', text: 'better', seq: 3 } as NumberedItem;
    expect(viewInbox([edit]).corrections).toEqual([edit]);
  });

  it('drops a deleted text together with its edits', () => {
    const edit = { ...base, kind: 'edit', dedupe: 'e', messageId: 'a', text: 'better', seq: 2 } as NumberedItem;
    const gone = { ...base, kind: 'delete', dedupe: 'g', messageId: 'a', seq: 3 } as NumberedItem;
    const view = viewInbox([message(1, 'a'), edit, gone]);
    expect(view.texts).toEqual([]);
    expect([...view.spent].sort()).toEqual([1, 2, 3]);
  });
});

describe('a session', () => {
  const store = createMemoryConversations();
  let key = '';
  let session: Session;
  let n = 0;

  beforeEach(async () => {
    key = `fake:x:s:${++n}`;
    session = await openSession(store, key);
  });

  const strays = async (): Promise<InboxItem[]> => {
    const reading = await (await openSession(store, key)).read();
    return reading.items.filter((item) => item.kind === 'stray');
  };

  it('throws once a newer worker holds the conversation', async () => {
    await openSession(store, key);
    await expect(session.check()).rejects.toThrow(SupersededError);
    await expect(session.commit({ state: {} })).rejects.toThrow(SupersededError);
    await expect(session.record('a1.0', 'm1')).rejects.toThrow(SupersededError);
  });

  it('files what it touched since its last fenced success', async () => {
    session.touch('a1.0', 'm1').done();
    expect(await session.fileStrays()).toBe(true);
    expect(await strays()).toMatchObject([{ slot: 'a1.0', messageId: 'm1' }]);
  });

  it('files nothing that ended before a fenced success', async () => {
    session.touch('a1.0', 'm1').done();
    await session.check();
    expect(await session.fileStrays()).toBe(false);
  });

  it('still files an effect that was in flight during a fenced success', async () => {
    const touch = session.touch('a1.0');
    await session.check();
    touch.done('m7');
    await session.fileStrays();
    expect(await strays()).toMatchObject([{ slot: 'a1.0', messageId: 'm7' }]);
  });
});
