import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RUN_RECORDS, type UsageEntry } from '../../src/core/ports/store.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { EMPTY_STATE } from '../../src/jobs/conversation-state.js';
import { EMPTY_RECORD, type RunRecord, withEvent } from '../../src/jobs/run-record.js';
import { assistant, prose, user } from '../core/agent/compression/fixture.js';
import { call, scriptedModel } from '../core/agent/scripted-model.js';
import { agentSpec } from '../fakes/agent-spec.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createReader, type Reader } from './reader-fixture.js';

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

/** Input tokens cost 1 each. */
const price = [{ input: 1_000_000, output: 0 }];

const paid = (name: string, cost: number, result = 'found') =>
  defineTool({
    ...{ name, description: 'Costs.', parameters: z.object({}), idempotent: true, risk: 'read' },
    execute: async () => ({ content: result, cost }),
  });

const recordOf = async (reader: Reader, answer = 1): Promise<RunRecord & { finish: string }> =>
  JSON.parse((await reader.records.get(RUN_RECORDS, `${reader.key}#${answer}`)) ?? 'null');
const costOf = (rows: readonly { readonly cost: number }[]) => rows.reduce((sum, { cost }) => sum + cost, 0);
const row = ({ source, model, callId, tool, agent, cost }: UsageEntry) =>
  [source, agent, model || '-', callId ?? '-', tool ?? '-', cost].join(' ');

describe('what a run costs', () => {
  it('is a row for each request and each tool with a price, and their sum is the cost of its record', async () => {
    const notes = `## Goal\n- notes ${'about the earlier messages '.repeat(12)}`;
    const writer = { ...scriptedModel(() => ({ text: notes, inputTokens: 300 }), price), name: 'writer' };
    const inner = {
      ...scriptedModel(
        [
          { calls: [call('i1', 'meter')], inputTokens: 40 },
          { text: 'inner', inputTokens: 50 },
        ],
        price,
      ),
      name: 'inner',
    };
    const helper = agentSpec(inner, { name: 'helper', tools: [paid('meter', 7)] });
    const long = prose(6_000, 'r');
    const main = scriptedModel(
      [
        {
          calls: [call('c1', 'search'), call('c2', 'agent_helper', '{"task":"t"}'), call('c3', 'free')],
          inputTokens: 1,
        },
        { text: 'Done.', inputTokens: 2 },
      ],
      price,
    );
    const model = { ...main, contextWindow: 8_000, maxOutputTokens: 400 };
    const reader = createReader(server, {
      agents: { helper },
      agent: {
        ...{ model, subAgents: ['helper'], tools: [paid('search', 5, long), paid('free', 0)] },
        compression: { mode: 'llm', threshold: 0.3, model: writer },
      },
      script: [],
    });
    const history = ['a', 'b', 'c', 'd'].flatMap((name) => [user(prose(500, name)), assistant(prose(500, `${name}x`))]);
    const { epoch } = await reader.store.claim(reader.key);
    await reader.store.commit(reader.key, epoch, { state: { ...EMPTY_STATE, history } });
    await reader.say('go');
    await reader.run();
    const rows = await reader.store.usage(0);
    expect(rows.map(row)).toEqual([
      'compression assistant writer - - 300',
      'agent assistant scripted - - 1',
      // The result of the search is made shorter before its own cost is told.
      ...Array(rows.filter(({ callId, source }) => callId === 'c1' && source === 'compression').length).fill(
        'compression assistant writer c1 search 300',
      ),
      'tool assistant - c1 search 5',
      'tool helper inner c2 agent_helper 40',
      'tool helper - c2 meter 7',
      'tool helper inner c2 agent_helper 50',
      'agent assistant scripted - - 2',
    ]);
    expect(rows.filter(({ callId, source }) => callId === 'c1' && source === 'compression').length).toBeGreaterThan(0);
    for (const entry of rows) expect(entry).toMatchObject({ run: `${reader.key}#1`, person: 'fake:1' });
    const record = await recordOf(reader);
    expect(costOf(record.steps)).toBe(costOf(rows));
    expect(record.total).toEqual({
      requests: rows.filter(({ model: name }) => name !== '').length,
      inputTokens: rows.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
      outputTokens: rows.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
      cost: costOf(rows),
    });
    // Which step belongs to which call: what a sub-agent did can be shown again.
    const inside = record.steps.filter(({ callId }) => callId === 'c2');
    expect(inside.map(({ kind, agent }) => `${kind} ${agent}`)).toEqual([
      ...['request helper', 'tool helper', 'request helper'],
    ]);
    const notesOf = record.steps.flatMap((step) => (step.kind === 'note' ? [step.text] : []));
    expect(notesOf).toEqual([
      expect.stringMatching(/^compressed \(summary\) \d+ → \d+ tokens$/),
      expect.stringMatching(/^compressed \(results\) \d+ → \d+ tokens$/),
    ]);
  });

  it('is the same sum when the run waits, changes hands and is stopped', async () => {
    const ask = { reason: 'r', blockerType: 'ambiguous_goal', question: 'Which?', options: ['a', 'b', 'c'] };
    const reader: Reader = createReader(server, {
      agent: { mode: 'plan' },
      tools: [paid('search', 5)],
      price,
      script: [
        { calls: [call('c1', 'search'), call('q1', 'ask_agent', JSON.stringify(ask))], inputTokens: 1 },
        { calls: [call('c2', 'search')], inputTokens: 2 },
        { text: 'Lost.', inputTokens: 100, meanwhile: async () => void (await reader.store.claim(reader.key)) },
        { calls: [call('c3', 'search')], inputTokens: 4 },
        {
          text: 'Half',
          meanwhile: async () => {
            await reader.control('stop');
            await reader.aborted();
          },
        },
      ],
    });
    await reader.say('go');
    await reader.run();
    await reader.press('b');
    await reader.run();
    await reader.run();
    const rows = await reader.store.usage(0);
    expect(rows.map(({ cost }) => cost)).toEqual([1, 5, 2, 5, 4, 5]);
    const record = await recordOf(reader);
    expect(record).toMatchObject({ finish: 'stopped', total: { requests: 3, inputTokens: 7, cost: 22 } });
  });

  it('is counted too when a stop comes before the boundary of its round', async () => {
    const slow = defineTool({
      ...{ name: 'slow', description: 'Waits.', parameters: z.object({}), idempotent: true, risk: 'read' },
      async execute(_args, { signal }) {
        await reader.control('stop');
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return 'too late';
      },
    });
    const reader: Reader = createReader(server, {
      tools: [paid('search', 5), slow],
      price,
      script: [{ calls: [call('c1', 'search'), call('c2', 'slow')], inputTokens: 3 }],
    });
    await reader.say('go');
    await reader.run();
    const rows = await reader.store.usage(0);
    expect(rows.map(({ cost }) => cost)).toEqual([3, 5]);
    expect(await recordOf(reader)).toMatchObject({ finish: 'stopped', total: { cost: 8 } });
  });
});

describe('the record of a very long run', () => {
  it('keeps 300 steps, counts the others, and its sums are of all', () => {
    let record = EMPTY_RECORD;
    for (let n = 0; n < 500; n += 1) {
      record = withEvent(
        record,
        {
          ...{ type: 'request.finished', source: 'agent', model: 'm', round: n, cost: 1, finishReason: 'stop' },
          ...{ milliseconds: 1.4, requestId: '', usage: { inputTokens: 3, outputTokens: 2, estimated: false } },
        },
        n,
      );
    }
    expect(record.steps).toHaveLength(300);
    expect(record).toMatchObject({
      omitted: 200,
      total: { requests: 500, inputTokens: 1_500, outputTokens: 1_000, cost: 500 },
    });
  });
});
