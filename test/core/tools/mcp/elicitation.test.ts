import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chinese } from '../../../../src/core/chat/texts/zh.js';
import { AbortedError } from '../../../../src/core/errors.js';
import type { ToolContext, ToolOutcome } from '../../../../src/core/tools/tool.js';
import { type FakeMcpHttpServer, startFakeMcpHttpServer } from '../../../fakes/mcp-http-server.js';
import { waitFor } from '../../../fakes/wait-for.js';
import { contextOf, endpoint, type OpenServers, openServers, outcomeOf, person, pipe } from './fixture.js';

const colors = [
  { id: 'choice-1', label: 'red' },
  { id: 'choice-2', label: 'green' },
  { id: 'decline', label: 'Decline' },
];

describe('a question in the newer protocol', () => {
  let remote: FakeMcpHttpServer;
  let workers: OpenServers[] = [];

  beforeAll(async () => {
    remote = await startFakeMcpHttpServer('modern');
  });
  afterEach(async () => {
    await Promise.all(workers.map(({ servers }) => servers.close()));
    workers = [];
  });
  afterAll(() => remote.close());

  /** Another process: it shares nothing with the first but the server. */
  function worker(): OpenServers {
    const opened = openServers(endpoint(remote.url));
    workers.push(opened);
    return opened;
  }

  /** Stores the suspended call and continues it elsewhere with an answer. */
  async function answer(name: string, args: object, suspended: ToolOutcome, given: string): Promise<ToolOutcome> {
    const resumeData: unknown = JSON.parse(JSON.stringify(suspended.resumeData));
    const tool = await worker().tool(name);
    if (!tool.resume) throw new Error('cannot be resumed');
    return outcomeOf(await tool.resume(JSON.stringify(args), given, contextOf({ resumeData })));
  }

  it('suspends the call, and another process finishes it with the answer', async () => {
    const suspended = await worker().run('paint', { what: 'the barn' });
    expect(suspended).toMatchObject({
      suspend: 'interactive',
      question: { text: 'The tool server fake asks:\nWhich colour for the barn?\n\nColour', options: colors },
    });
    const done = await answer('paint', { what: 'the barn' }, suspended, 'choice-2');
    expect(done).toEqual({ content: 'the barn is green, state opaque:the barn' });
  });

  it('asks again with the reason when the answer does not fit, and gives up after three', async () => {
    let outcome = await worker().run('paint', { what: 'x' });
    for (let wrong = 0; wrong < 3; wrong += 1) {
      outcome = await answer('paint', { what: 'x' }, outcome, 'blue');
      expect(outcome.question?.text).toContain('That does not fit. Expected: one of these');
    }
    outcome = await answer('paint', { what: 'x' }, outcome, 'blue');
    expect(outcome).toEqual({ content: 'not painted: {"color":{"action":"cancel"}}' });
  });

  it('tells the server that the person declined', async () => {
    const suspended = await worker().run('paint', { what: 'x' });
    const declined = await answer('paint', { what: 'x' }, suspended, 'decline');
    expect(declined).toEqual({ content: 'not painted: {"color":{"action":"decline"}}' });
  });

  it('is asked field by field, each in its kind, answers so far being kept', async () => {
    const seats = await worker().run('book');
    expect(seats.question?.text).toContain('Seats: How many people come\n\nExpected: a whole number (1 – 8)');
    const tooMany = await answer('book', {}, seats, '9');
    expect(tooMany.question?.text).toContain('That does not fit. Expected: a whole number (1 – 8)');
    const email = await answer('book', {}, tooMany, '3');
    expect(email.question?.text).toContain('an e-mail address');
    const window = await answer('book', {}, email, 'ada@example.com');
    expect(window.question?.options?.map(({ id }) => id)).toEqual(['yes', 'no', 'skip', 'decline']);
    const booked = await answer('book', {}, window, 'yes');
    expect(JSON.parse(booked.content)).toEqual({
      booking: { action: 'accept', content: { seats: 3, email: 'ada@example.com', window: true } },
    });
  });

  it('shows an address as text and never opens it', async () => {
    const suspended = await worker().run('consent');
    expect(suspended.question?.text).toContain('\nhttps://example.com/consent?id=7');
    expect(suspended.question?.options?.map(({ id }) => id)).toEqual(['accept', 'decline']);
    const done = await answer('consent', {}, suspended, 'accept');
    expect(done.content).toBe('{"consent":{"action":"accept"}}');
  });

  it('is put in the language of the person', async () => {
    const context: ToolContext = contextOf();
    const tool = await worker().tool('paint');
    const suspended = outcomeOf(await tool.run('{"what":"x"}', Object.assign(context, { texts: chinese })));
    expect(suspended.question?.text).toContain('工具服务器 fake 询问');
    expect(suspended.question?.options?.at(-1)).toEqual({ id: 'decline', label: '拒绝' });
  });

  it('is an error for the model when what was stored is gone', async () => {
    const outcome = await answer('paint', { what: 'x' }, { content: '', resumeData: { v: 2 } }, 'red');
    expect(outcome).toMatchObject({ content: expect.stringContaining('cannot be continued'), failed: true });
  });
});

describe.each([
  ['stdio', () => Promise.resolve(undefined)],
  ['Streamable HTTP', () => startFakeMcpHttpServer('legacy')],
] as const)('a question in the older protocol over %s', (transport, start) => {
  let remote: FakeMcpHttpServer | undefined;
  let mcp: OpenServers;

  beforeAll(async () => {
    remote = await start();
    const limits = { callTimeoutMs: 2_500 };
    mcp = openServers(remote ? endpoint(remote.url, limits) : pipe('legacy', limits));
    await mcp.tool('echo');
  });
  afterAll(async () => {
    await mcp.servers.close();
    await remote?.close();
  });

  it('holds the call open, and its clock stands still while the person thinks', async () => {
    const { ask, questions } = person('choice-1');
    const thinking: typeof ask = async (question) => {
      await new Promise((resolve) => setTimeout(resolve, 2_700));
      return ask(question);
    };
    const done = await mcp.run('paint', { what: 'the barn' }, { ask: thinking });
    expect(done.content).toContain('the barn is red');
    expect(questions).toMatchObject([{ text: expect.stringContaining('Which colour for the barn?'), options: colors }]);
  });

  it('takes several answers in a row', async () => {
    const { ask, questions } = person('none', '2', 'nobody', 'ada@example.com', 'skip');
    const { content } = await mcp.run('book', {}, { ask });
    expect(JSON.parse(content)).toEqual({
      booking: { action: 'accept', content: { seats: 2, email: 'ada@example.com' } },
    });
    expect(questions).toHaveLength(5);
  });

  it('is declined where nobody can be asked', async () => {
    expect((await mcp.run('paint', { what: 'x' })).content).toContain('"action":"decline"');
  });

  it('is cancelled when the person gives no answer', async () => {
    expect((await mcp.run('paint', { what: 'x' }, { ask: person().ask })).content).toContain('"action":"cancel"');
  });

  it('ends with the run', async () => {
    const stop = new AbortController();
    const { ask, questions } = person();
    const forever: typeof ask = (question) => {
      void ask(question);
      return new Promise(() => undefined);
    };
    const call = mcp.run('paint', { what: 'x' }, { ask: forever, signal: stop.signal });
    await waitFor(() => questions.length === 1);
    stop.abort();
    await expect(call).rejects.toThrow(AbortedError);
  });

  it('reaches the person whose call it belongs to, or nobody', async () => {
    const [ada, ben] = [person('choice-1'), person('choice-2')];
    const outcomes = await Promise.all([
      mcp.run('paint', { what: 'the barn' }, { ask: ada.ask }),
      mcp.run('paint', { what: 'the shed' }, { ask: ben.ask }),
    ]);
    const texts = outcomes.map(({ content }) => content);
    if (transport === 'stdio') {
      // Nothing on the pipe tells whose question it is.
      expect(texts).toEqual([expect.stringContaining('"cancel"'), expect.stringContaining('"cancel"')]);
      expect(mcp.lines.filter(({ message }) => message.includes('belongs to no single call')).length).toBe(2);
    } else {
      expect(texts).toEqual([expect.stringContaining('barn is red'), expect.stringContaining('shed is green')]);
      expect(ada.questions).toMatchObject([{ text: expect.stringContaining('the barn') }]);
      expect(ben.questions).toMatchObject([{ text: expect.stringContaining('the shed') }]);
    }
  });
});

it('a question that is held open ends after the configured time', async () => {
  const remote = await startFakeMcpHttpServer('legacy');
  const mcp = openServers(endpoint(remote.url, { elicitationMinutes: 0.005 }));
  try {
    const never = () => new Promise<never>(() => undefined);
    expect((await mcp.run('paint', { what: 'x' }, { ask: never })).content).toContain('"action":"cancel"');
  } finally {
    await mcp.servers.close();
    await remote.close();
  }
});
