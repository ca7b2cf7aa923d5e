import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { STEERING_PREFIX } from '../../src/core/agent/steering.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call, type Script, transcriptFaults } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { atEachStep, naming, settle } from './each-step.js';
import { asked, createReader, isSettled, type Reader, type ReaderOptions } from './reader-fixture.js';

/*
 * Races between people, the reader and its successors, and where each is tested. "At any step" is a sweep: the scene is
 * played once for every call of the store the reader makes, with something happening just before or after that call.
 * | D1 a text finds the run or starts one, never neither | here, at any step                                            |
 * | D2 a text during the last answer; at the cap         | steering-rows: is answered in a new message …; the cap: here |
 * | D3 a steer taken in survives its process, once       | here, at any step, killed or shut down                       |
 * | D4 merged, authors, 20 texts                         | steering-rows; 8,000 characters: test/core/agent/steering;   |
 * |                                                      | delivered twice by the platform: here                        |
 * | D5 stop first of all, drops what came before it      | stops.test; at any step: here                                |
 * | D9 waiting is data: resumed once, in any process     | ask-take-over.test; approvals: races-waiting, at any step    |
 * | D10 a text while something waits                     | ask.test, approvals.test; text against press: races-waiting  |
 */

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true, risk: 'read' },
  execute: async () => 'seen',
});

/** Calls a tool once, then says what the last text of a person was. */
const echo: Script = ({ messages }) => {
  const text = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  if (!messages.some(({ role }) => role === 'tool')) return { calls: [call('c1')] };
  return { text: `answer to ${text.replace(`${STEERING_PREFIX}\n`, '')}` };
};

/** A reader that does something once, at its nth call of the store; `steps` are the calls it made. */
function acting(at: number, act: (reader: Reader) => Promise<unknown>, options: ReaderOptions = {}) {
  const steps: string[] = [];
  const reader: Reader = createReader(server, {
    tools: [look],
    script: echo,
    ...options,
    async atStore(step) {
      steps.push(step);
      if (steps.length === at) await act(reader);
    },
  });
  return { reader, steps };
}

const userTexts = (reader: Reader) => reader.state().history.flatMap((m) => (m.role === 'user' ? [m.content] : []));

describe('a text that comes at any step of a run', () => {
  it('steers it or starts the next turn, and is answered exactly once', async () => {
    const seen = new Set<string>();
    const count = await atEachStep(async (at) => {
      const { reader, steps } = acting(at, (r) => r.say('and this?'));
      await reader.say('Go');
      await reader.run();
      await settle(reader);
      const texts = userTexts(reader);
      const what = `${at}: ${steps[at - 1]}`;
      expect(naming(texts, 'and this?'), what).toHaveLength(at === 0 ? 0 : 1);
      expect(reader.state().history.at(-1), what).toMatchObject({
        ...{ role: 'assistant', content: at === 0 ? 'answer to Go' : 'answer to and this?' },
      });
      expect(reader.shown().at(-1), what).toBe(at === 0 ? 'answer to Go' : 'answer to and this?');
      expect(transcriptFaults(reader.state().history)).toEqual([]);
      expect(await isSettled(reader), what).toBe(true);
      if (at > 0) seen.add(naming(texts, STEERING_PREFIX).length > 0 ? 'steered' : 'next turn');
      return { steps };
    });
    expect(count).toBeGreaterThan(20);
    expect([...seen].sort()).toEqual(['next turn', 'steered']);
  });

  it('is taken once when the platform delivers it twice', async () => {
    await atEachStep(async (at) => {
      const { reader, steps } = acting(at, async (r) => {
        const item = { ...r.base(), kind: 'message', text: 'and this?' } as const;
        const results = [await r.store.accept(r.key, item), await r.store.accept(r.key, item)];
        expect(results.map(({ result }) => result)).toEqual(['accepted', 'duplicate']);
      });
      await reader.say('Go');
      await reader.run();
      await settle(reader);
      expect(naming(userTexts(reader), 'and this?')).toHaveLength(at === 0 ? 0 : 1);
      return { steps };
    });
  });
});

describe('texts that come during an answer at the cap', () => {
  it('start one turn together, in their order', async () => {
    const reader: Reader = createReader(server, {
      agent: { maxIterations: 1 },
      script: [
        {
          text: 'As far as I got.',
          meanwhile: async () => {
            await reader.say('one');
            await reader.say('two');
          },
        },
        { text: 'Both.' },
      ],
    });
    await reader.say('Go');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['Go', 'one', `${STEERING_PREFIX}\ntwo`]);
    expect(reader.shown()).toEqual(['As far as I got.', 'Both.']);
    expect(reader.model.requests).toHaveLength(2);
  });
});

describe('a steer whose process is lost at any step', () => {
  it.each(['killed', 'shut down'] as const)('reaches the model once in the end: %s', async (how) => {
    const count = await atEachStep(async (at) => {
      let steered = false;
      const shutdown = new AbortController();
      const slow = defineTool({
        ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true, risk: 'read' },
        async execute() {
          if (!steered) await reader.say('and this?');
          steered = true;
          return 'seen';
        },
      });
      const lose = async (r: Reader) => {
        if (how === 'killed') await r.store.claim(r.key);
        else shutdown.abort('shutdown');
      };
      const { reader, steps } = acting(at, lose, { tools: [slow] });
      await reader.say('Go');
      await reader.run(shutdown.signal);
      await settle(reader);
      expect(naming(userTexts(reader), 'and this?'), `${at}: ${steps[at - 1]}`).toHaveLength(1);
      expect(reader.shown(), `${at}: ${steps[at - 1]}`).toEqual(['answer to and this?']);
      expect(await isSettled(reader)).toBe(true);
      return { steps };
    });
    expect(count).toBeGreaterThan(20);
  });
});

describe('a stop at any step of a run', () => {
  it('drops what was sent before it, and what comes after it is a turn of its own', async () => {
    const endings = new Set<string>();
    await atEachStep(async (at) => {
      const { reader, steps } = acting(at, async (r) => {
        await r.say('before');
        await r.control('stop');
        await r.say('after');
      });
      await reader.say('Go');
      await reader.run();
      await settle(reader);
      if (at === 0) return { steps };
      const what = `${at}: ${steps[at - 1]}`;
      const texts = reader.model.requests.flatMap((_, index) => asked(reader, index));
      expect(naming(texts, 'before'), what).toEqual([]);
      expect(naming(userTexts(reader), 'after'), what).toEqual(['after']);
      expect(reader.shown().at(-1), what).toBe('answer to after');
      expect(transcriptFaults(reader.state().history), what).toEqual([]);
      expect(await isSettled(reader), what).toBe(true);
      // Nothing of the stopped run is written after its end.
      const own = reader.entries().filter(({ slot }) => slot === 'a1');
      const ending = own.at(-1)?.state ?? 'never begun';
      if (ending === 'stopped') expect(reader.shown()[0], what).toMatch(/Stopped\. One message/);
      else expect(reader.shown().join('\n'), what).toMatch(/Stopped\. (One message|2 waiting messages)/);
      endings.add(ending);
      return { steps };
    });
    // A stop after the answer was committed changes nothing about it; one before the turn began drops its text too.
    expect([...endings].sort()).toEqual(['final', 'stopped']);
  });
});
