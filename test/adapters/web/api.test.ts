import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MessageView } from '../../../src/adapters/web/board-message.js';
import type { AcceptResult } from '../../../src/core/chat/adapter.js';
import { cookiesOf, errorOf, startWebServer, type WebServer } from '../../fakes/web-server.js';

let server: WebServer;
let cookie: string;

beforeEach(async () => {
  server = await startWebServer();
  cookie = cookiesOf(await server.get('/'));
});

afterEach(() => server.close());

const post = (call: string, body: unknown, headers = {}) =>
  server.post(`/api/conversations/chat-1/${call}`, body, { cookie, ...headers });

async function show(id = 'chat-1') {
  const response = await server.get(`/api/conversations/${id}`, { cookie });
  return (await response.json()) as {
    messages: MessageView[];
    run: { state: string; id?: string };
    version: number;
    you: { id: string };
  };
}

describe('POST messages', () => {
  it('stores the message and answers 202 with its id', async () => {
    const response = await post('messages', { text: 'What time is it?' }, { 'accept-language': 'zh-CN,zh;q=0.9' });
    expect(response.status).toBe(202);
    const answer = (await response.json()) as { messageId: string };
    expect(answer).toEqual({ accepted: true, messageId: expect.stringMatching(/^u[\w-]+$/) });
    const [entry] = server.inbox.accepted;
    expect(entry?.key).toBe('web:default::chat-1');
    expect(entry?.item).toMatchObject({
      v: 1,
      kind: 'message',
      text: 'What time is it?',
      messageId: answer.messageId,
      locale: 'zh-CN',
      place: { platform: 'web', account: 'default', space: 'chat-1', direct: true },
    });
  });

  it('puts the message on the board before the inbox, so that no answer stands above it', async () => {
    let seen: string[] = [];
    server.inbox.onAccept = async (key) => {
      seen = (await server.board.list(key, 0)).messages.map((message) => message.id);
    };
    const { messageId } = (await (await post('messages', { text: 'hello' })).json()) as { messageId: string };
    expect(seen).toEqual([messageId]);
    const { messages, you } = await show();
    expect(messages).toEqual([
      {
        ...{ id: messageId, role: 'user', text: 'hello', html: 'hello', state: 'final', at: expect.any(Number) },
        author: { id: you.id, name: expect.stringMatching(/^Guest /) },
      },
    ]);
  });

  it('takes a repeated clientMessageId as the same message', async () => {
    const body = { text: 'only once', clientMessageId: 'c-1' };
    const first = (await (await post('messages', body)).json()) as { messageId: string };
    await server.board.put(server.key('chat-1'), first.messageId, {
      ...(await show()).messages[0],
      mark: 'seen',
    });
    const second = await post('messages', body);
    expect(second.status).toBe(202);
    expect(await second.json()).toEqual({ accepted: true, duplicate: true, messageId: first.messageId });
    const { messages } = await show();
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatchObject({ mark: 'seen', clientMessageId: 'c-1' });
  });

  it('keeps the clientMessageIds of different people and conversations apart', async () => {
    const body = { text: 'hello', clientMessageId: 'c-1' };
    await post('messages', body);
    await post('messages', body, { cookie: '' });
    await server.post('/api/conversations/chat-2/messages', body, { cookie });
    expect(server.inbox.accepted).toHaveLength(3);
    expect(new Set(server.inbox.accepted.map(({ item }) => item.dedupe)).size).toBe(3);
  });

  it('recognises control words and the queue prefix', async () => {
    for (const text of ['/stop', ' 停止 ', '/new', 'queue: and then this', 'please stop it'])
      await post('messages', { text });
    expect(server.inbox.accepted.map(({ item }) => item)).toMatchObject([
      { kind: 'control', control: 'stop' },
      { kind: 'control', control: 'stop' },
      { kind: 'control', control: 'new' },
      { kind: 'message', text: 'and then this', queue: true },
      { kind: 'message', text: 'please stop it' },
    ]);
  });

  it('hands attachments on', async () => {
    const attachments = [{ kind: 'file', ref: 'x', name: 'a.pdf', size: 3 }];
    await post('messages', { text: 'read this', attachments });
    expect(server.inbox.accepted[0]?.item).toMatchObject({ attachments });
  });

  it('refuses an empty message', async () => {
    for (const text of ['', ' \n\t ', '\u0000\u0007', 'queue:  ', 'queue: \u200b', '\ufeff', '\u2800\u3164']) {
      expect(await errorOf(await post('messages', { text })), JSON.stringify(text)).toMatchObject({
        status: 400,
        code: 'empty_message',
      });
    }
    expect((await show()).messages).toEqual([]);
  });

  it('takes 100,000 characters and refuses more, naming the limit', async () => {
    expect((await post('messages', { text: 'x'.repeat(100_000) })).status).toBe(202);
    const error = await errorOf(await post('messages', { text: 'x'.repeat(100_001) }));
    expect(error).toMatchObject({ status: 413, code: 'message_too_long' });
    expect(error.message).toContain('100000');
  });

  it('cleans control characters and broken surrogates, and shows the text as text', async () => {
    await post('messages', { text: '\n\na\u0000b\u001b[31m\r\n<b>&\ud800 end\u0085  ' });
    expect((await show()).messages[0]).toMatchObject({
      text: 'ab[31m\n<b>& end',
      html: 'ab[31m<br>&lt;b&gt;&amp; end',
    });
  });

  it('refuses a message nobody could see, and removes what makes a text read differently', async () => {
    expect(await errorOf(await post('messages', { text: '\u200b\u200d \u202e\n\u2060' }))).toMatchObject({
      status: 400,
      code: 'empty_message',
    });
    await post('messages', { text: 'pay \u202eeno\u202c \u2067me\u2069 👩\u200d💻' });
    expect((await show()).messages).toMatchObject([{ text: 'pay eno me 👩\u200d💻' }]);
  });

  it('refuses ids that are not conversation ids', async () => {
    for (const id of ['a.b', 'a%2Fb', '%00', 'x'.repeat(65), 'ü']) {
      const response = await server.post(`/api/conversations/${id}/messages`, { text: 'hello' }, { cookie });
      expect(await errorOf(response), id).toMatchObject({ status: 400, code: 'invalid_conversation_id' });
      expect((await server.get(`/api/conversations/${id}`)).status, id).toBe(400);
      expect((await server.get(`/api/conversations/${id}/events`)).status, id).toBe(400);
    }
  });

  it('answers 503 when the store is down; the same call later is the same message', async () => {
    const body = { text: 'do not lose me', clientMessageId: 'c-9' };
    server.state.down = true;
    const response = await post('messages', body);
    expect(response.headers.get('retry-after')).toBe('2');
    const error = await errorOf(response);
    expect(error).toMatchObject({ status: 503, code: 'store_unavailable' });
    expect(error.hint).toContain('clientMessageId');
    server.state.down = false;
    // Down between the board and the inbox: the text already stands there.
    server.inbox.onAccept = () => Promise.reject(new Error('lost in between'));
    expect((await post('messages', body)).status).toBe(503);
    server.inbox.onAccept = () => undefined;
    expect(await (await post('messages', body)).json()).toMatchObject({ accepted: true });
    expect((await show()).messages).toHaveLength(1);
    expect(server.inbox.accepted).toHaveLength(1);
  });

  it('takes a typed stop back from the board when it is not allowed', async () => {
    server.inbox.verdict = () => 'foreign';
    expect(await errorOf(await post('messages', { text: 'stop' }))).toMatchObject({ status: 403, code: 'not_yours' });
    expect((await show()).messages).toEqual([]);
  });
});

describe('GET conversation', () => {
  it('is empty and idle when nobody wrote yet', async () => {
    expect(await show()).toMatchObject({ messages: [], run: { state: 'idle' }, version: 0 });
  });

  it('shows messages in the order of their first post, without removed ones', async () => {
    const key = server.key('chat-1');
    const bot = { role: 'bot', text: 't', html: '<p>t</p>', state: 'streaming', at: 1 };
    const buttons = [{ id: 'c.1', label: 'Yes', style: 'primary' }];
    await server.board.put(key, 'b1', bot);
    await server.board.put(key, 'b2', bot);
    await server.board.put(key, 'b3', bot);
    await server.board.put(key, 'b1', { ...bot, state: 'final', buttons, footer: 'f', status: ['s'], reasoning: 'r' });
    await server.board.remove(key, 'b2');
    const { messages } = await show();
    expect(messages).toEqual([
      { id: 'b1', ...bot, state: 'final', buttons, footer: 'f', status: ['s'], reasoning: 'r' },
      { id: 'b3', ...bot },
    ]);
  });

  it('opens with the newest 500 messages', async () => {
    const bot = { role: 'bot', text: 't', html: 't', state: 'final', at: 1 };
    for (let i = 0; i < 510; i++) await server.board.put(server.key('chat-1'), `b${i}`, bot);
    const { messages } = await show();
    expect(messages).toHaveLength(500);
    expect(messages.at(-1)?.id).toBe('b509');
  });

  it('tells what the run is doing', async () => {
    const states: string[] = [];
    for (const [phase, busy] of [
      ['running', true],
      ['waiting', false],
      ['finished', false],
      ['finished', true],
      ['stopped', false],
      [null, true],
    ] as const) {
      await server.setRun('chat-1', phase, busy);
      states.push((await show()).run.state);
    }
    expect(states).toEqual(['running', 'waiting', 'idle', 'running', 'idle', 'running']);
    await server.setRun('chat-1', 'running');
    expect((await show()).run.id).toBe('run-of-chat-1');
  });

  it('answers 503 when the store is down', async () => {
    server.state.down = true;
    expect((await server.get('/api/conversations/chat-1')).status).toBe(503);
    expect((await server.get('/api/conversations/chat-1/events')).status).toBe(503);
  });
});

describe('POST choices', () => {
  it('hands the press on as a choice and its option', async () => {
    const response = await post('choices', { choiceId: 'ask-7.1', messageId: 'b3' });
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ accepted: true });
    expect(server.inbox.accepted[0]?.item).toMatchObject({
      ...{ kind: 'choice', choice: 'ask-7', option: '1', messageId: 'b3' },
    });
  });

  it('answers 403, 409 and 410 as the entrance decides', async () => {
    const answers: [AcceptResult['result'], number, string][] = [
      ['foreign', 403, 'not_yours'],
      ['already', 409, 'already_answered'],
      ['expired', 410, 'expired'],
      ['closed', 410, 'expired'],
    ];
    for (const [verdict, status, code] of answers) {
      server.inbox.verdict = () => verdict;
      expect(await errorOf(await post('choices', { choiceId: 'ask-7.1' })), verdict).toMatchObject({ status, code });
    }
    expect(server.inbox.accepted).toHaveLength(0);
  });

  it('leaves it to the entrance whether a second press counts', async () => {
    await post('choices', { choiceId: 'ask-7.1' });
    await post('choices', { choiceId: 'ask-7.1' });
    const events = server.inbox.accepted.map(({ item }) => item.dedupe);
    expect(new Set(events).size).toBe(2);
  });

  it('refuses what is not the id of a button', async () => {
    for (const choiceId of ['none', '.option', 'choice.']) {
      expect((await post('choices', { choiceId })).status, choiceId).toBe(400);
    }
    expect((await post('choices', {})).status).toBe(400);
  });
});

describe('POST stop', () => {
  it('stops whatever runs, with or without a body', async () => {
    expect((await post('stop', '')).status).toBe(202);
    expect((await post('stop', {})).status).toBe(202);
    expect(server.inbox.accepted.map(({ item }) => item)).toMatchObject([
      { kind: 'control', control: 'stop' },
      { kind: 'control', control: 'stop' },
    ]);
    expect(server.inbox.accepted[0]?.item).not.toHaveProperty('runId');
  });

  it('stops only the named run', async () => {
    await post('stop', { runId: 'r-3' });
    expect(server.inbox.accepted[0]?.item).toMatchObject({ runId: 'r-3' });
    server.inbox.verdict = () => 'closed';
    expect(await errorOf(await post('stop', { runId: 'r-2' }))).toMatchObject({ status: 409, code: 'nothing_runs' });
  });

  it('answers 403 to somebody else', async () => {
    server.inbox.verdict = () => 'foreign';
    expect(await errorOf(await post('stop', {}))).toMatchObject({ status: 403, code: 'not_yours' });
  });
});

describe('GET runs and usage', () => {
  it('lists runs by state, up to a limit', async () => {
    await server.setRun('one', 'running');
    await server.setRun('two', 'finished');
    await server.setRun('three', null);
    const list = async (query: string) =>
      ((await (await server.get(`/api/runs${query}`)).json()) as { runs: { root: string }[] }).runs;
    expect((await list('')).map((run) => run.root)).toEqual(['one', 'two']);
    expect(await list('?state=running')).toEqual([
      {
        ...{ conversation: 'web:default::one', platform: 'web', account: 'default', space: '', root: 'one' },
        ...{ id: 'run-of-one', state: 'running', agent: 'assistant', model: 'default', startedAt: 1, updatedAt: 2 },
        ...{ busy: false, wakeAt: null },
      },
    ]);
    expect(await list('?limit=1')).toHaveLength(1);
    for (const query of ['?state=asleep', '?limit=0', '?limit=many', '?colour=red']) {
      expect(await errorOf(await server.get(`/api/runs${query}`)), query).toMatchObject({ status: 400 });
    }
  });

  it('sums usage by user, agent, conversation and model', async () => {
    const entry = { at: Date.now(), run: 'r', agent: 'assistant', inputTokens: 10, outputTokens: 5, cost: 0.5 };
    server.usage.push(
      { ...entry, person: 'web:a', model: 'small', key: 'k1' },
      { ...entry, person: 'web:b', model: 'large', key: 'k1', cost: 2 },
      { ...entry, person: 'web:a', model: 'small', key: 'k2' },
      { ...entry, person: 'web:a', model: 'small', key: 'k2', at: Date.now() - 8 * 86_400_000 },
    );
    expect(await usage('?by=user')).toMatchObject({
      keys: ['web:b', 'web:a'],
      rows: [{ cost: 2 }, { requests: 2, toolCalls: 0, inputTokens: 20, outputTokens: 10, cost: 1 }],
      total: { requests: 3, cost: 3 },
      complete: true,
    });
    expect((await usage('?by=conversation')).keys).toEqual(['k1', 'k2']);
    expect((await usage('?by=agent')).keys).toEqual(['assistant']);
    expect(await usage('')).toMatchObject({ by: 'model', keys: ['large', 'small'] });
    expect(await usage('?since=2w')).toMatchObject({ total: { requests: 4 } });
    for (const query of ['?by=colour', '?since=yesterday', '?since=-1d', '?since=7']) {
      expect((await server.get(`/api/usage${query}`)).status, query).toBe(400);
    }
  });

  it('counts tools, sub-agents and compression for who caused them, and tells what caused the cost', async () => {
    const base = { at: Date.now(), run: 'r', person: 'web:a', agent: 'assistant', key: 'k1' };
    const request = { ...base, model: 'large', inputTokens: 10, outputTokens: 5 };
    server.usage.push(
      { ...request, cost: 1, source: 'agent' },
      { ...request, cost: 0.5, source: 'compression', model: 'small', callId: 'compression' },
      { ...request, cost: 0.25, source: 'tool', model: 'small', agent: 'researcher', callId: 'c1' },
      {
        ...request,
        cost: 2,
        source: 'tool',
        model: 'small',
        agent: 'researcher',
        callId: 'c1',
        tool: 'agent_researcher',
      },
      { ...base, model: '', inputTokens: 0, outputTokens: 0, cost: 4, source: 'tool', callId: 'c2', tool: 'search' },
    );
    const sources = { agent: 1, compression: 0.5, tool: 6.25 };
    const whole = { requests: 4, toolCalls: 1, inputTokens: 40, outputTokens: 20, cost: 7.75, sources };
    expect(await usage('?by=user')).toMatchObject({ rows: [{ key: 'web:a', ...whole }], total: whole });
    expect(await usage('?by=conversation')).toMatchObject({ rows: [{ key: 'k1', ...whole }] });
    expect(await usage('?by=model')).toMatchObject({
      rows: [
        { key: '', requests: 0, toolCalls: 1, cost: 4 },
        { key: 'small', requests: 3, cost: 2.75, sources: { agent: 0, compression: 0.5, tool: 2.25 } },
        { key: 'large', requests: 1, cost: 1 },
      ],
    });
    expect(await usage('?by=tool')).toMatchObject({
      rows: [
        { key: 'search', toolCalls: 1, requests: 0, cost: 4 },
        { key: 'agent_researcher', toolCalls: 0, requests: 1, cost: 2 },
        { key: '', requests: 2, cost: 1.5, sources: { agent: 1, compression: 0.5, tool: 0 } },
        { key: 'researcher', requests: 1, cost: 0.25 },
      ],
      total: whole,
    });
  });

  it('says when there was more than one answer reads', async () => {
    const entry = { at: Date.now(), run: 'r', person: 'web:a', agent: 'assistant', model: 'm', key: 'k1' };
    for (let i = 0; i < 100_000; i++) server.usage.push({ ...entry, inputTokens: 1, outputTokens: 1, cost: 0 });
    expect(await usage('')).toMatchObject({ complete: false, total: { requests: 100_000 } });
  });
});

describe('GET a run', () => {
  const id = 'web:default::chat%3A1#3';
  const path = `/api/runs/${encodeURIComponent(id)}`;
  const details = { v: 1, id, agent: 'assistant', finish: 'final', steps: [{ kind: 'tool', tool: 'web_fetch' }] };

  it('shows what is kept about it', async () => {
    await server.records.set('run', id, JSON.stringify(details), 60_000);
    const response = await server.get(path);
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual(details);
  });

  it('is 404 with a hint when it is unknown, expired, or its id is not one', async () => {
    await server.records.set('run', id, JSON.stringify(details), -1);
    for (const one of [path, '/api/runs/x', `/api/runs/${'x'.repeat(401)}`, '/api/runs/%00', '/api/runs/%E0%A4%A']) {
      const error = await errorOf(await server.get(one));
      expect(error, one).toMatchObject({ status: 404, code: 'run_not_found' });
      expect(error.hint).toContain('30 days');
    }
  });

  it('asks for the token as the other calls do, and answers 503 when the store is down', async () => {
    server.records.down = new Error('connection refused');
    expect(await errorOf(await server.get(path))).toMatchObject({ status: 503, code: 'store_unavailable' });
    await server.close();
    server = await startWebServer({ token: 'a-token-of-the-test-suite' });
    await server.records.set('run', id, JSON.stringify(details), 60_000);
    expect(await errorOf(await server.get(path))).toMatchObject({ status: 401 });
    const authorization = 'Bearer a-token-of-the-test-suite';
    expect((await server.get(path, { authorization })).status).toBe(200);
  });
});

async function usage(query: string) {
  const answer = (await (await server.get(`/api/usage${query}`)).json()) as { rows: { key: string }[]; total: object };
  return { ...answer, keys: answer.rows.map((row) => row.key) };
}
