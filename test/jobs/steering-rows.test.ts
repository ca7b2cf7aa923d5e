import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { STEERING_PREFIX } from '../../src/core/agent/steering.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call, type Script } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { asked, bob, createReader, historyOf, isSettled, type Reader, type ReaderOptions } from './reader-fixture.js';

const steer = (...lines: string[]) => [STEERING_PREFIX, ...lines].join('\n');

describe('what people write while a run is active', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  /** A run with one tool call, during which `during` happens. */
  function withTool(during: (reader: Reader) => Promise<unknown>, script: Script, options: ReaderOptions = {}): Reader {
    let calls = 0;
    const look = defineTool({
      ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true },
      execute: async () => {
        calls += 1;
        if (calls === 1) await during(reader);
        return 'seen';
      },
    });
    const reader = createReader(server, { tools: [look], script, ...options });
    return reader;
  }

  it('steers it at the next round and is acknowledged', async () => {
    let steered = '';
    const reader = withTool(
      async (r) => {
        steered = await r.say('shorter, please');
      },
      [{ calls: [call('c1')] }, { text: 'Short.' }],
    );
    await reader.say('Write');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['Write', steer('shorter, please')]);
    expect(reader.marks).toEqual([{ messageId: steered, mark: 'seen' }]);
    expect(reader.shown()).toEqual(['Short.']);
    expect(reader.phases()).toEqual(['running', 'finished']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('waits for the end of the run where the agent queues', async () => {
    const reader = withTool((r) => r.say('next'), [{ calls: [call('c1')] }, { text: 'One.' }, { text: 'Two.' }], {
      agent: { steering: 'queue' },
    });
    await reader.say('first');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['first']);
    expect(asked(reader, 2)).toEqual(['first', 'next']);
    expect(reader.shown()).toEqual(['One.', 'Two.']);
  });

  it('waits when it was sent with the queue: prefix, and is marked as queued', async () => {
    let queued = '';
    const reader = withTool(
      async (r) => {
        queued = await r.say('later', { queue: true });
        await r.say('now');
        await r.until(() => r.marks.some((m) => m.mark === 'queued'), 'a mark for the queued text');
      },
      [{ calls: [call('c1')] }, { text: 'One.' }, { text: 'Two.' }],
    );
    await reader.say('first');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['first', steer('now')]);
    expect(asked(reader, 2).at(-1)).toBe('later');
    expect(reader.marks.filter((m) => m.mark === 'queued')).toEqual([{ messageId: queued, mark: 'queued' }]);
    expect(reader.shown()).toEqual(['One.', 'Two.']);
  });

  it('is the next turn in mode chat', async () => {
    const reader: Reader = createReader(server, {
      agent: { mode: 'chat' },
      script: [{ text: 'One.', meanwhile: async () => void (await reader.say('next')) }, { text: 'Two.' }],
    });
    await reader.say('first');
    await reader.run();
    expect(reader.model.requests).toHaveLength(2);
    expect(asked(reader, 1)).toEqual(['first', 'next']);
    expect(reader.shown()).toEqual(['One.', 'Two.']);
  });

  it('is answered in a new message, below, when it comes during the last answer', async () => {
    const second = 'The second answer, long enough to be shown while it is written';
    const reader: Reader = createReader(server, {
      agent: { showReasoning: true },
      adapter: (base) => ({
        render: (body) =>
          base.render(body.reasoning ? { ...body, markdown: `(${body.reasoning}) ${body.markdown}` } : body),
      }),
      script: [
        { reasoning: 'why one', text: 'One.', meanwhile: async () => void (await reader.say('and two?')) },
        {
          ...{ reasoning: 'why two', text: second },
          meanwhile: () => reader.until(() => reader.shown().some((text) => text.includes(second))),
        },
      ],
    });
    await reader.say('first');
    await reader.run();
    expect(reader.shown()).toEqual(['(why one) One.', `(why two) ${second}`]);
    expect(reader.entries().map((e) => [e.slot, e.state])).toEqual([
      ['a1', 'final'],
      ['a2', 'final'],
    ]);
    expect(historyOf(reader)).toEqual([
      'user: first',
      'assistant: One.',
      `user: ${steer('and two?')}`,
      `assistant: ${second}`,
    ]);
  });

  it('keeps a closed answer as it is although an earlier edit of it was slow', async () => {
    const intro = 'The first answer, of which this part is shown early.';
    const edits: string[] = [];
    const reader: Reader = withTool(
      () => reader.until(() => edits.length === 1, 'an edit with the status of the tool'),
      [
        { text: intro, calls: [call('c1')], meanwhile: () => reader.until(() => reader.shown()[0] === intro) },
        { text: 'The rest.', meanwhile: async () => void (await reader.say('more')) },
        { text: 'Second.' },
      ],
      {
        adapter: (base) => ({
          async edit(place, id, rendered) {
            edits.push(rendered.payload);
            // Overtaken by the final text if that does not wait for it.
            if (edits.length === 1) await Promise.race([reader.until(() => edits.length > 1), sleep(200)]);
            if (edits.length > 1 && rendered.payload === edits[0]) await sleep(50);
            await base.edit(place, id, rendered);
          },
        }),
      },
    );
    await reader.say('first');
    await reader.run();
    expect(edits[0]).toContain('Using look');
    expect(reader.shown()).toEqual([`${intro}\n\nThe rest.`, 'Second.']);
  });

  it('does not carry a notice about one answer over to the next', async () => {
    const reader: Reader = createReader(server, {
      script: [
        { text: 'Cut', finishReason: 'length', meanwhile: async () => void (await reader.say('more')) },
        { text: 'Whole.' },
      ],
    });
    await reader.say('first');
    await reader.run();
    expect(reader.shown()[0]).toContain('it reached the length limit');
    expect(reader.shown()[1]).toBe('Whole.');
  });

  it('shows no text of an answer that a steer closed where only its end is shown', async () => {
    const reader: Reader = createReader(server, {
      agent: { showAnswer: false },
      script: [{ text: 'secret', meanwhile: async () => void (await reader.say('more')) }, { text: 'secret' }],
    });
    await reader.say('first');
    await reader.run();
    expect(reader.shown().length).toBeGreaterThan(0);
    expect(reader.shown().join()).not.toContain('secret');
  });

  it('names the authors once several people write', async () => {
    const reader = withTool(
      async (r) => {
        await r.say('mine');
        await r.say('his', { as: bob });
      },
      [{ calls: [call('c1')] }, { text: 'Both.' }],
    );
    await reader.say('first');
    await reader.run();
    expect(asked(reader, 1).at(-1)).toBe(steer('Ada: mine', 'Bob: his'));
  });

  it('goes on naming them in later rounds', async () => {
    const reader: Reader = withTool(
      (r) => r.say('his', { as: bob }),
      (_request, index) =>
        index === 0
          ? { calls: [call('c1')] }
          : index === 1
            ? { calls: [call('c2')], meanwhile: async () => void (await reader.say('mine')) }
            : { text: 'Both.' },
    );
    await reader.say('first');
    await reader.run();
    expect(asked(reader, 2)).toEqual(['first', steer('Bob: his'), steer('Ada: mine')]);
  });

  it('takes at most 20 texts at once; the rest waits for the next round and none is lost', async () => {
    const lines = Array.from({ length: 23 }, (_, i) => `steer ${i + 1}`);
    const reader = withTool(
      async (r) => {
        for (const line of lines) await r.say(line);
      },
      [{ calls: [call('c1')] }, { calls: [call('c2')] }, { text: 'All.' }],
    );
    await reader.say('first');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['first', steer(...lines.slice(0, 20))]);
    expect(asked(reader, 2)).toEqual(['first', steer(...lines.slice(0, 20)), steer(...lines.slice(20))]);
    expect(await isSettled(reader)).toBe(true);
  });

  it('is replaced or taken back by edits and deletions as long as it waits', async () => {
    const reader = createReader(server, { script: [{ text: 'One.' }, { text: 'Two.' }], agent: { steering: 'queue' } });
    const first = await reader.say('frist');
    const second = await reader.say('never mind');
    await reader.say('second');
    await reader.edit(first, 'first');
    await reader.remove(second);
    await reader.run();
    expect(asked(reader, 1)).toEqual(['first', 'second']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('corrects what the run was given when that is edited, and ignores its deletion', async () => {
    let first = '';
    const reader = withTool(
      async (r) => {
        await r.edit(first, 'first, corrected');
        await r.remove(first);
        await r.edit('i-unknown', 'of no run');
      },
      [{ calls: [call('c1')] }, { text: 'Corrected.' }],
    );
    first = await reader.say('first');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['first', steer('first, corrected')]);
    expect(reader.shown()).toEqual(['Corrected.']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('corrects a steer of an earlier round', async () => {
    let steered = '';
    const reader: Reader = withTool(
      async (r) => {
        steered = await r.say('in red');
      },
      (_request, index) =>
        index === 0
          ? { calls: [call('c1')] }
          : index === 1
            ? { calls: [call('c2')] }
            : index === 2
              ? { calls: [call('c3')], meanwhile: () => reader.edit(steered, 'in blue') }
              : { text: 'Blue.' },
    );
    await reader.say('Paint');
    await reader.run();
    expect(asked(reader, 3)).toEqual(['Paint', steer('in red'), steer('in blue')]);
    expect(await isSettled(reader)).toBe(true);
  });

  it('ignores edits and deletions of delivered texts when nothing runs', async () => {
    const reader = createReader(server, { script: [{ text: 'One.' }] });
    const first = await reader.say('first');
    await reader.run();
    await reader.edit(first, 'other');
    await reader.remove(first);
    await reader.run();
    expect(reader.model.requests).toHaveLength(1);
    expect(reader.shown()).toEqual(['One.']);
    expect(await isSettled(reader)).toBe(true);
  });
});
