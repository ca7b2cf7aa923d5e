import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ModelError } from '../../src/core/errors.js';
import { defineTool, type Tool } from '../../src/core/tools/tool.js';
import { EMPTY_STATE } from '../../src/jobs/conversation-state.js';
import { assistant, prose, user } from '../core/agent/compression/fixture.js';
import { call, type ScriptedReply, scriptedModel } from '../core/agent/scripted-model.js';
import { agentSpec } from '../fakes/agent-spec.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createReader, type Reader, type ReaderOptions } from './reader-fixture.js';

/** Stands in everything people, models and tools say here; no line of the log may hold it. */
const MARK = 'xyzzy';

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

const tool = (name: string, over: { risk?: Tool['risk']; execute?: () => Promise<string> } = {}) =>
  defineTool({
    ...{ name, description: `Does ${MARK}.`, parameters: z.looseObject({}), idempotent: true, risk: 'read' },
    execute: async () => `${name} found ${MARK}`,
    ...over,
  });

/** The fields of the lines with this message, in order. */
const logged = (reader: Reader, message: string) =>
  reader.logger.lines.flatMap((line) => (line.message === message ? [line.fields as Record<string, unknown>] : []));

function expectSilence(reader: Reader): void {
  const said = JSON.stringify(reader.model.requests);
  expect(said).toContain(MARK);
  for (const line of reader.logger.lines) expect(JSON.stringify(line)).not.toContain(MARK);
}

async function played(options: ReaderOptions, text = `please ${MARK}`): Promise<Reader> {
  const reader = createReader(server, options);
  await reader.say(text);
  await reader.run();
  return reader;
}

describe('the log of a run', () => {
  it('tells model, tools, what is missing and why, the weight of the fixed parts, and how it ended', async () => {
    const reader = await played({
      tools: [tool('look'), tool('update_plan'), tool('look')],
      agent: { mode: 'plan', systemPrompt: `You are ${MARK}.`, mcpServers: ['files'] },
      mcp: {
        tools: async () => ({
          tools: [tool('mcp_files_read')],
          skipped: [{ server: 'crm', reason: 'failed', detail: 'connection refused' }],
        }),
      },
      script: [{ calls: [call('c1', 'look', `{"q":"${MARK}"}`), call('c2', 'nothing')] }, { text: `It is ${MARK}.` }],
    });
    const ids = { conversation: reader.key, run: `${reader.key}#1` };
    expect(logged(reader, '[AgentLoop] opened')).toEqual([
      {
        ...ids,
        ...{ agent: 'assistant', model: 'scripted', tools: ['look', 'mcp_files_read'] },
        skipped: [
          { name: 'update_plan', reason: 'internal' },
          { name: 'look', reason: 'shadowed' },
          { name: 'crm', reason: 'failed: connection refused' },
        ],
        ...{ promptTokens: expect.any(Number), schemaTokens: expect.any(Number) },
      },
    ]);
    const [{ promptTokens, schemaTokens } = {}] = logged(reader, '[AgentLoop] opened');
    expect(promptTokens).toBeGreaterThan(200);
    expect(schemaTokens).toBeGreaterThan(20);
    expect(logged(reader, '[AgentLoop] done')).toEqual([
      {
        ...ids,
        ...{ agent: 'assistant', model: 'scripted', rounds: 2, calls: 2, held: [], cost: 0, finish: 'final' },
      },
    ]);
    expectSilence(reader);
  });

  it('tells every denied call with the reason', async () => {
    const reader = await played({
      tools: [tool('remove', { risk: 'write' }), tool('look')],
      agent: { permissions: { mode: 'bypass', rules: [{ tool: 'remove', decision: 'deny' }] } },
      script: [{ calls: [call('c1', 'remove', `{"path":"${MARK}"}`), call('c2', 'look')] }, { text: `Not ${MARK}.` }],
    });
    expect(logged(reader, '[AgentLoop] done')).toMatchObject([
      { held: ['remove: deny (a rule of the configuration forbids remove)'], finish: 'final' },
    ]);
    expectSilence(reader);
  });

  it('holds no word of a person who said no, nor of one who steers, nor of an answer', async () => {
    const ask = { reason: MARK, blockerType: 'ambiguous_goal', question: `Which ${MARK}?`, options: ['a', 'b', MARK] };
    const script: ScriptedReply[] = [
      { calls: [call('r1', 'remove', `{"path":"${MARK}"}`)], text: `I remove ${MARK}` },
      { calls: [call('q1', 'ask_agent', JSON.stringify(ask))] },
      { text: `Fine, ${MARK}.`, reasoning: MARK },
    ];
    const reader = await played({
      tools: [tool('remove', { risk: 'write' })],
      agent: { mode: 'plan', permissions: { mode: 'ask', rules: [] }, showReasoning: true },
      script,
    });
    await reader.say(`no, rather ${MARK}`);
    await reader.run();
    await reader.press(MARK);
    await reader.say(`and ${MARK}`, { queue: true });
    await reader.control('status');
    script.push({ text: `Next ${MARK}.` });
    await reader.run();
    expect(reader.model.requests).toHaveLength(4);
    const done = logged(reader, '[AgentLoop] done');
    expect(done.map(({ finish }) => finish)).toEqual(['approval', 'ask', 'final', 'final']);
    expect(done[0]?.held).toEqual([expect.stringMatching(/^remove: suspend \(/)]);
    expect(done[1]?.held).toEqual([expect.stringMatching(/^remove: deny \(/)]);
    expectSilence(reader);
  });

  it('tells the weight once, however often the run waits or changes hands', async () => {
    const ask = { reason: 'r', blockerType: 'ambiguous_goal', question: 'Which?', options: ['a', 'b', 'c'] };
    const reader = await played({
      tools: [tool('look')],
      agent: { mode: 'plan', systemPrompt: `You are ${MARK}.` },
      script: [
        { calls: [call('q1', 'ask_agent', JSON.stringify(ask))] },
        { calls: [call('c1')] },
        { text: 'Lost.', meanwhile: async () => void (await reader.store.claim(reader.key)) },
        { text: 'Found.' },
      ],
    });
    await reader.press('b');
    await reader.run();
    await reader.run();
    const lines = reader.logger.lines.filter(({ fields }) => 'promptTokens' in fields);
    expect(lines.map(({ message }) => message)).toEqual(['[AgentLoop] opened']);
    expect(logged(reader, '[AgentLoop] resumed')).toHaveLength(2);
    expect(logged(reader, '[AgentLoop] resumed')[0]).toMatchObject({ model: 'scripted', tools: ['look'] });
    expectSilence(reader);
  });

  it('counts what sub-agents cost, and names what they were denied', async () => {
    const price = [{ input: 1_000_000, output: 0 }];
    const inner = scriptedModel([{ calls: [call('i1', 'remove')] }, { text: MARK }], price);
    const helper = agentSpec(inner, {
      ...{ name: 'helper', tools: [tool('remove', { risk: 'write' })], permissions: { mode: 'ask', rules: [] } },
    });
    const reader = await played({
      agents: { helper },
      agent: { subAgents: ['helper'] },
      script: [{ calls: [call('a1', 'agent_helper', `{"task":"${MARK}"}`)] }, { text: `${MARK}.` }],
    });
    expect(logged(reader, '[AgentLoop] done')).toMatchObject([
      { calls: 1, cost: 20, held: [expect.stringMatching(/^helper > remove: deny \(.*sub-agent cannot ask/)] },
    ]);
    expect(reader.metrics.counts.get('model_requests')).toBe(4);
    expectSilence(reader);
  });

  it('says nothing of messages when the model fails either', async () => {
    const fail = new ModelError('broke', { kind: 'broken_stream', model: 'scripted' });
    const reader = await played({ tools: [tool('look')], script: [{ calls: [call('c1')] }, { text: MARK, fail }] });
    expect(logged(reader, '[AgentLoop] done')).toMatchObject([{ finish: 'error', rounds: 2 }]);
    expectSilence(reader);
  });
});

describe('the log of compression', () => {
  const NOTES = `## Goal\n- ${MARK} ${'about the earlier messages '.repeat(12)}`;
  const history = ['a', 'b', 'c', 'd'].flatMap((name) => [
    user(`${MARK} ${prose(300, name)}`),
    assistant(`${MARK} ${prose(300, `${name}x`)}`),
  ]);
  const narrow = (reply: ScriptedReply) => ({
    ...scriptedModel(({ messages }) =>
      /You keep notes/.test(messages[0]?.content ?? '') ? reply : { text: `So ${MARK}.` },
    ),
    ...{ contextWindow: 4_000, maxOutputTokens: 400 },
  });

  async function compressed(reply: ScriptedReply, compression: { mode: 'algorithmic' | 'llm'; threshold: number }) {
    const model = narrow(reply);
    const reader = createReader(server, { agent: { model, compression }, script: [] });
    const { epoch } = await reader.store.claim(reader.key);
    await reader.store.commit(reader.key, epoch, { state: { ...EMPTY_STATE, history } });
    await reader.say(`and ${MARK}?`);
    await reader.run();
    for (const line of reader.logger.lines) expect(JSON.stringify(line)).not.toContain(MARK);
    return { reader, model };
  }

  it('tells the size before and after, with both ids', async () => {
    const { reader, model } = await compressed({ text: NOTES }, { mode: 'llm', threshold: 0.5 });
    expect(model.requests).toHaveLength(2);
    const [line] = logged(reader, '[Compression]');
    expect(line).toEqual({
      ...{ conversation: reader.key, run: `${reader.key}#1`, agent: 'assistant', how: 'summary' },
      ...{ before: expect.any(Number), after: expect.any(Number) },
    });
    expect(Number(line?.before)).toBeGreaterThan(2_400);
    expect(Number(line?.after)).toBeLessThan(2_000);
  });

  it.each([
    ['too_short', { text: 'x' }, { mode: 'llm', threshold: 0.5 }],
    ['finished_by_length', { text: NOTES, finishReason: 'length' }, { mode: 'llm', threshold: 0.5 }],
    ['nothing_to_shorten', {}, { mode: 'algorithmic', threshold: 0.5 }],
  ] as const)('tells why nothing became shorter: %s', async (reason, reply, compression) => {
    const { reader } = await compressed(reply, compression);
    const [line] = logged(reader, '[Compression]');
    expect(line).toMatchObject({ unchanged: reason, conversation: reader.key, run: `${reader.key}#1` });
    expect(line?.before).toBe(line?.after);
    expect(reader.shown()).toEqual([`So ${MARK}.`]);
  });
});
