import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AgentSpec } from '../../src/core/agent/agent-spec.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { bob, createReader, isSettled, type ReaderOptions } from './reader-fixture.js';

const HOUR_MS = 3_600_000;
const boss = { id: 'fake:boss', name: 'Boss' };

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

/** A conversation whose model wants to delete something; the tool counts what it really did. */
function deleting(over: ReaderOptions = {}, permissions: AgentSpec['permissions'] = { mode: 'ask', rules: [] }) {
  const done: string[] = [];
  const remove = defineTool({
    ...{ name: 'remove', description: 'Removes a file.', parameters: z.object({ path: z.string() }) },
    async execute({ path }) {
      done.push(path);
      return `removed ${path}`;
    },
  });
  const reader = createReader(server, {
    script: [{ text: 'Cleaning up.', calls: [removal('r1', 'a.txt')] }, { text: 'Done.' }],
    tools: [remove],
    ...over,
    agent: { permissions, ...over.agent },
  });
  return { reader, done };
}

const removal = (id: string, path: string) => call(id, 'remove', JSON.stringify({ path }));

async function held(over: ReaderOptions = {}) {
  const { reader, done } = deleting(over);
  await reader.say('clean up');
  await reader.run();
  expect(done).toEqual([]);
  return { reader, done };
}

describe('an approval', () => {
  it('shows tool and arguments, and runs the call once it was allowed', async () => {
    const { reader, done } = await held();
    expect(reader.shown()[1]).toContain('remove');
    expect(reader.shown()[1]).toContain('a.txt');
    expect(reader.buttons()).toEqual(['Once', 'Always here', 'Deny']);
    await reader.press('Once');
    await reader.run();
    expect(done).toEqual(['a.txt']);
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ content: 'removed a.txt' });
    expect(reader.shown()[1]).toContain('Allowed once by Ada');
    expect(reader.buttons()).toEqual([]);
    expect(await isSettled(reader)).toBe(true);
  });

  it('tells the model of a denial and runs nothing', async () => {
    const { reader, done } = await held();
    await reader.press('Deny');
    await reader.run();
    expect(done).toEqual([]);
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ content: 'Denied: the person said no' });
  });

  it('is never given by a text: it denies with the text as its reason', async () => {
    for (const text of ['yes', 'Once', '1', 'approve']) {
      const { reader, done } = await held();
      await reader.say(text);
      await reader.run();
      expect(done).toEqual([]);
      expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ content: `Denied: ${text}` });
    }
  });

  it('belongs to the requester and the approvers', async () => {
    const { reader, done } = await held({ agent: { approvers: [boss.id] } });
    expect(await reader.press('Once', { as: bob })).toBe('foreign');
    await reader.say('do it!', { as: bob });
    await reader.run();
    expect(done).toEqual([]);
    expect(await reader.press('Once', { as: boss })).toBe('accepted');
    expect(await reader.press('Deny')).toBe('already');
    await reader.run();
    expect(done).toEqual(['a.txt']);
    expect(JSON.stringify(reader.model.requests[1]?.messages)).toContain('do it!');
  });

  it('holds here for good after "always", for that tool only', async () => {
    const { reader, done } = await held({
      script: [
        { calls: [removal('r1', 'a')] },
        { text: 'Done.' },
        { calls: [removal('r2', 'b')] },
        { text: 'Done again.' },
      ],
    });
    await reader.press('Always here');
    await reader.run();
    await reader.say('once more');
    await reader.run();
    expect(done).toEqual(['a', 'b']);
    expect(reader.state().grants).toEqual([{ tool: 'remove', by: 'fake:1' }]);
  });

  it('is for that call alone, also when the model server gives the next one the same id', async () => {
    const { reader, done } = await held({
      script: [{ calls: [removal('call_0', 'a')] }, { calls: [removal('call_0', 'b')] }, { text: 'Done.' }],
    });
    await reader.press('Once');
    await reader.run();
    expect(done).toEqual(['a']);
    expect(reader.buttons()).toEqual(['Once', 'Always here', 'Deny']);
    await reader.press('Deny');
    await reader.run();
    expect(done).toEqual(['a']);
    expect(reader.model.requests[2]?.messages.at(-1)).toMatchObject({ content: 'Denied: the person said no' });
  });

  it('is decided call by call, all in one card, and the allowed ones run in the order of the model', async () => {
    const { reader, done } = await held({
      script: [{ calls: [removal('r1', 'a'), removal('r2', 'b'), removal('r3', 'c')] }, { text: 'Done.' }],
    });
    expect(reader.buttons()).toHaveLength(9);
    await reader.press('3: Once');
    await reader.press('1: Once');
    await reader.run();
    expect(done).toEqual([]);
    expect(reader.buttons()).toEqual(['2: Once', '2: Always here', '2: Deny']);
    await reader.press('2: Deny');
    await reader.run();
    expect(done).toEqual(['a', 'c']);
    const results = (reader.model.requests[1]?.messages ?? []).flatMap((m) => (m.role === 'tool' ? [m.content] : []));
    expect(results).toEqual(['removed a', 'Denied: the person said no', 'removed c']);
  });

  it('expires as a denial that the card shows, and the run goes on with it', async () => {
    const { reader, done } = await held({ agent: { approvalExpiresMs: HOUR_MS } });
    reader.advance(HOUR_MS + 1);
    await reader.run();
    expect(done).toEqual([]);
    expect(reader.shown()[1]).toContain('counts as denied');
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ content: expect.stringContaining('in time') });
    expect(reader.shown().at(-1)).toContain('Done.');
  });

  it('is cancelled by a stop', async () => {
    const { reader, done } = await held();
    await reader.control('stop');
    await reader.run();
    expect(done).toEqual([]);
    expect(reader.phases().at(-1)).toBe('stopped');
    expect(reader.buttons()).toEqual([]);
  });

  it('is asked each time, without "always", where a rule wants it', async () => {
    const { reader, done } = deleting({}, { mode: 'bypass', rules: [rule('ask')] });
    await reader.say('clean up');
    await reader.run();
    expect(reader.buttons()).toEqual(['Once', 'Deny']);
    await reader.press('Once');
    await reader.run();
    expect(done).toEqual(['a.txt']);
  });

  it('gives way to a deny rule, also after "always", and to a rule that allows', async () => {
    const { reader, done } = deleting({}, { mode: 'bypass', rules: [rule('deny')] });
    await reader.say('clean up');
    await reader.run();
    expect(done).toEqual([]);
    expect(reader.model.requests[1]?.messages.at(-1)).toMatchObject({ content: expect.stringMatching(/^Denied/) });
    const free = deleting({}, { mode: 'ask', rules: [rule('allow')] });
    await free.reader.say('clean up');
    await free.reader.run();
    expect(free.done).toEqual(['a.txt']);
  });
});

const rule = (decision: 'allow' | 'ask' | 'deny'): AgentSpec['permissions']['rules'][number] => ({
  tool: 'remove',
  decision,
});
