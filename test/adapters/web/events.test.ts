import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApi } from '../../../src/adapters/web/api.js';
import { openFeed } from '../../../src/adapters/web/events.js';
import { createGate } from '../../../src/adapters/web/gate.js';
import { Refusal, refusalResponse } from '../../../src/adapters/web/refusal.js';
import { openEventStream } from '../../fakes/event-stream.js';
import { createMemoryBoard, createMemoryRelay } from '../../fakes/memory-board.js';
import { waitFor } from '../../fakes/wait-for.js';
import { errorOf, startWebServer, type WebServer } from '../../fakes/web-server.js';

const bot = (text: string) => ({ role: 'bot', text, html: `<p>${text}</p>`, state: 'streaming', at: 1 });

describe('GET events', () => {
  let server: WebServer;
  let url: string;

  beforeEach(async () => {
    server = await startWebServer();
    url = `${server.url}/api/conversations/chat-1/events`;
  });

  afterEach(() => server.close());

  async function put(id: string, text: string): Promise<number> {
    const version = await server.board.put(server.key('chat-1'), id, bot(text));
    await server.relay.publish(server.key('chat-1'));
    return version;
  }

  it('sends what stands there, then every edit as a whole message', async () => {
    await put('b1', 'one');
    const stream = await openEventStream(url);
    expect(stream.response.headers.get('content-type')).toContain('text/event-stream');
    expect(await stream.next('message')).toEqual({ event: 'message', id: '1', data: { id: 'b1', ...bot('one') } });
    await put('b1', 'one two');
    expect(await stream.next('message', (m: { text: string }) => m.text === 'one two')).toMatchObject({ id: '2' });
    await put('b2', 'next');
    await stream.next('message', (m: { id: string }) => m.id === 'b2');
    await stream.close();
  });

  it('resumes after Last-Event-ID with the newest version of what changed', async () => {
    await put('b1', 'one');
    const version = await put('b2', 'two');
    await put('b1', 'one, edited');
    await put('b1', 'one, edited twice');
    const stream = await openEventStream(url, { 'last-event-id': String(version) });
    await stream.next('run');
    expect(stream.events.filter((e) => e.event === 'message')).toEqual([
      { event: 'message', id: '4', data: { id: 'b1', ...bot('one, edited twice') } },
    ]);
    await stream.close();
  });

  it('starts after the version a page was loaded with', async () => {
    await put('b1', 'one');
    const { version } = (await (await server.get('/api/conversations/chat-1')).json()) as { version: number };
    const stream = await openEventStream(`${url}?after=${version}`);
    await stream.next('run');
    expect(stream.events.map((e) => e.event)).toEqual(['run']);
    await put('b2', 'two');
    await stream.next('message', (m: { id: string }) => m.id === 'b2');
    await stream.close();
  });

  it('gives only the last event of a batch an id, so that a broken batch is sent again', async () => {
    await put('b1', 'one');
    await put('b2', 'two');
    await put('b1', 'one, edited');
    const stream = await openEventStream(url);
    await stream.next('run');
    const messages = stream.events.filter((e) => e.event === 'message');
    expect(messages.map((e) => [(e.data as { id: string }).id, e.id])).toEqual([
      ['b1', undefined],
      ['b2', '3'],
    ]);
    await stream.close();
  });

  it('tells removed messages', async () => {
    await put('b1', 'one');
    const stream = await openEventStream(url);
    await stream.next('message');
    await server.board.remove(server.key('chat-1'), 'b1');
    await server.relay.publish(server.key('chat-1'));
    expect(await stream.next('removed')).toMatchObject({ data: { id: 'b1' }, id: '2' });
    await stream.close();
  });

  it('tells what the run is doing, first and on every change', async () => {
    const stream = await openEventStream(url);
    expect(await stream.next('run')).toMatchObject({ data: { state: 'idle' } });
    await server.setRun('chat-1', 'running');
    await stream.next('run', (run: { state: string }) => run.state === 'running');
    await server.setRun('chat-1', 'waiting');
    await stream.next('run', (run: { state: string }) => run.state === 'waiting');
    await server.setRun('chat-1', 'finished');
    await stream.next('run', (run: { state: string }) => run.state === 'idle', 3);
    expect(stream.events).toHaveLength(4);
    await stream.close();
  });

  it('finds changes although their hints are lost', async () => {
    const stream = await openEventStream(url);
    await stream.next('run');
    await server.board.put(server.key('chat-1'), 'b1', bot('unannounced'));
    await stream.next('message');
    await stream.close();
  });

  it('starts over when the board is younger than the client', async () => {
    await put('b1', 'one');
    const stream = await openEventStream(url, { 'last-event-id': '99' });
    await stream.next('run');
    expect(stream.events.map((e) => e.event)).toEqual(['reset', 'message', 'run']);
    await stream.close();
  });

  it('takes an id that is no number as none', async () => {
    await put('b1', 'one');
    for (const id of ['abc', '-5', '1e99', '2.5']) {
      const stream = await openEventStream(url, { 'last-event-id': id });
      await stream.next('message');
      await stream.close();
    }
  });

  it('ends the stream when the store is lost, so that the client comes back', async () => {
    const stream = await openEventStream(url);
    await stream.next('run');
    server.state.down = true;
    await server.relay.publish(server.key('chat-1'));
    await waitFor(stream.ended);
    expect(server.relay.subscribers()).toBe(0);
  });

  it('forgets clients that are gone', async () => {
    const streams = await Promise.all(Array.from({ length: 20 }, () => openEventStream(url)));
    await Promise.all(streams.map((stream) => stream.next('run')));
    expect(server.relay.subscribers()).toBe(20);
    await Promise.all(streams.map((stream) => stream.close()));
    await waitFor(() => server.relay.subscribers() === 0);
  });

  it('opens no more streams than the limit, also when all are asked for at once', async () => {
    const { board, relay, inbox, records, logger } = server;
    const conversations = { summary: async () => undefined, runs: async () => [], usage: async () => [] };
    const api = createApi({ board, relay, inbox, records, logger, conversations }, createGate({}));
    api.app.onError((error) => {
      if (error instanceof Refusal) return refusalResponse(error);
      throw error;
    });
    const open = async () => api.app.request('/conversations/chat-1/events');
    const all = await Promise.all(Array.from({ length: 1_003 }, open));
    const refused = all.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(3);
    for (const answer of refused)
      expect(await errorOf(answer)).toMatchObject({ status: 503, code: 'too_many_streams' });
    await all.find(({ status }) => status === 200)?.body?.cancel();
    expect((await open()).status).toBe(200);
    expect((await open()).status).toBe(503);
    api.close();
    await waitFor(() => relay.subscribers() === 0);
  });

  it('opens nothing for HEAD', async () => {
    const response = await fetch(url, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(server.relay.subscribers()).toBe(0);
  });

  it('sends a slow client only the newest version', async () => {
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`GET /api/conversations/chat-1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    const edits = 400;
    const padding = 'x'.repeat(50_000);
    for (let i = 1; i <= edits; i++) {
      await put('b1', `${i} ${padding}`);
      // Lets the server write what it can.
      await new Promise((resolve) => setImmediate(resolve));
    }
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.resume();
    await waitFor(() => text.includes(`"text":"${edits} `), { what: 'the newest version' });
    const versions = text.match(/"text":"\d+ /g) ?? [];
    expect(versions.length).toBeLessThan(edits / 2);
    socket.destroy();
  });
});

describe('a feed', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  async function feed() {
    const board = createMemoryBoard();
    const relay = createMemoryRelay();
    const opened = await openFeed({ board, relay, summary: async () => undefined }, { conversation: 'k', after: 0 });
    const reader = opened.stream.getReader();
    const decoder = new TextDecoder();
    return { opened, relay, read: async () => decoder.decode((await reader.read()).value) };
  }

  it('shows a sign of life every 15 seconds', async () => {
    vi.useFakeTimers();
    const { opened, read } = await feed();
    expect(await read()).toMatch(/^retry: 1000\n\nevent: run\n/);
    const begun = Date.now();
    const next = read();
    await vi.advanceTimersByTimeAsync(16_000);
    expect(await next).toMatch(/^: .*\n\n$/);
    expect(Date.now() - begun).toBe(16_000);
    opened.close();
  });

  it('gives up a reader that takes nothing for a minute', async () => {
    vi.useFakeTimers();
    const { opened, relay, read } = await feed();
    await read();
    await vi.advanceTimersByTimeAsync(59_000);
    expect(relay.subscribers()).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(relay.subscribers()).toBe(0);
    await expect(read()).rejects.toThrow('takes nothing');
    await opened.ended;
  });
});
