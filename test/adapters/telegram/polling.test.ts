import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Inbox } from '../../../src/core/chat/adapter.js';
import { createMemoryLeases } from '../../fakes/memory-ports.js';
import { startTelegramServer } from '../../fakes/telegram-server.js';
import { type Fixture, startFixture } from './fixture.js';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.close());

function texts(): string[] {
  return fixture.inbox.accepted.map(({ item }) => (item.kind === 'message' ? item.text : item.kind));
}
const acceptedAll = (count: number) => fixture.server.waitFor(() => fixture.inbox.accepted.length >= count);
const confirmedAll = () => fixture.server.waitFor(() => fixture.server.pending.length === 0);

describe('confirmation', () => {
  it('comes only after everything of the batch is accepted', async () => {
    const { server, inbox } = fixture;
    const chat = server.privateChat();
    const other = server.privateChat();
    const pendingAtAccept: number[] = [];
    inbox.onAccept = () => {
      pendingAtAccept.push(server.pending.length);
    };
    chat.say('one');
    other.say('two');
    chat.say('three');
    await fixture.start();
    await acceptedAll(3);
    await confirmedAll();
    expect(pendingAtAccept).toEqual([3, 3, 3]);
    expect(inbox.accepted.filter(({ key }) => key.includes(`:${chat.id}:`)).map(({ item }) => item.kind)).toHaveLength(
      2,
    );
  });

  it('does not happen while the store is down; nothing is lost and the order stays', async () => {
    const { server, inbox } = fixture;
    const chat = server.privateChat();
    const adapter = await fixture.start();
    let isDown = true;
    inbox.onAccept = () => {
      if (isDown) throw new Error('the store is down');
    };
    for (const text of ['one', 'two', 'three']) chat.say(text);
    await server.waitFor(() => inbox.attempts >= 3);
    expect(server.pending).toHaveLength(3);
    expect(adapter.health()).toMatchObject({ ready: false, reason: expect.stringContaining('cannot be stored') });
    isDown = false;
    await confirmedAll();
    expect(texts()).toEqual(['one', 'two', 'three']);
    await server.waitFor(() => adapter.health().ready);
  });

  it('is missing after a crash between poll and accept: the next process gets the updates again', async () => {
    const { server, inbox } = fixture;
    const chat = server.privateChat();
    let release = (): void => {};
    const hanging: Inbox = { accept: () => new Promise((_, reject) => (release = () => reject(new Error('dead')))) };
    // This process has polled and never comes back; its lease ends with it.
    await fixture.start({ ports: { inbox: hanging, leases: createMemoryLeases() } });
    chat.say('one');
    await server.waitFor(() => server.callsOf('getUpdates').length >= 2);
    await fixture.start();
    await acceptedAll(1);
    expect(texts()).toEqual(['one']);
    expect(inbox.attempts).toBe(1);
    release();
  });

  it('may be lost in a crash after accept: what comes again is a duplicate', async () => {
    const { server, inbox } = fixture;
    const chat = server.privateChat();
    await fixture.start({ ports: { leases: createMemoryLeases() } });
    server.fail('getUpdates', { hang: 'before', nth: 2 });
    chat.say('one');
    await acceptedAll(1);
    expect(server.pending).toHaveLength(1);
    await fixture.start();
    await server.waitFor(() => inbox.attempts >= 2);
    await confirmedAll();
    expect(texts()).toEqual(['one']);
  });

  it('is sent for the last batch when the adapter stops, and no poll is left behind', async () => {
    const { server, inbox } = fixture;
    const chat = server.privateChat();
    const adapter = await fixture.start();
    let release = (): void => {};
    inbox.onAccept = () => new Promise<void>((resolve) => (release = resolve));
    chat.say('one');
    await server.waitFor(() => inbox.attempts === 1);
    const stopped = adapter.stop();
    release();
    await stopped;
    expect(texts()).toEqual(['one']);
    expect(server.pending).toEqual([]);
    expect(server.polling).toBe(false);
  });
});

describe('many chats', () => {
  it('fifty at once are all accepted, in order, while Telegram answers none of the sends to others', async () => {
    const { server, inbox } = fixture;
    // Each stranger is owed a refusal, and none of them gets through.
    const strangers = Array.from({ length: 50 }, () => server.privateChat());
    const friends = Array.from({ length: 50 }, () => server.privateChat());
    server.fail('sendMessage', { hang: 'before', times: Number.POSITIVE_INFINITY });
    await fixture.start({ config: { access: { users: friends.map((chat) => String(chat.id)) } } });
    for (const [index, chat] of friends.entries()) {
      strangers[index]?.say('let me in');
      chat.say('first');
      chat.say('second');
    }
    await acceptedAll(100);
    await confirmedAll();
    for (const chat of friends) {
      const own = inbox.accepted.filter(({ key }) => key.includes(`:${chat.id}:`));
      expect(own.map(({ item }) => (item.kind === 'message' ? item.text : ''))).toEqual(['first', 'second']);
    }
    expect(server.callsOf('sendMessage').length).toBeGreaterThan(0);
  });

  it('do not wait for each other: a slow conversation delays its own chat only', async () => {
    const { server, inbox } = fixture;
    const slow = server.privateChat();
    const quick = server.privateChat();
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    inbox.onAccept = (key) => (key.includes(`:${slow.id}:`) ? gate : undefined);
    const adapter = fixture.adapter({ deps: { timing: { startMs: 10 } } });
    slow.say('slow one');
    slow.say('slow two');
    quick.say('quick');
    await adapter.start(fixture.ports());
    await acceptedAll(1);
    expect(texts()).toEqual(['quick']);
    expect(server.pending).toHaveLength(3);
    release();
    await acceptedAll(3);
    expect(texts()).toEqual(['quick', 'slow one', 'slow two']);
  });

  it('go past one update that has a shape nobody knows', async () => {
    const { server, logger } = fixture;
    const chat = server.privateChat();
    server.push({ message: { text: 'no chat' } } as never);
    server.push({ message: { chat: null } } as never);
    server.push({ callback_query: { id: 'x' } } as never);
    chat.say('one');
    await fixture.start();
    await acceptedAll(1);
    await confirmedAll();
    expect(texts()).toEqual(['one']);
    expect(logger.lines.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      expect.stringContaining('unreadable update skipped'),
      expect.stringContaining('unreadable update skipped'),
      expect.stringContaining('unreadable update skipped'),
    ]);
  });
});

describe('failures of Telegram', () => {
  it.each([500, 502, 429])('status %i is waited out without loss', async (status) => {
    const { server } = fixture;
    const chat = server.privateChat();
    const adapter = await fixture.start();
    server.fail('getUpdates', { status, retryAfter: 1, times: 2 });
    chat.say('one');
    await acceptedAll(1);
    chat.say('two');
    await acceptedAll(2);
    await server.waitFor(() => adapter.health().ready);
    expect(texts()).toEqual(['one', 'two']);
  });

  it('a server that is away for a while is found again', async () => {
    const adapter = await fixture.start();
    const { port } = fixture.server;
    await fixture.server.close();
    const away = await waitForHealth(adapter.health, false);
    expect(away).toMatchObject({
      reason: expect.stringContaining('did not answer'),
      hint: expect.stringContaining('apiRoot'),
    });
    const again = await startTelegramServer({ port });
    again.privateChat().say('one');
    await again.waitFor(() => fixture.inbox.accepted.length === 1);
    expect(adapter.health().ready).toBe(true);
    await adapter.stop();
    await again.close();
    fixture = await startFixture();
  });

  it('a wrong token ends the adapter, says how to mend it and does not stop the process', async () => {
    const { server, logger } = fixture;
    const adapter = await fixture.start({ config: { botToken: '7000000001:wrong-token' } });
    expect(adapter.health()).toMatchObject({
      ready: false,
      reason: expect.stringContaining('401'),
      hint: expect.stringContaining('check adapters.telegram.botToken'),
    });
    const calls = server.calls.length;
    await adapter.stop();
    expect(server.calls).toHaveLength(calls);
    expect(logger.lines).toContainEqual(expect.objectContaining({ level: 'error' }));
    expect(fixture.leases.holder('telegram:7000000001')).toBeUndefined();
  });

  it('a second program that polls is reported until it is gone', async () => {
    const { server } = fixture;
    const chat = server.privateChat();
    const adapter = await fixture.start();
    await server.waitFor(() => server.polling);
    const rival = await startRival();
    await server.waitFor(() => !adapter.health().ready);
    expect(adapter.health()).toMatchObject({
      reason: expect.stringContaining('another program'),
      hint: expect.stringContaining('stop the other program'),
    });
    await server.waitFor(() => server.calls.filter((call) => call.status === 409).length >= 4);
    expect(adapter.health().ready).toBe(false);
    await rival.stop();
    await server.waitFor(() => adapter.health().ready);
    chat.say('one');
    await acceptedAll(1);
  });

  it('a webhook somebody left behind is removed at the start', async () => {
    const { server } = fixture;
    await fetch(`${server.apiRoot}/bot${server.token}/setWebhook?url=http://127.0.0.1:9/x`);
    const chat = server.privateChat();
    await fixture.start();
    chat.say('one');
    await acceptedAll(1);
    expect(server.webhookUrl).toBe('');
  });
});

/** A program that polls with the same token and does not give way. */
async function startRival(): Promise<{ stop(): Promise<void> }> {
  const { apiRoot, token } = fixture.server;
  const stopping = new AbortController();
  const url = `${apiRoot}/bot${token}/getUpdates?timeout=20&offset=1`;
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) await fetch(url, { signal: stopping.signal }).catch(() => {});
  }
  const running = run();
  return {
    stop() {
      stopping.abort();
      return running;
    },
  };
}

function waitForHealth(health: () => { ready: boolean }, ready: boolean) {
  return fixture.server.waitFor(() => (health().ready === ready ? health() : undefined));
}
