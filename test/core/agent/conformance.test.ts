import { afterEach, describe, expect, it, vi } from 'vitest';
import { agentSpec } from '../../fakes/agent-spec.js';
import type { ModelScript, RecordedRequest } from '../../fakes/model-server.js';
import { assistant, prose, user } from './compression/fixture.js';
import { calls, play, results, sent, simpleTool, withModel } from './turn-fixture.js';

/*
 * The behaviour the loop is held to, row by row, and where each row is tested.
 *
 * The kernel
 * | one text answer with reasoning           | run-agent-loop.test: an answer; its request id: here                      |
 * | compression returns checkpoint and usage | here                                                                      |
 * | one tool call, then text                 | tool-calls.test: puts its result into both chains; ids of requests: here  |
 * | a child pauses                           | here; several in one round: tool-calls.test, test/jobs/interactive.test   |
 * | the compressor changes the text          | tool-calls.test: that gives nothing says none …                           |
 * | an empty result of a tool                | tool-calls.test: the same                                                 |
 * | reasoning effort                         | here                                                                      |
 * | compression in two requests, 1.234 s     | here                                                                      |
 * | two parallel calls                       | here; order and batches: tool-calls.test                                  |
 *
 * How a run ends
 * | text, no calls                           | run-agent-loop.test: an answer                                            |
 * | the request failed                       | run-agent-loop.test: a failure; chat-turn.test: that fails …              |
 * | nothing came, or calls that do not exist | run-agent-loop.test: an empty reply (ours: asked once more)               |
 * | cut by length                            | run-agent-loop.test: a cut answer; as people see it: test/jobs/run-end    |
 * | withheld by a filter, whole or in part   | here; as people see it: test/jobs/run-end.test                            |
 * | an abort in the middle of an answer      | run-agent-loop.test: an abort; loop-over-http.test                        |
 * | the gate refused three times             | conformance-plan.test                                                     |
 * | the cap of rounds                        | run-agent-loop.test: the cap (ours: one last answer without tools)        |
 * | a child pauses, a stop tool              | tool-calls.test: a suspended call, a stop tool                            |
 * | arguments that are no JSON, unknown tool | modes.test, loop-over-http.test; in mode plan: conformance-plan.test      |
 *
 * Plan and stop gate: test/core/plan, each row by name (state.test, stop-gate.test, ask-agent.test, update-plan.test).
 * Mode plan: conformance-plan.test. Tools: conformance-tools.test. Mode chat: chat-turn.test, quotes.test, history.test.
 */

const NOTES = `## Goal\n- notes ${'about the earlier messages '.repeat(12)}`;
const isSummary = ({ body }: RecordedRequest) => /You keep notes/.test(body.messages[0]?.content);
const isShortening = ({ body }: RecordedRequest) => /You shorten the result/.test(body.messages[0]?.content);
const history = ['a', 'b', 'c', 'd'].flatMap((name) => [user(prose(300, name)), assistant(prose(300, `${name}x`))]);
const small = { contextWindow: 4_000, maxOutputTokens: 400 } as const;
const byModel = { mode: 'llm', threshold: 0.5 } as const;

/** Answers the compression's requests, and the agent's own with the steps in order. */
function beside(steps: readonly Exclude<ModelScript, readonly unknown[]>[], compressing: object): ModelScript {
  let at = 0;
  return (request, index) => {
    if (isSummary(request) || isShortening(request)) return compressing;
    const step = steps[at++];
    return (typeof step === 'function' ? step(request, index) : step) ?? {};
  };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('the kernel', () => {
  it('one tool call, then text: two requests, whose ids are told in order', async () => {
    const { result, requests, of } = await play(
      [
        { ...calls(['c1', 'look']), requestId: 'req_1' },
        { text: 'Seen.', reasoning: 'hm', requestId: 'req_2' },
      ],
      { agent: { tools: [simpleTool('look')] } },
    );
    expect(result).toMatchObject({ finish: 'final', text: 'Seen.', reasoning: 'hm' });
    expect(requests[1]?.body.messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'c1', content: 'look done' });
    expect(of('request.finished').map(({ requestId }) => requestId)).toEqual(['req_1', 'req_2']);
    expect(result.state.usage).toMatchObject({ requests: 2, inputTokens: 20, cost: 20 });
  });

  it('compression returns a checkpoint and its usage: the next request begins with it, the turn carries it', async () => {
    const { result, requests, of } = await play(
      beside([{ text: 'Answer.' }], { text: NOTES, requestId: 'req_notes' }),
      {
        ...{ history, historyFrom: 10, model: small, agent: { compression: byModel } },
      },
    );
    expect(requests.map(isSummary)).toEqual([true, false]);
    expect(result.turn.compression.summary).toEqual({ text: NOTES.trim(), through: 14 });
    expect(sent({ requests }, 1)[0]).toContain(NOTES.trim());
    expect(sent({ requests }, 1).slice(1, -1)).toEqual(
      history.slice(4).map(({ role, content }) => `${role}:${content}`),
    );
    expect(of('request.finished').map(({ source, requestId }) => [source, requestId])[0]).toEqual([
      ...['compression', 'req_notes'],
    ]);
    const [compressed] = of('compressed');
    expect(compressed?.how).toBe('summary');
    expect(compressed?.unchanged).toBeUndefined();
    expect(compressed?.after).toBeLessThan(compressed?.before ?? 0);
    // What the notes cost is a request of its own, beside the agent's.
    expect(result.state.usage).toMatchObject({ requests: 1, cost: 10 });
  });

  it('a child pauses: one request, and its call, question and own data are kept', async () => {
    const form = simpleTool('form', {
      execute: async () => ({
        ...{ content: 'Waiting.', suspend: 'interactive', resumeData: { page: 1 } },
        question: { text: 'Which size?', options: [{ id: 's', label: 'Small' }] },
      }),
    });
    const { result, requests } = await play([calls(['f1', 'form'])], { agent: { tools: [form] } });
    expect(requests).toHaveLength(1);
    expect(result.finish).toBe('interactive');
    expect(result.suspendedCalls).toEqual([{ call: { id: 'f1', name: 'form', arguments: '{}' }, kind: 'interactive' }]);
    expect(result.turn.interactive).toEqual({
      f1: { text: 'Which size?', options: [{ id: 's', label: 'Small' }], resumeData: { page: 1 } },
    });
    expect(results({ result })).toEqual(['Waiting.']);
  });

  it('the effort of reasoning goes to both compressors, unless they have a model of their own', async () => {
    const thinking = { ...small, capabilities: { reasoning: true } };
    const script = beside([calls(['c1', 'look']), { text: 'Answer.' }], { text: NOTES });
    const agent = { tools: [simpleTool('look', { execute: async () => prose(8_000, 'r') })], compression: byModel };
    const own = await play(script, { history, model: thinking, agent });
    const efforts = new Set(own.requests.map(({ body }) => body.reasoning_effort));
    expect(own.requests.some(isSummary) && own.requests.some(isShortening)).toBe(true);
    expect(efforts).toEqual(new Set(['medium']));
    const { requests } = await withModel({ text: NOTES }, { name: 'writer', ...thinking }, async (writer) => {
      const compression = { ...byModel, model: writer };
      const other = await play([calls(['c1', 'look']), { text: 'Answer.' }], {
        ...{ history, model: thinking, agent: { ...agent, compression } },
      });
      expect(other.result.finish).toBe('final');
      expect(other.requests.every(({ body }) => body.reasoning_effort === 'medium')).toBe(true);
    });
    expect(requests.some(isSummary) && requests.some(isShortening)).toBe(true);
    expect(requests.every(({ body }) => body.reasoning_effort === undefined)).toBe(true);
  });

  it('compression of a result in two requests that take 1.234 s: both are told with the call, the time is its', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    let half = 0;
    const script: ModelScript = (request) => {
      if (!isShortening(request)) {
        return request.body.messages.at(-1).role === 'tool' ? { text: 'Answer.' } : calls(['c1', 'look']);
      }
      vi.advanceTimersByTime(617);
      half += 1;
      return { text: `in short ${half}`, requestId: `req_${half}` };
    };
    const raw = prose(15_000, 'r');
    const { result, of } = await play(script, {
      model: { contextWindow: 20_000, maxOutputTokens: 1_000 },
      agent: { tools: [simpleTool('look', { execute: async () => raw })], compression: byModel },
    });
    const inside = of('request.finished').filter(({ source }) => source === 'compression');
    expect(inside.map(({ callId, requestId }) => `${callId} ${requestId}`).sort()).toEqual(['c1 req_1', 'c1 req_2']);
    const [finished] = of('tool.finished');
    expect(finished?.content).toMatch(
      /^\[A summary of the result; the whole has \d+ characters\.\]\n\nin short \d\n\nin/,
    );
    expect(finished?.content).toBe(results({ result })[0]);
    expect(finished?.milliseconds).toBeCloseTo(1_234);
    const [compressed] = of('compressed');
    expect(compressed?.before).toBeGreaterThan(7_000);
    expect(compressed?.after).toBeLessThan(100);
  });

  it('two parallel calls: each is announced, started and finished once', async () => {
    const { of } = await play([calls(['a', 'look'], ['b', 'look']), { text: 'x' }], {
      agent: { mode: 'plan', tools: [simpleTool('look')] },
    });
    expect(of('tool.announced')).toHaveLength(2);
    expect(of('tool.started').map(({ call }) => call.id)).toEqual(['a', 'b']);
    expect(of('tool.finished').map(({ call }) => call.id)).toEqual(['a', 'b']);
  });
});

describe('how a run ends', () => {
  it.each(['tools', 'plan', 'chat'] as const)(
    'an answer that is withheld as a whole is told as that: %s',
    async (mode) => {
      const { result, of, requests } = await play({ finishReason: 'content_filter' }, { agent: { mode } });
      expect(result).toMatchObject({ finish: 'final', text: '' });
      expect(of('notice').at(-1)).toEqual({ type: 'notice', notice: 'content_filter' });
      // Asking again would not help.
      expect(requests).toHaveLength(1);
    },
  );

  it.each([
    ['length', 'tools'],
    ['length', 'plan'],
    ['content_filter', 'tools'],
    ['content_filter', 'plan'],
  ] as const)('a text that ends by %s stands and is told: %s', async (finishReason, mode) => {
    const { result, of } = await play([{ text: 'half of', finishReason }], { agent: { mode } });
    expect(result).toMatchObject({ finish: 'final', text: 'half of' });
    expect(of('notice')).toEqual([{ type: 'notice', notice: finishReason }]);
  });

  it.each(['tools', 'plan'] as const)(
    'calls that were cut by length get a result and the run goes on: %s',
    async (mode) => {
      const { result, requests } = await play(
        [
          { toolCalls: [{ id: 'c1', name: 'look', arguments: '{"where": "up' }], finishReason: 'length' },
          { text: 'x' },
        ],
        { agent: { mode, tools: [simpleTool('look')] } },
      );
      expect(result.finish).toBe('final');
      expect(requests[1]?.body.messages.at(-1).content).toMatch(/not valid JSON/);
    },
  );

  it('a model that fails under another name than the default is an error that names it, never another model', async () => {
    const { result, requests } = await play(
      { fault: { kind: 'status', status: 401 } },
      { model: { name: 'chosen' }, agent: { model: agentSpecModel } },
    );
    expect(result).toMatchObject({ finish: 'error', error: { kind: 'unauthorized', model: 'chosen' } });
    expect(requests).toHaveLength(1);
  });
});

/** The agent's own model; being asked is a failure. */
const agentSpecModel = agentSpec({
  ...{ name: 'default', contextWindow: 1, maxOutputTokens: 1, price: [] },
  capabilities: { vision: false, audio: false, video: false, reasoning: false },
  request: () => Promise.reject(new Error('the default model was asked')),
}).model;
