import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import {
  ada,
  asked,
  bob,
  createReader,
  historyOf,
  isSettled,
  type Reader,
  type ReaderOptions,
} from './reader-fixture.js';

const HOUR_MS = 3_600_000;
const ask = (id: string, options = ['staging', 'production', 'both']) =>
  call(id, 'ask_agent', JSON.stringify({ reason: 'r', blockerType: 'ambiguous_goal', question: 'Where to?', options }));
const removal = (id: string, path: string) => call(id, 'remove', JSON.stringify({ path }));

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

function deleting(over: ReaderOptions = {}) {
  const done: string[] = [];
  const remove = defineTool({
    ...{ name: 'remove', description: 'Removes a file.', parameters: z.object({ path: z.string() }) },
    async execute({ path }) {
      done.push(path);
      return `removed ${path}`;
    },
  });
  const reader: Reader = createReader(server, {
    tools: [remove],
    ...over,
    agent: { permissions: { mode: 'ask', rules: [] }, ...over.agent },
  });
  return { reader, done };
}

describe('a decision', () => {
  it('a yes does not hold for a later call with the same id', async () => {
    const { reader, done } = deleting({
      script: [{ calls: [removal('call_0', 'a')] }, { calls: [removal('call_0', 'b')] }, { text: 'Done.' }],
    });
    await reader.say('go');
    await reader.run();
    await reader.press('Once');
    await reader.run();
    expect(done).toEqual(['a']);
    expect(reader.buttons()).toEqual(['Once', 'Always here', 'Deny']);
  });
  it('an id like constructor is no yes', async () => {
    const { reader, done } = deleting({ script: [{ calls: [removal('constructor', 'a')] }, { text: 'Done.' }] });
    await reader.say('go');
    await reader.run();
    expect(done).toEqual([]);
  });
});

describe('a text from before', () => {
  it('a text sent before the card is no denial', async () => {
    const { reader, done } = deleting({
      script: [
        { calls: [removal('r', 'a')], meanwhile: async () => void (await reader.say('and be quick')) },
        { text: 'Done.' },
      ],
    });
    await reader.say('go');
    await reader.run();
    expect(reader.buttons()).toHaveLength(3);
    await reader.press('Once');
    await reader.run();
    expect(done).toEqual(['a']);
    expect(asked(reader, 1).at(-1)).toContain('and be quick');
  });
  it('a text sent before the question is no answer', async () => {
    const reader: Reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [
        { calls: [ask('q')], meanwhile: async () => void (await reader.say('and be quick')) },
        { text: 'Done.' },
      ],
    });
    await reader.say('go');
    await reader.run();
    expect(reader.buttons()).toHaveLength(3);
    await reader.press('both');
    await reader.run();
    expect(reader.model.requests[1]?.messages).toContainEqual({ role: 'tool', toolCallId: 'q', content: 'both' });
    expect(asked(reader, 1).at(-1)).toContain('and be quick');
  });
});

describe('a held question', () => {
  it('a held question nobody waits for any more is closed, and swallows no text', async () => {
    let asks = 0;
    const tool = defineTool({
      ...{ name: 'confirm', description: 'Asks.', parameters: z.object({}), idempotent: true },
      async execute(_, { ask: question }) {
        asks += 1;
        const late = new Promise<string>((resolve) => setTimeout(resolve, 300, 'late'));
        const given = question?.({ text: `Really ${asks}?`, options: [{ id: 'y', label: `Yes ${asks}` }] });
        return Promise.race([given?.then((g) => g.answer ?? 'none') ?? 'x', late]);
      },
    });
    const reader: Reader = createReader(server, {
      tools: [tool],
      script: [
        { calls: [call('c1', 'confirm')] },
        {
          calls: [call('c2', 'confirm')],
          meanwhile: async () => {
            await reader.until(() => reader.buttons().length === 0, 'card 1 closed');
          },
        },
        { text: 'First.', meanwhile: async () => void (await reader.say('one more thing')) },
        { text: 'Second.' },
      ],
    });
    await reader.say('go');
    await reader.run();
    expect(asks).toBe(2);
    expect(reader.buttons()).toEqual([]);
    expect(asked(reader, 3).at(-1)).toContain('one more thing');
    expect(await isSettled(reader)).toBe(true);
  });
  it('a steer that was taken is no answer too', async () => {
    const tool = defineTool({
      ...{ name: 'confirm', description: 'Asks.', parameters: z.object({}), idempotent: true },
      async execute(_, { ask: question }) {
        const given = await question?.({ text: 'Really?', options: [{ id: 'y', label: 'Yes' }] });
        return `answer: ${given?.answer}`;
      },
    });
    const look = defineTool({
      ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true },
      execute: async () => 'seen',
    });
    const reader: Reader = createReader(server, {
      tools: [tool, look],
      script: [
        { calls: [call('l')], meanwhile: async () => void (await reader.say('shorter')) },
        { calls: [call('c1', 'confirm')] },
        { text: 'Done.' },
      ],
    });
    await reader.say('go');
    const run = reader.run();
    await reader.until(() => reader.buttons().length === 1);
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect(reader.buttons()).toHaveLength(1);
    await reader.press('Yes');
    await run;
    expect(reader.model.requests[2]?.messages.at(-1)).toMatchObject({ content: 'answer: y' });
  });
});

describe('a round that waits for two things', () => {
  it.each([
    [['10', '20', '2'], '2', '2'],
    [['1-3', '4-6', 'more'], '2', '2'],
    [['staging', 'production', 'both'], '2', 'production'],
  ])('%j written %s means %s', async (options, written, meant) => {
    const reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [{ calls: [ask('q', options)] }, { text: 'Done.' }],
    });
    await reader.say('go');
    await reader.run();
    await reader.say(written);
    await reader.run();
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ content: meant });
  });
});

describe('/new while a question waits', () => {
  it('somebody else cannot give the question up with /new', async () => {
    const reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [{ calls: [ask('q')] }, { text: 'Done.' }],
    });
    await reader.say('go');
    await reader.run();
    await reader.control('new', { as: bob });
    await reader.run();
    expect(reader.buttons()).toHaveLength(3);
    await reader.press('both');
    await reader.run();
    expect(reader.model.requests).toHaveLength(2);
    expect(historyOf(reader)).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });
  it('an answer that came before /new is an answer', async () => {
    const reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [{ calls: [ask('q')] }, { text: 'Done.' }],
    });
    await reader.say('go');
    await reader.run();
    await reader.say('to the moon');
    await reader.control('new');
    await reader.run();
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'to the moon' });
    expect(reader.model.requests).toHaveLength(2);
    expect(historyOf(reader)).toEqual([]);
  });
});

describe('a continuation that failed', () => {
  it('a continuation that failed is not repeated with the next one', async () => {
    const resumed: string[] = [];
    const order = defineTool({
      ...{ name: 'order', description: 'Orders.', parameters: z.object({}), idempotent: true },
      execute: async () => ({ content: 'Waiting.', suspend: 'interactive' as const, question: { text: 'Which?' } }),
      async resume(_, answer) {
        resumed.push(answer);
        if (answer === 'bad') throw new Error('no such size');
        return `ordered ${answer}`;
      },
    });
    const reader = createReader(server, {
      tools: [order],
      script: [{ calls: [call('o1', 'order')] }, { calls: [call('o2', 'order')] }, { text: 'Done.' }],
    });
    await reader.say('go');
    await reader.run();
    await reader.say('bad');
    await reader.run();
    await reader.say('good');
    await reader.run();
    expect(resumed).toEqual(['bad', 'good']);
  });
});

describe('a card far above', () => {
  it('the card is edited after many notes', async () => {
    const reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [{ text: 'Hm.', calls: [ask('q')] }, { text: 'Done.' }],
      adapter: () => ({ find: async () => [] }),
    });
    await reader.say('go');
    await reader.run();
    for (let i = 0; i < 6; i++) {
      await reader.control('help');
      await reader.run();
    }
    await reader.press('both');
    await reader.run();
    expect(reader.shown().filter((text) => text.includes('Where to?'))).toHaveLength(1);
    expect(reader.shown().filter((text) => text.includes('Ada: both'))).toHaveLength(1);
  });
});

describe('the log', () => {
  it('logs no word of a denial', async () => {
    const { reader } = deleting({ script: [{ calls: [removal('r', 'a')] }, { text: 'Done.' }] });
    await reader.say('go');
    await reader.run();
    await reader.say('my password is hunter2');
    await reader.run();
    expect(JSON.stringify(reader.logger.lines)).not.toContain('hunter2');
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ content: 'Denied: my password is hunter2' });
  });
});

describe('one of several cards that expires', () => {
  it('a question that expires ends the run although an approval is open', async () => {
    const { reader, done } = deleting({
      agent: { mode: 'plan', askExpiresMs: HOUR_MS, approvalExpiresMs: 5 * HOUR_MS },
      script: [{ calls: [ask('q'), removal('r', 'a')] }, { text: 'Done.' }],
    });
    await reader.say('go');
    await reader.run();
    reader.advance(HOUR_MS + 1);
    await reader.run();
    expect(reader.buttons()).toEqual([]);
    expect(done).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });
});

const step = { id: 's', title: 'Deploy', description: 'd', acceptanceCriteria: ['c'], status: 'pending' };
const setPlan = call(
  'p',
  'update_plan',
  JSON.stringify({ updates: [{ action: 'set_plan', plan: { task: 't', description: 'd', steps: [step] } }] }),
);

describe('a checklist', () => {
  it('a stopped run keeps its checklist', async () => {
    const reader: Reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [
        { text: 'Planned.', calls: [setPlan] },
        {
          text: 'Now',
          meanwhile: async () => {
            await reader.control('stop');
            await reader.aborted();
          },
        },
      ],
    });
    await reader.say('go');
    await reader.run();
    expect(reader.entries().at(-1)).toMatchObject({ state: 'stopped', plan: { steps: [{ title: 'Deploy' }] } });
  });
  it('also one that waited', async () => {
    const reader: Reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [{ text: 'Planned.', calls: [setPlan, ask('q')] }],
    });
    await reader.say('go');
    await reader.run();
    await reader.control('stop');
    await reader.run();
    expect(reader.entries().find(({ state }) => state === 'stopped')).toMatchObject({
      plan: { steps: [{ title: 'Deploy' }] },
    });
  });
});

describe('texts taken in the round that asked', () => {
  it('knows the texts it took in the round that asked', async () => {
    const look = defineTool({
      ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true, risk: 'read' },
      execute: async () => 'seen',
    });
    let steered = '';
    const reader: Reader = createReader(server, {
      agent: { mode: 'plan' },
      tools: [look],
      script: [
        {
          calls: [call('l')],
          meanwhile: async () => {
            steered = await reader.say('in blue', { as: bob });
          },
        },
        { calls: [ask('q')] },
        { text: 'Done.' },
      ],
    });
    await reader.say('go');
    await reader.run();
    await reader.edit(steered, 'in red');
    await reader.press('both');
    await reader.run();
    expect(asked(reader, 2).at(-1)).toContain('in red');
    expect(ada.name).toBe('Ada');
  });
});
