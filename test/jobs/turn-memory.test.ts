import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AgentSpec } from '../../src/core/agent/agent-spec.js';
import { isSummaryMessage } from '../../src/core/agent/compression/summary.js';
import { RUN_RECORDS } from '../../src/core/ports/store.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { prose } from '../core/agent/compression/fixture.js';
import { call, type RecordedModelRequest, type ScriptedReply, scriptedModel } from '../core/agent/scripted-model.js';
import { agentSpec } from '../fakes/agent-spec.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createReader, isSettled, type Reader } from './reader-fixture.js';

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

const details = async (reader: Reader, answer: number) =>
  JSON.parse((await reader.records.get(RUN_RECORDS, `${reader.key}#${answer}`)) ?? 'null');

describe('what later turns see of a call', () => {
  const whole = Array.from({ length: 900 }, (_, n) => `row ${n}`).join('\n');
  const look = defineTool({
    ...{ name: 'look', description: 'Looks.', parameters: z.object({ where: z.string() }), risk: 'read' },
    execute: async ({ where }) => (where === 'short' ? 'x'.repeat(1_000) : whole),
  });
  const calls = [call('c1', 'look', '{"where":"long"}'), call('c2', 'look', '{"where":"short"}')];

  it('is the whole pair with the first and the last 500 characters of its result; the whole is in the details', async () => {
    const reader = createReader(server, {
      tools: [look],
      script: [{ text: 'I look.', calls }, { text: 'Seen.' }, { text: 'Again.' }],
    });
    await reader.say('first');
    await reader.run();
    await reader.say('second');
    await reader.run();
    // In its own turn the model has the whole.
    expect(reader.model.requests[1]?.messages).toContainEqual({ role: 'tool', toolCallId: 'c1', content: whole });
    const cut = `${whole.slice(0, 500)}\n… ${whole.length - 1_000} characters left out …\n${whole.slice(-500)}`;
    expect(reader.model.requests[2]?.messages.slice(1)).toEqual([
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'I look.', toolCalls: calls },
      { role: 'tool', toolCallId: 'c1', content: cut },
      { role: 'tool', toolCallId: 'c2', content: 'x'.repeat(1_000) },
      { role: 'assistant', content: 'Seen.' },
      { role: 'user', content: 'second' },
    ]);
    const record = await details(reader, 1);
    expect(record).toMatchObject({ v: 1, agent: 'assistant', person: 'fake:1', finish: 'final' });
    expect(record.messages).toContainEqual({ role: 'tool', toolCallId: 'c1', content: whole });
    const [asked, looked] = record.steps;
    expect(asked).toMatchObject({ kind: 'request', round: 1, model: 'scripted', requestId: 'req-0', inputTokens: 10 });
    expect(looked).toMatchObject({ kind: 'tool', round: 1, tool: 'look', failed: false });
    expect(looked.result).toBe(`${whole.slice(0, 200)}…`);
  });

  it('is kept of a stopped, a failed and an unanswered run too', async () => {
    const fail = new Error('broke');
    const reader: Reader = createReader(server, {
      tools: [look],
      agent: { mode: 'plan', askExpiresMs: 1_000 },
      script: [
        { calls: calls.slice(0, 1) },
        {
          text: 'Half',
          meanwhile: async () => {
            await reader.control('stop');
            await reader.aborted();
          },
        },
        { fail },
        {
          calls: [
            call(
              'q1',
              'ask_agent',
              JSON.stringify({ reason: 'r', blockerType: 'ambiguous_goal', question: 'q', options: ['a', 'b', 'c'] }),
            ),
          ],
        },
      ],
    });
    for (const text of ['one', 'two', 'three']) {
      await reader.say(text);
      await reader.run();
    }
    reader.advance(2_000);
    await reader.run();
    const finishes = await Promise.all([1, 2, 3].map(async (n) => (await details(reader, n)).finish));
    expect(finishes).toEqual(['stopped', 'error', 'unanswered']);
    expect((await details(reader, 1)).messages).toContainEqual({ role: 'tool', toolCallId: 'c1', content: whole });
  });

  it('does not fail the run when the details cannot be kept', async () => {
    const reader = createReader(server, { script: [{ text: 'Fine.' }] });
    Object.assign(reader.records, { set: () => Promise.reject(new Error('disk full')) });
    await reader.say('Hi');
    await reader.run();
    expect(reader.shown()).toEqual(['Fine.']);
    expect(reader.logger.lines.some(({ level, message }) => level === 'warn' && /record of a run/.test(message))).toBe(
      true,
    );
    expect(await isSettled(reader)).toBe(true);
  });
});

/** `t7` in everything that belongs to turn 7. */
const labels = (text: string): readonly string[] => [...new Set(text.match(/\bt\d+(?=:)/g))];
const labelsOf = ({ messages }: RecordedModelRequest) => labels(messages.map(({ content }) => content).join('\n'));
/** The messages a summariser was given, without the notes so far. */
const given = ({ messages }: RecordedModelRequest) => messages.at(-1)?.content.split('<messages>')[1] ?? '';
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `t${from + n}`);

interface Long {
  readonly reader: Reader;
  readonly writer: ReturnType<typeof scriptedModel>;
  readonly model: ReturnType<typeof scriptedModel>;
  /** May be changed between turns. */
  readonly agents: Record<string, AgentSpec>;
  /** Says the next text and lets the reader work; `during` runs in the middle of its nth request. */
  turn(during?: { readonly request: number; act(): Promise<unknown> | unknown }, signal?: AbortSignal): Promise<void>;
}

/** A conversation with turns of about 300 tokens on a window of 4,000, with one call each, and a summariser. */
function longConversation(): Long {
  const writer = scriptedModel(({ messages }) => {
    const prompt = messages.at(-1)?.content ?? '';
    const known = [...(prompt.match(/\bn\d+\b/g) ?? []), ...labels(prompt).map((label) => label.replace('t', 'n'))];
    return { text: `## Done\n- notes of ${known.join(' ')}\n${'so that nobody has to read it again '.repeat(6)}` };
  });
  let turns = 0;
  let requests = 0;
  let acting: { readonly request: number; act(): Promise<unknown> | unknown } | undefined;
  const main = scriptedModel(({ messages }): ScriptedReply => {
    requests += 1;
    const due = acting?.request === requests ? acting : undefined;
    const meanwhile = async () => void (await due?.act());
    if (messages.at(-1)?.role === 'user') return { calls: [call(`c${turns}-${requests}`)], meanwhile };
    return { text: `t${turns}: ${prose(120, `a${turns}x`)}`, meanwhile };
  });
  const model = { ...main, contextWindow: 4_000, maxOutputTokens: 400 };
  const look = defineTool({
    ...{ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true, risk: 'read' },
    execute: async () => 'seen',
  });
  const spec = agentSpec(model, { tools: [look], compression: { mode: 'llm', threshold: 0.6, model: writer } });
  const agents: Record<string, AgentSpec> = { assistant: spec };
  const reader = createReader(server, { agents, script: [] });
  return {
    ...{ reader, writer, model, agents },
    async turn(during, signal) {
      turns += 1;
      requests = 0;
      acting = during;
      await reader.say(`t${turns}: ${prose(120, `q${turns}x`)}`);
      await reader.run(signal);
    },
  };
}

/** Every request shows, as a whole, exactly the turns the notes do not stand for; the summariser saw each once. */
function expectNothingTwiceOrLost({ model, writer, reader }: Long, turns: number): void {
  const summarised = writer.requests.flatMap((request) => labels(given(request)));
  expect(summarised).toEqual(range(1, summarised.length + 1));
  const last = model.requests.at(-1);
  const shown = last ? labelsOf(last) : [];
  expect(shown).toEqual(range(turns - shown.length + 1, turns + 1));
  expect(turns - shown.length).toBe(summarised.length);
  const notes = last?.messages.find((message) => isSummaryMessage(message))?.content ?? '';
  for (const label of summarised) expect(notes.split(/\s/)).toContain(label.replace('t', 'n'));
  expect(reader.state().summary?.text).toBe(notes.slice(notes.indexOf('## Done')));
}

describe('a long conversation', () => {
  it('is summarised across turns, never the same span twice, and nothing of it is lost', async () => {
    const long = longConversation();
    for (let turn = 1; turn <= 24; turn += 1) await long.turn();
    expect(long.writer.requests.length).toBeGreaterThan(2);
    expectNothingTwiceOrLost(long, 24);
    // The summary stands beside the originals, which stay.
    expect(labels(JSON.stringify(long.reader.state().history))).toEqual(range(1, 25));
    expect(long.reader.shown().some((text) => /Earlier messages were shortened/.test(text))).toBe(true);
  });

  it.each([
    ['right after the summary, in the first request', 1],
    ['in the second request', 2],
  ])('goes on after its process was lost %s, without another summary of the same', async (_where, request) => {
    const long = longConversation();
    let written = 0;
    let losses = 0;
    for (let turn = 1; turn <= 20; turn += 1) {
      const shutdown = new AbortController();
      const act = () => {
        // Lost in each turn that wrote a summary.
        if (long.writer.requests.length === written) return;
        written = long.writer.requests.length;
        losses += 1;
        shutdown.abort('shutdown');
      };
      await long.turn({ request, act }, shutdown.signal);
      if (shutdown.signal.aborted) await long.reader.run();
      written = long.writer.requests.length;
    }
    expect(losses).toBeGreaterThan(1);
    expectNothingTwiceOrLost(long, 20);
    expect(long.reader.shown()).toHaveLength(20);
  });

  it('is there as it was when compressHistory is off: no notes, the originals, newest whole turns first', async () => {
    const long = longConversation();
    for (let turn = 1; turn <= 12; turn += 1) await long.turn();
    const { summary } = long.reader.state();
    expect(summary?.through).toBeGreaterThan(0);
    const wide = { ...long.model, contextWindow: 128_000 };
    const { assistant } = long.agents;
    if (!assistant) throw new Error('no agent');
    long.agents.assistant = { ...assistant, model: wide, compressHistory: false };
    const before = long.writer.requests.length;
    await long.turn();
    const request = long.model.requests.at(-1);
    const { history } = long.reader.state();
    expect(labelsOf(request ?? { messages: [], tools: undefined, toolChoice: undefined })).toEqual(range(1, 14));
    expect(request?.messages.filter(({ role }) => role !== 'system').slice(0, 48)).toEqual(history.slice(0, 48));
    expect(long.writer.requests).toHaveLength(before);
    // Switched on again, the notes are still there.
    expect(long.reader.state().summary).toEqual(summary);
    long.agents.assistant = assistant;
    await long.turn();
    expectNothingTwiceOrLost(long, 14);
  });

  it('is forgotten by /new together with its summary', async () => {
    const long = longConversation();
    for (let turn = 1; turn <= 12; turn += 1) await long.turn();
    expect(long.reader.state().summary).not.toBeNull();
    await long.reader.control('new');
    await long.reader.run();
    expect(long.reader.state()).toMatchObject({ summary: null, summaryFailures: 0, history: [] });
    const before = long.writer.requests.length;
    for (let turn = 13; turn <= 24; turn += 1) await long.turn();
    const later = long.writer.requests.slice(before);
    expect(later.length).toBeGreaterThan(0);
    expect(later.flatMap((request) => labels(given(request)))[0]).toBe('t13');
    for (const request of later) expect(JSON.stringify(request.messages)).not.toMatch(/notes of n1 |\bt12:/);
    const numbered = range(13, 25);
    for (const label of long.model.requests.slice(-2).flatMap(labelsOf)) expect(numbered).toContain(label);
  });
});
