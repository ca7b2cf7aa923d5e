import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ToolCall } from '../../src/core/llm/model.js';
import { defineTool, type Tool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createRandom, type Random } from '../fakes/random.js';
import { ada, bob, createReader, type Reader } from './reader-fixture.js';

const HOUR_MS = 3_600_000;
const boss = { id: 'fake:boss', name: 'Boss' };

/** Tools that wait in every way there is; what people gave them is in `given`, what was written in `written`. */
function randomTools(random: Random, given: string[], written: string[]): readonly Tool[] {
  const reading = { parameters: z.object({}), idempotent: true, risk: 'read' as const };
  return [
    defineTool({
      ...{ name: 'write', description: 'Writes.', parameters: z.object({ key: z.string() }) },
      async execute({ key }) {
        written.push(key);
        if (random.below(10) === 0) throw new Error('broken');
        return `wrote ${key}`;
      },
    }),
    defineTool({ ...reading, name: 'look', description: 'Looks.', execute: async () => 'seen' }),
    defineTool({ ...reading, name: 'banned', description: 'Is denied.', execute: async () => 'never' }),
    defineTool({
      ...{ ...reading, name: 'order', description: 'Asks, perhaps twice, and perhaps fails then.' },
      execute: async () => ({
        ...{ content: 'Waiting.', suspend: 'interactive' as const },
        question: { text: 'Which?', options: [{ id: 'a', label: 'A' }] },
      }),
      async resume(_, answer, { resumeData }) {
        given.push(answer);
        if (random.below(5) === 0) throw new Error('no such thing');
        if (resumeData !== undefined || random.below(2) === 0) return `ordered ${answer}`;
        return { content: 'Waiting.', suspend: 'interactive', question: { text: 'And?' }, resumeData: { answer } };
      },
    }),
    defineTool({
      ...{ ...reading, name: 'held', description: 'Asks with the call open, and does not wait long.' },
      async execute(_, { ask }) {
        const answer = ask?.({ text: 'Now?', options: [{ id: 'yes', label: 'Y' }] }).then((one) => one.answer);
        const first = await Promise.race([answer, sleep(30, 'too late')]);
        if (first !== undefined && first !== 'too late') given.push(first);
        return `held ${first}`;
      },
    }),
  ];
}

/** A call of each kind; some ids come again, as with servers that number the calls of every reply from 0. */
function randomCall(random: Random, n: number): ToolCall {
  const id = random.below(3) === 0 ? `call_${n % 2}` : `c${n}`;
  const name = random.pick(['ask_agent', 'update_plan', 'write', 'write', 'look', 'banned', 'order', 'held', 'nosuch']);
  if (name === 'write') return call(id, name, JSON.stringify({ key: `k${n}` }));
  if (name === 'ask_agent') {
    const question = { reason: 'r', blockerType: 'ambiguous_goal', question: `Q${n}?` };
    return call(id, name, JSON.stringify({ ...question, options: ['red', 'green', 'blue'] }));
  }
  if (name !== 'update_plan') return call(id, name);
  const status = random.pick(['pending', 'done']);
  const step = { id: 's', title: 'S', description: 'd', acceptanceCriteria: ['c'], status };
  const plan = { task: 't', description: 'd', steps: [step] };
  return call(id, name, JSON.stringify({ updates: [{ action: 'set_plan', plan }] }));
}

interface Story {
  readonly reader: Reader;
  readonly said: readonly string[];
  readonly given: readonly string[];
  readonly written: readonly string[];
  /** One claim, or a part of one: in a third of the cases the process dies at some call of the store. */
  run(): Promise<void>;
  /** Something people do. */
  act(): Promise<void>;
}

function randomStory(server: PlatformServer, seed: number): Story {
  const random = createRandom(seed);
  const said: string[] = [];
  const given: string[] = [];
  const written: string[] = [];
  let calls = 0;
  let dead = false;
  let left = Infinity;
  const round = () => {
    const count = 1 + random.below(4);
    const made = Array.from({ length: count }, (_, at) => randomCall(random, calls + at));
    calls += count;
    return made.filter(({ id }, at) => made.findIndex((other) => other.id === id) === at);
  };
  const reader: Reader = createReader(server, {
    tools: randomTools(random, given, written),
    agent: {
      ...{ mode: random.pick(['plan', 'plan', 'tools']), maxIterations: 8, approvers: [boss.id] },
      ...{ askExpiresMs: 5 * HOUR_MS, approvalExpiresMs: 3 * HOUR_MS },
      permissions: { mode: 'ask', rules: [{ tool: 'banned', decision: 'deny' }] },
    },
    script({ tools }) {
      const meanwhile = async () => void (random.below(4) === 0 && (await say()));
      const kind = random.below(20);
      if (kind < 11 && tools) return { text: random.below(2) === 0 ? 'Hm.' : '', calls: round(), meanwhile };
      if (kind === 11) return { text: '', meanwhile };
      if (kind === 12) return { text: 'half', fail: new Error('broken model') };
      return { text: 'Answer.', meanwhile };
    },
    atStore() {
      left -= 1;
      dead ||= left < 0;
      if (dead) throw new Error('dead');
    },
  });

  async function say(): Promise<void> {
    const text = `t${said.length}.`;
    said.push(text);
    await reader.say(text, { as: random.pick([ada, ada, bob]), queue: random.below(10) === 0 });
  }

  return {
    ...{ reader, said, given, written },
    async run() {
      left = random.below(3) === 0 ? random.below(60) : Infinity;
      await reader.run().catch((error: unknown) => {
        if (!dead) throw error;
      });
      dead = false;
      left = Infinity;
    },
    async act() {
      const [first, ...others] = reader.buttons();
      const what = random.below(10);
      if (what < 5 && first !== undefined) {
        await reader.press(random.pick([first, ...others]), { as: random.pick([ada, ada, bob, boss]) });
      } else if (what < 7 || said.length === 0) await say();
      else if (what === 7) reader.advance(random.pick([HOUR_MS, 4 * HOUR_MS]));
      else if (what === 8) await reader.control('help');
    },
  };
}

describe('whatever people, tools and dying processes do to a run that waits', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  // The model refuses every chain in which a call and its result do not belong together: then an error is logged.
  it.each(seeds)('it ends, loses nothing and does nothing twice (%i)', { timeout: 30_000 }, async (seed) => {
    const { reader, said, given, written, run, act } = randomStory(server, seed);
    for (let i = 0; i < 12; i++) {
      await act();
      await run();
    }
    const rests = async () => !(await reader.store.summary(reader.key))?.busy && reader.state().turn === null;
    for (let i = 0; i < 40 && !(await rests()); i++) {
      reader.advance(6 * HOUR_MS);
      await run();
    }
    expect(await rests()).toBe(true);
    expect(reader.buttons()).toEqual([]);
    const { history } = reader.state();
    const seen = JSON.stringify([reader.model.requests.map(({ messages }) => messages), history, given]);
    expect(said.filter((text) => !seen.includes(text))).toEqual([]);
    // One text may deny several calls.
    const remembered = JSON.stringify(history).replace(/Denied: t\d+\./g, '');
    expect(said.filter((text) => remembered.split(text).length > 2)).toEqual([]);
    expect(written).toEqual([...new Set(written)]);
    const refused = reader.logger.lines.filter((line) => JSON.stringify(line, errorText).includes('strict vendor'));
    expect(refused).toEqual([]);
  });
});

function errorText(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}
