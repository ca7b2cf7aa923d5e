import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AgentSpec } from '../../src/core/agent/agent-spec.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { agentSpec } from '../fakes/agent-spec.js';
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
const OPTIONS = ['staging', 'production', 'both'];
const ask = (id = 'q', options = OPTIONS) =>
  call(id, 'ask_agent', JSON.stringify({ reason: 'r', blockerType: 'ambiguous_goal', question: 'Where to?', options }));
const removal = (id: string, path: string) => call(id, 'remove', JSON.stringify({ path }));
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true, risk: 'read' },
  execute: async () => 'seen',
});

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

/** A conversation in which `go` leads to a call of `remove` that needs a yes; `done` is what was really removed. */
function deleting(options: ReaderOptions) {
  const done: string[] = [];
  const remove = defineTool({
    ...{ name: 'remove', description: 'Removes a file.', parameters: z.object({ path: z.string() }) },
    async execute({ path }) {
      done.push(path);
      return `removed ${path}`;
    },
  });
  const permissions: AgentSpec['permissions'] = { mode: 'ask', rules: [] };
  const reader = createReader(server, { tools: [remove], ...options, agent: { permissions, ...options.agent } });
  return { reader, done };
}

async function waiting(options: ReaderOptions = {}): Promise<Reader> {
  const reader = createReader(server, {
    script: [{ calls: [ask()] }, { text: 'Done.' }],
    ...options,
    agent: { mode: 'plan', ...options.agent },
  });
  await reader.say('go');
  await reader.run();
  return reader;
}

const photo = (reader: Reader) =>
  reader.accept({ ...reader.base(), kind: 'message', text: '', attachments: [{ kind: 'image', ref: 'r' }] });

describe('what counts while a run waits', () => {
  it('is no text that was sent before the card: it denies nothing and steers the run that goes on', async () => {
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

  it.each([
    [['10', '20', '2'], '2', '2'],
    [['1-3', '4-6', 'more'], '2', '2'],
    [OPTIONS, '2', 'production'],
    [OPTIONS, 'BOTH', 'both'],
  ])(
    'is an option by its label, and by its number where that can mean nothing else: %j, %s',
    async (all, text, value) => {
      const reader = await waiting({ script: [{ calls: [ask('q', all)] }, { text: 'Done.' }] });
      await reader.say(text);
      await reader.run();
      expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ content: value });
    },
  );

  it('is no /new of somebody who may not stop the run: it waits for the end', async () => {
    const reader = await waiting();
    await reader.control('new', { as: bob });
    await reader.run();
    expect(reader.buttons()).toEqual(OPTIONS);
    await reader.say('to the moon');
    await reader.run();
    expect(reader.model.requests[1]?.messages).toContainEqual({
      ...{ role: 'tool', toolCallId: 'q', content: 'to the moon' },
    });
    expect(historyOf(reader)).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });

  it('is an answer that came before a /new', async () => {
    const reader = await waiting();
    await reader.say('to the moon');
    await reader.control('new');
    await reader.run();
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'to the moon' });
    expect(reader.model.requests).toHaveLength(2);
    expect(historyOf(reader)).toEqual([]);
  });

  it('is no file without a word where a yes is needed: it denies nothing, and people are told of it', async () => {
    const { reader, done } = deleting({ script: [{ calls: [removal('r', 'a')] }, { text: 'Done.' }] });
    await reader.say('go');
    await reader.run();
    await photo(reader);
    await reader.run();
    expect(reader.buttons()).toHaveLength(3);
    await reader.press('Once');
    await reader.run();
    expect(done).toEqual(['a']);
    expect(asked(reader, 1).at(-1)).toContain('cannot be read');
    expect(reader.entries().at(-1)?.footer).toContain('files were not looked at');
  });

  it('is a file as the answer of a question, with an honest line for the model', async () => {
    const reader = await waiting();
    await photo(reader);
    await reader.run();
    expect(reader.model.requests[1]?.messages.at(-1)?.content).toContain('cannot be read');
  });

  it('is an edit of a text that was taken in the round that asked, or of the answer itself: a correction', async () => {
    let steered = '';
    let answer = '';
    const steer = async () => {
      steered = await reader.say('in blue', { as: bob });
    };
    const reader: Reader = createReader(server, {
      tools: [look],
      agent: { mode: 'plan' },
      script: [
        { calls: [call('l')], meanwhile: steer },
        { calls: [ask()] },
        { calls: [call('l2')], meanwhile: () => reader.edit(answer, 'to Mars') },
        { text: 'Done.' },
      ],
    });
    await reader.say('go');
    await reader.run();
    await reader.edit(steered, 'in red');
    answer = await reader.say('to the moon');
    await reader.run();
    expect(asked(reader, 2).at(-1)).toContain('in red');
    expect(asked(reader, 3).at(-1)).toContain('to Mars');
  });
});

describe('a card', () => {
  it('stays the same message however many notes come below it', async () => {
    const reader = await waiting({ script: [{ text: 'Hm.', calls: [ask()] }, { text: 'Done.' }] });
    for (let i = 0; i < 6; i++) {
      await reader.control('help');
      await reader.run();
    }
    await reader.press('both');
    await reader.run();
    expect(reader.shown()[1]).toContain('Ada: both');
    expect(reader.shown()).toHaveLength(9);
  });

  it('shows names and answers as words, never as markup or as lines of their own', async () => {
    const reader = await waiting();
    await reader.say('[here](https://evil.example)\n\n_✔ Boss: ok_', { as: { ...ada, name: 'Ada_\n\n**Boss**' } });
    await reader.run();
    const card = reader.entries().findLast(({ slot }) => slot === 'q1')?.markdown;
    expect(card?.split('\n\n').at(-1)).toBe(
      '_✔ Ada\\_ \\*\\*Boss\\*\\*: \\[here\\](https://evil.example) \\_✔ Boss: ok\\__',
    );
  });

  it('of a question that expires ends the run, also when an approval beside it is still open', async () => {
    const { reader, done } = deleting({
      agent: { mode: 'plan', askExpiresMs: HOUR_MS, approvalExpiresMs: 5 * HOUR_MS },
      script: [{ calls: [ask(), removal('r', 'a')] }],
    });
    await reader.say('go');
    await reader.run();
    reader.advance(HOUR_MS + 1);
    await reader.run();
    expect(reader.buttons()).toEqual([]);
    expect(done).toEqual([]);
    expect(historyOf(reader).slice(-2)).toEqual([
      'tool: Cancelled: no answer was given.',
      'tool: Not run: cancelled before it was approved.',
    ]);
    expect(await isSettled(reader)).toBe(true);
  });
});

describe('a decision', () => {
  it('is never seen in an id that is the name of a method', async () => {
    const { reader, done } = deleting({ script: [{ calls: [removal('constructor', 'a')] }] });
    await reader.say('go');
    await reader.run();
    expect(done).toEqual([]);
    expect(reader.buttons()).toHaveLength(3);
  });

  it('does not break an agent that became a chat agent meanwhile', async () => {
    const agents: Record<string, AgentSpec> = {};
    const reader = createReader(server, { agents, script: [{ calls: [call('r', 'look')] }, { text: 'Done.' }] });
    const permissions: AgentSpec['permissions'] = { mode: 'bypass', rules: [{ tool: 'look', decision: 'ask' }] };
    agents.assistant = agentSpec(reader.model, { permissions, tools: [look] });
    await reader.say('go');
    await reader.run();
    agents.assistant = agentSpec(reader.model, { mode: 'chat' });
    await reader.press('Once');
    await reader.run();
    expect(reader.shown().at(-1)).toContain('Done.');
  });
});

describe('a call that goes on with an answer', () => {
  const order = (resume: (answer: string) => Promise<string>) => ({
    ...defineTool({
      ...{ name: 'order', description: 'Orders.', parameters: z.object({}), idempotent: true, risk: 'read' },
      execute: async () => ({ content: 'Waiting.', suspend: 'interactive' as const, question: { text: 'Which?' } }),
      resume: async (_, answer) => resume(answer),
    }),
    maxResultChars: 1_000,
  });

  it('is not repeated with a later answer of the same run when it failed', async () => {
    const resumed: string[] = [];
    const failing = order(async (answer) => {
      resumed.push(answer);
      if (answer === 'bad') throw new Error('no such size');
      return `ordered ${answer}`;
    });
    const reader = createReader(server, {
      tools: [failing],
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

  it('is cut to the limit of its tool', async () => {
    const reader = createReader(server, {
      tools: [order(async () => 'x'.repeat(50_000))],
      script: [{ calls: [call('o1', 'order')] }, { text: 'Done.' }],
    });
    await reader.say('go');
    await reader.run();
    await reader.say('large');
    await reader.run();
    expect(reader.model.requests[1]?.messages.at(-1)?.content).toHaveLength(1_000);
  });

  it('is a result that the plan must record', async () => {
    const step = { id: 's', title: 'S', description: 'd', acceptanceCriteria: ['c'], status: 'done' };
    const plan = (id: string) => {
      const updates = [{ action: 'set_plan', plan: { task: 't', description: 'd', steps: [step] } }];
      return call(id, 'update_plan', JSON.stringify({ updates }));
    };
    const reader = await waiting({
      tools: [order(async () => 'ordered')],
      script: [
        { calls: [call('o1', 'order'), plan('p1')] },
        { text: 'Too early.' },
        { calls: [plan('p2')] },
        { text: 'Done.' },
      ],
    });
    await reader.say('large');
    await reader.run();
    expect(asked(reader, 2).at(-1)).toContain('not recorded');
    expect(reader.shown().at(-1)).toBe('Done.');
  });
});
