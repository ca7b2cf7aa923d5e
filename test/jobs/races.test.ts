import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { STEERING_PREFIX } from '../../src/core/agent/steering.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call, type Script, transcriptFaults } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { ada, asked, createReader, isSettled, type Reader, type ReaderOptions } from './reader-fixture.js';

/*
 * Races between people, the reader and its successors, and where each is tested. "At any step" is a sweep: the scene is
 * played once for every call of the store the reader makes, with something happening just before or after that call.
 * | D1 a text finds the run or starts one, never neither | here, at any step                                            |
 * | D2 a text during the last answer; at the cap         | steering-rows: is answered in a new message …; the cap: here |
 * | D3 a steer taken in survives its process, once       | here, at any step, killed or shut down                       |
 * | D4 merged, authors, 20 texts                         | steering-rows; 8,000 characters: test/core/agent/steering;   |
 * |                                                      | delivered twice by the platform: here                        |
 * | D5 stop first of all, drops what came before it      | stops.test; at any step: here                                |
 * | D9 waiting is data: resumed once, in any process     | ask-take-over.test; approvals: here, at any step             |
 * | D10 a text while something waits                     | ask.test, approvals.test; text against press: here           |
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

/** Plays a scene for each step there is; gives how many there were. */
async function atEachStep(scene: (at: number) => Promise<{ steps: readonly string[] }>): Promise<number> {
  const { steps } = await scene(0);
  const points = Array.from({ length: steps.length }, (_, index) => index + 1);
  const lanes = Array.from({ length: 6 }, async () => {
    for (let at = points.shift(); at !== undefined; at = points.shift()) await scene(at);
  });
  await Promise.all(lanes);
  return steps.length;
}

/** Wakes the reader up as long as there is something to do, as queue and sweeper would. */
async function settle(reader: Reader): Promise<void> {
  for (let claims = 0; claims < 5 && (await reader.store.summary(reader.key))?.busy; claims += 1) await reader.run();
}

const userTexts = (reader: Reader) => reader.state().history.flatMap((m) => (m.role === 'user' ? [m.content] : []));
const naming = (texts: readonly string[], word: string) => texts.filter((text) => text.includes(word));

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

const removal = call('r1', 'remove', '{"path":"a.txt"}');

/** A reader whose model wants to remove a file, which needs approval; `done` is what was really removed. */
function removing(options: Pick<ReaderOptions, 'atStore'> = {}) {
  const done: string[] = [];
  const remove = defineTool({
    ...{ name: 'remove', description: 'Removes a file.', parameters: z.object({ path: z.string() }) },
    async execute({ path }) {
      done.push(path);
      return `removed ${path}`;
    },
  });
  const reader = createReader(server, {
    tools: [remove],
    script: ({ messages }) => (messages.at(-1)?.role === 'tool' ? { text: 'Done.' } : { calls: [removal] }),
    agent: { permissions: { mode: 'ask', rules: [] } },
    ...options,
  });
  return { reader, done };
}

describe('an approval', () => {
  it('runs its call once although the process is lost at any step behind the press', async () => {
    const count = await atEachStep(async (at) => {
      const steps: string[] = [];
      let resumed = false;
      const { reader, done } = removing({
        async atStore(step) {
          if (resumed && steps.push(step) === at) await reader.store.claim(reader.key);
        },
      });
      await reader.say('clean up');
      await reader.run();
      await reader.press('Once');
      resumed = true;
      await reader.run();
      await settle(reader);
      expect(done, `${at}: ${steps[at - 1]}`).toEqual(['a.txt']);
      expect(reader.shown().at(-1)).toBe('Done.');
      expect(reader.buttons()).toEqual([]);
      return { steps };
    });
    expect(count).toBeGreaterThan(20);
  });

  it('that was pressed in time counts although it is read after its expiry', async () => {
    const { reader, done } = removing();
    await reader.say('clean up');
    await reader.run();
    expect(await reader.press('Once')).toBe('accepted');
    reader.advance(25 * 3_600_000);
    await reader.run();
    expect(done).toEqual(['a.txt']);
  });

  it('is dropped by a stop that comes behind it before anybody looked', async () => {
    const { reader, done } = removing();
    await reader.say('clean up');
    await reader.run();
    expect(await reader.press('Once')).toBe('accepted');
    await reader.control('stop');
    await reader.run();
    expect(done).toEqual([]);
    expect(reader.phases().at(-1)).toBe('stopped');
    expect(transcriptFaults(reader.state().history)).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });
});

describe('text against press on one question', () => {
  const options = ['staging', 'production', 'both'];
  const question = { reason: 'It matters.', blockerType: 'ambiguous_goal', question: 'Where to?', options };
  const asking = (over: Pick<ReaderOptions, 'atStore'> = {}) =>
    createReader(server, {
      agent: { mode: 'plan' },
      script: ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? { text: 'Deployed.' }
          : { calls: [call('q1', 'ask_agent', JSON.stringify(question))] },
      ...over,
    });
  const answers = (reader: Reader) => reader.state().history.flatMap((m) => (m.role === 'tool' ? [m.content] : []));

  it('a press that was accepted is the answer, also when a text was sent before it: the text steers', async () => {
    for (const first of ['text', 'press'] as const) {
      const reader = asking();
      await reader.say('deploy');
      await reader.run();
      if (first === 'text') await reader.say('somewhere else');
      expect(await reader.press('production')).toBe('accepted');
      if (first === 'press') await reader.say('somewhere else');
      await reader.run();
      expect(answers(reader)).toEqual(['production']);
      expect(asked(reader, 1)).toEqual(['deploy', `${STEERING_PREFIX}\nsomewhere else`]);
      expect(await isSettled(reader)).toBe(true);
    }
  });

  it('a press at any step while a text is taken: what the person was told holds, and nothing is lost', async () => {
    const told = new Set<string>();
    await atEachStep(async (at) => {
      const steps: string[] = [];
      let pressed = 'never';
      let taking = false;
      const reader: Reader = asking({
        async atStore(step) {
          if (!taking || steps.push(step) !== at) return;
          pressed = reader.buttons().length > 0 ? await reader.press('production') : 'no button';
        },
      });
      await reader.say('deploy');
      await reader.run();
      await reader.say('somewhere else');
      taking = true;
      await reader.run();
      await settle(reader);
      told.add(pressed);
      const texts = reader.model.requests.flatMap((_, index) => asked(reader, index));
      const what = `${at}: ${steps[at - 1]} ${pressed}`;
      expect(answers(reader), what).toEqual([pressed === 'accepted' ? 'production' : 'somewhere else']);
      expect(new Set(naming(texts, 'somewhere else')).size, what).toBe(pressed === 'accepted' ? 1 : 0);
      expect(reader.shown().at(-1), what).toBe('Deployed.');
      expect(await isSettled(reader), what).toBe(true);
      return { steps };
    });
    expect(told).toContain('accepted');
    expect(told).toContain('no button');
  });

  it.each(['a press', 'a text'] as const)(
    '%s at any step while the question is asked is never overlooked',
    async (way) => {
      let given = 0;
      await atEachStep(async (at) => {
        const steps: string[] = [];
        let told = 'never';
        const reader: Reader = asking({
          async atStore(step) {
            if (steps.push(step) !== at || reader.buttons().length === 0) return;
            if (way === 'a press') told = await reader.press('production');
            else {
              await reader.say('production');
              told = 'accepted';
            }
          },
        });
        await reader.say('deploy');
        await reader.run();
        await settle(reader);
        if (told === 'accepted') {
          given += 1;
          expect(answers(reader), `${at}: ${steps[at - 1]}`).toEqual(['production']);
          expect(reader.shown().at(-1)).toBe('Deployed.');
          expect(await isSettled(reader)).toBe(true);
        } else expect(reader.phases().at(-1)).toBe('waiting');
        return { steps };
      });
      expect(given).toBeGreaterThan(4);
    },
  );

  it('a text that was on its way before the question was asked is no answer to it: it steers', async () => {
    let calls = 0;
    const reader: Reader = createReader(server, {
      agent: { mode: 'plan' },
      script: ({ messages }) => {
        calls += 1;
        if (messages.some(({ role }) => role === 'tool')) return { text: 'Deployed.' };
        return {
          calls: [call('q1', 'ask_agent', JSON.stringify(question))],
          meanwhile: async () => void (calls === 1 && (await reader.say('in French please'))),
        };
      },
    });
    await reader.say('deploy');
    await reader.run();
    expect(reader.phases().at(-1)).toBe('waiting');
    expect(reader.buttons()).toEqual(options);
    await reader.press('both', { as: ada });
    await reader.run();
    expect(answers(reader)).toEqual(['both']);
    expect(asked(reader, 1)).toEqual(['deploy', `${STEERING_PREFIX}\nin French please`]);
  });
});
