import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { bob, createReader, historyOf, isSettled, type ReaderOptions } from './reader-fixture.js';

const OPTIONS = ['staging', 'production', 'both'];
const question = { reason: 'It decides everything.', blockerType: 'ambiguous_goal', question: 'Where to?' };
const ask = (id = 'q1') => call(id, 'ask_agent', JSON.stringify({ ...question, options: OPTIONS }));
const DAY_MS = 24 * 3_600_000;

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true, risk: 'read' },
  execute: async () => 'seen',
});

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

const asking = (over: ReaderOptions = {}) =>
  createReader(server, {
    script: [{ text: 'Let me see.', calls: [ask()] }, { text: 'Deployed.' }],
    ...over,
    agent: { mode: 'plan', ...over.agent },
  });

async function asked(over: ReaderOptions = {}) {
  const reader = asking(over);
  await reader.say('deploy');
  await reader.run();
  return reader;
}

describe('a question to the person', () => {
  it('shows the text so far, and the question with its reason and buttons, and lets the conversation rest', async () => {
    const reader = await asked();
    expect(reader.shown()[0]).toContain('Let me see.');
    expect(reader.shown()[1]).toContain('Where to?');
    expect(reader.shown()[1]).toContain('It decides everything.');
    expect(reader.buttons()).toEqual(OPTIONS);
    expect(reader.phases().at(-1)).toBe('waiting');
    const summary = await reader.store.summary(reader.key);
    expect(summary?.busy).toBe(false);
    expect(summary?.wakeAt).toBeGreaterThan(Date.now() + 6 * DAY_MS);
  });

  it('goes on with the pressed option, in a chain that begins byte for byte with the suspended one', async () => {
    const reader = await asked();
    expect(await reader.press('production')).toBe('accepted');
    await reader.run();
    const [first, second] = reader.model.requests;
    const begun = JSON.stringify(first?.messages).slice(0, -1);
    expect(JSON.stringify(second?.messages).startsWith(begun)).toBe(true);
    expect(second?.messages.slice(first?.messages.length)).toEqual([
      { role: 'assistant', content: 'Let me see.', toolCalls: [ask()] },
      { role: 'tool', toolCallId: 'q1', content: 'production' },
    ]);
    expect(reader.shown().at(-1)).toContain('Deployed.');
    expect(reader.shown()[1]).toContain('Ada: production');
    expect(reader.buttons()).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });

  it('takes a text as the answer, an option by its number, and no text of somebody else', async () => {
    const reader = await asked({ script: [{ calls: [ask()] }, { text: 'Deployed.' }] });
    await reader.say('I would wait', { as: bob });
    await reader.run();
    expect(reader.model.requests).toHaveLength(1);
    await reader.say('2');
    await reader.run();
    const chain = reader.model.requests[1]?.messages ?? [];
    expect(chain).toContainEqual({ role: 'tool', toolCallId: 'q1', content: 'production' });
    // What the other one wrote steers the resumed run.
    expect(JSON.stringify(chain.at(-1))).toContain('I would wait');
    const own = await asked({ script: [{ calls: [ask()] }, { text: 'ok' }] });
    await own.say('to the moon');
    await own.run();
    expect(own.model.requests[1]?.messages).toContainEqual({
      ...{ role: 'tool', toolCallId: 'q1', content: 'to the moon' },
    });
  });

  it('leaves one live checklist: the plan goes on below, the text above stays', async () => {
    const plan = (status: string) =>
      call(
        `p${status}`,
        'update_plan',
        JSON.stringify({
          updates:
            status === 'set'
              ? [{ action: 'set_plan', plan: { task: 't', description: 'd', steps: [step] } }]
              : [{ action: 'update_step', stepId: 's', status: 'done', outputSummary: 'o' }],
        }),
      );
    const step = { id: 's', title: 'Deploy', description: 'd', acceptanceCriteria: ['c'], status: 'pending' };
    const reader = await asked({
      script: [{ text: 'Planned.', calls: [plan('set'), ask()] }, { calls: [plan('done')] }, { text: 'Deployed.' }],
    });
    const planned = () => reader.entries().filter(({ slot, plan: shown }) => shown && slot.startsWith('a'));
    expect(planned().map(({ slot }) => slot)).toEqual(['a1']);
    await reader.press('both');
    await reader.run();
    const last = new Map(reader.entries().map((entry) => [entry.slot, entry]));
    expect(last.get('a1')).toMatchObject({ markdown: 'Planned.' });
    expect(last.get('a1')?.plan).toBeUndefined();
    expect(last.get('a2')?.plan?.steps).toEqual([{ title: 'Deploy', status: 'done' }]);
  });

  it('is answered once: later, double and foreign presses change nothing', async () => {
    const reader = await asked({ agent: { approvers: ['fake:boss'] } });
    expect(await reader.press('both', { as: bob })).toBe('foreign');
    expect(await reader.press('both', { as: { id: 'fake:boss', name: 'Boss' } })).toBe('accepted');
    expect(await reader.press('staging')).toBe('already');
    await reader.run();
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'both' });
    expect(reader.shown()[1]).toContain('Boss: both');
    expect(reader.model.requests).toHaveLength(2);
  });

  it('keeps the other calls of the round, and asks one thing at a time', async () => {
    const reader = await asked({
      tools: [look],
      script: [{ calls: [call('l1'), ask('q1'), ask('q2'), call('l2')] }, { text: 'Deployed.' }],
    });
    expect(reader.buttons()).toEqual(OPTIONS);
    await reader.press('staging');
    await reader.run();
    const results = (reader.model.requests[1]?.messages ?? []).flatMap((m) => (m.role === 'tool' ? [m] : []));
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(['l1', 'q1', 'q2', 'l2']);
    expect(results[1]?.content).toBe('staging');
    expect(results[2]?.content).toMatch(/one question at a time/);
  });

  it('ends the run when nobody answers in time, says so on the card, and keeps the chain whole', async () => {
    const reader = await asked({ agent: { askExpiresMs: DAY_MS } });
    reader.advance(DAY_MS + 1);
    expect(await reader.press('staging')).toBe('expired');
    await reader.run();
    expect(reader.model.requests).toHaveLength(1);
    expect(reader.shown()[1]).toContain('No answer came in time');
    expect(reader.buttons()).toEqual([]);
    expect(historyOf(reader).at(-1)).toMatch(/^tool: Cancelled/);
    expect(await isSettled(reader)).toBe(true);
  });

  it('is cancelled by a stop: the card has no buttons, the call a result, the press no effect', async () => {
    const reader = await asked();
    await reader.control('stop');
    expect(await reader.press('staging')).toBe('expired');
    await reader.run();
    expect(reader.phases().at(-1)).toBe('stopped');
    expect(reader.buttons()).toEqual([]);
    expect(reader.shown()[1]).toContain('Cancelled');
    expect(historyOf(reader).join('\n')).toContain('tool: Cancelled');
    expect(await isSettled(reader)).toBe(true);
  });

  it('is given up by /new, and reaches later turns as one call with its result', async () => {
    const reader = await asked({ script: [{ calls: [ask()] }, { text: 'New.' }] });
    await reader.control('new');
    await reader.run();
    expect(historyOf(reader)).toEqual([]);
    expect(reader.buttons()).toEqual([]);
    const next = await asked({ script: [{ calls: [ask()] }, { text: 'Done.' }, { text: 'Next.' }] });
    await next.press('both');
    await next.run();
    await next.say('and now?');
    await next.run();
    const seen = JSON.stringify(next.model.requests[2]?.messages);
    expect(seen.match(/"name":"ask_agent"/g)).toHaveLength(1);
    expect(seen).toContain('{"role":"tool","toolCallId":"q1","content":"both"}');
  });

  it('answers status while it waits, and lets a queued text wait for the end of the run', async () => {
    const reader = await asked({ script: [{ calls: [ask()] }, { text: 'Deployed.' }, { text: 'Second.' }] });
    await reader.control('status');
    await reader.say('later', { queue: true });
    await reader.run();
    expect(reader.shown().at(-1)).toContain('Waiting for an answer');
    expect(reader.model.requests).toHaveLength(1);
    await reader.press('both');
    await reader.run();
    expect(reader.model.requests).toHaveLength(3);
    expect(reader.shown().at(-1)).toContain('Second.');
  });
});
