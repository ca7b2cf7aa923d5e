import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { bob, createReader, isSettled } from './reader-fixture.js';

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

/** Asks for a size, then for a colour, keeping the size in its resume data. */
const order = defineTool({
  ...{ name: 'order', description: 'Orders a shirt.', parameters: z.object({}), idempotent: true },
  async execute() {
    return { content: 'Waiting.', suspend: 'interactive', question: { text: 'Which size?', options: SIZES } };
  },
  async resume(_, answer, { resumeData }) {
    if (resumeData === undefined) {
      const question = { text: `Which colour for ${answer}?` };
      return { content: 'Waiting.', suspend: 'interactive', question, resumeData: { size: answer } };
    }
    return `ordered ${(resumeData as { size: string }).size} in ${answer}`;
  },
});
const SIZES = [
  { id: 'size.s', label: 'Small' },
  { id: 'size.l', label: 'Large' },
];

/** Asks while its call stays open, as servers of the older protocol do. */
const confirm = defineTool({
  ...{ name: 'confirm', description: 'Asks.', parameters: z.object({}), idempotent: true },
  async execute(_, { ask }) {
    const given = await ask?.({ text: 'Really?', options: [{ id: 'yes', label: 'Yes' }] });
    return `answer: ${given?.answer ?? 'none'}`;
  },
});

describe('a tool that suspends for a person', () => {
  it('goes on with the option pressed, asks again, and takes a text; both calls of the round are kept', async () => {
    const reader = createReader(server, {
      tools: [order],
      script: [{ calls: [call('o1', 'order'), call('o2', 'order')] }, { text: 'Ordered.' }],
    });
    await reader.say('shirts');
    await reader.run();
    expect(reader.buttons()).toEqual(['1: Small', '1: Large', '2: Small', '2: Large']);
    await reader.press('1: Large');
    await reader.press('2: Small');
    await reader.run();
    expect(reader.phases().at(-1)).toBe('waiting');
    await reader.say('blue');
    await reader.run();
    await reader.say('red');
    await reader.run();
    const results = (reader.model.requests[1]?.messages ?? []).flatMap((m) => (m.role === 'tool' ? [m.content] : []));
    expect(results).toEqual(['ordered size.l in blue', 'ordered size.s in red']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('is allowed nothing by an answer that reads like one of an approval', async () => {
    const done: string[] = [];
    const pick = defineTool({
      ...{ name: 'pick', description: 'Picks.', parameters: z.object({}) },
      async execute() {
        const question = { text: 'How often?', options: [{ id: 'always', label: 'Every time' }] };
        return { content: 'Waiting.', suspend: 'interactive', question };
      },
      async resume(_, answer) {
        done.push(answer);
        return 'picked';
      },
    });
    const reader = createReader(server, {
      ...{ tools: [pick], script: [{ calls: [call('p', 'pick')] }, { text: 'Done.' }] },
      agent: { permissions: { mode: 'ask', rules: [] } },
    });
    await reader.say('pick');
    await reader.run();
    await reader.press('Once');
    await reader.run();
    await reader.press('Every time');
    await reader.run();
    expect(done).toEqual(['always']);
    expect(reader.state().grants).toEqual([]);
  });
});

describe('a tool that asks while its call stays open', () => {
  const asking = () =>
    createReader(server, {
      tools: [confirm],
      script: ({ messages }) =>
        messages.at(-1)?.role === 'tool' ? { text: 'Done.' } : { calls: [call('c', 'confirm')] },
    });

  it.each(['a press', 'a text'])('gets %s, and the card shows it', async (way) => {
    const reader = asking();
    await reader.say('go');
    const run = reader.run();
    await reader.until(() => reader.buttons().length === 1);
    if (way === 'a press') await reader.press('Yes');
    else await reader.say('well, yes');
    await run;
    const answer = way === 'a press' ? 'yes' : 'well, yes';
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ content: `answer: ${answer}` });
    expect(reader.shown().join('\n')).toMatch(way === 'a press' ? /Ada: Yes/ : /Ada: well, yes/);
    expect(reader.buttons()).toEqual([]);
  });

  it('is not answered by others, and a stop closes its card', async () => {
    const reader = asking();
    await reader.say('go');
    const run = reader.run();
    await reader.until(() => reader.buttons().length === 1);
    expect(await reader.press('Yes', { as: bob })).toBe('foreign');
    await reader.control('stop');
    await run;
    expect(reader.buttons()).toEqual([]);
    expect(reader.phases().at(-1)).toBe('stopped');
    expect(await isSettled(reader)).toBe(true);
  });

  it('is closed by the next holder when its process dies', async () => {
    const reader = asking();
    await reader.say('go');
    const shutdown = new AbortController();
    const run = reader.run(shutdown.signal);
    await reader.until(() => reader.buttons().length === 1);
    shutdown.abort('shutdown');
    await run;
    const again = reader.run();
    await reader.until(() => reader.shown().some((text) => text.includes('Cancelled')));
    // The tool may be repeated, so it asks anew.
    await reader.until(() => reader.buttons().length === 1);
    await reader.press('Yes');
    await again;
    expect(reader.model.requests.at(-1)?.messages.at(-1)).toMatchObject({ content: 'answer: yes' });
  });
});
