import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { STEERING_PREFIX } from '../../src/core/agent/steering.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call, transcriptFaults } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { atEachStep, naming, settle } from './each-step.js';
import { ada, asked, createReader, isSettled, type Reader, type ReaderOptions } from './reader-fixture.js';

/* D9 and D10 of the table in races.test.ts: what waits for a person, and everything that may come at once. */

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

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
