import { describe, expect, it } from 'vitest';
import type { ToolOutcome } from '../../../src/core/tools/tool.js';
import { agentSpec } from '../../fakes/agent-spec.js';
import { prose } from './compression/fixture.js';
import { calls, play, results, simpleTool, withModel } from './turn-fixture.js';

/*
 * What tools may do to a run, row by row, and where each row is tested.
 * | an unknown tool                                | modes.test; a list and similar names: test/core/tools/toolbox    |
 * | a tool that pauses and stops, with a cost      | here                                                             |
 * | resume                                         | here; several, again, with a stop: tool-calls.test; in the chat: |
 * |                                                | test/jobs/interactive.test                                       |
 * | context compression without a request          | here; as a detail of the run: test/jobs/turn-memory.test         |
 * | usages inside a tool                           | here; as rows of the run: test/jobs/turn-usage.test              |
 * | compression of a result                        | here; in two requests: conformance.test                          |
 * | a stop tool                                    | tool-calls.test: a stop tool; through the catalog: here          |
 * | serial tools, 50 rounds                        | tool-calls.test: is serial …; modes.test: lasts 50 rounds        |
 * | preview of stored results                      | test/jobs/turn-memory.test                                       |
 * | a chat agent as a tool                         | test/core/subagents/agent-tool.test                              |
 * Results are texts by their type, so there is no row about objects; internal names are out of reach of business tools
 * (run-turn.test: keeps the loop own tools …).
 */

const outcome = (name: string, given: ToolOutcome, resumed?: ToolOutcome) =>
  simpleTool(name, {
    execute: async () => given,
    ...(resumed && { resume: async (_args, answer) => ({ ...resumed, content: `${resumed.content} ${answer}` }) }),
  });

const waiting = { content: 'Waiting.', suspend: 'interactive', question: { text: 'Who?' } } as const;

describe('a tool', () => {
  it('that pauses and stops at once, and costs: the run waits, the cost is counted, the round is whole', async () => {
    const form = outcome('form', { ...waiting, stop: true, cost: 5 });
    const played = await play([calls(['f1', 'form'], ['c1', 'look'])], {
      agent: { tools: [form, simpleTool('look')] },
    });
    expect(played.result).toMatchObject({ finish: 'interactive', suspendedCalls: [{ call: { id: 'f1' } }] });
    expect(results(played)).toEqual(['Waiting.', 'look done']);
    expect(played.result.state.usage).toMatchObject({ inputTokens: 10, cost: 15, requests: 1 });
    expect(played.of('tool.finished').map(({ call, cost }) => [call.id, cost])).toEqual([
      ['f1', 5],
      ['c1', 0],
    ]);
  });

  it('that goes on after its pause has the same call, its cost is added, and the run goes on unless it stops', async () => {
    for (const stop of [false, true]) {
      const form = outcome('form', { ...waiting, stop: true }, { content: 'hello', stop, cost: 2 });
      const agent = { tools: [form] };
      const first = await play([calls(['f1', 'form'])], { agent });
      const state = { ...first.result.turn, answers: [{ callId: 'f1', answer: 'Ada' }] };
      const second = await play(stop ? [] : [{ text: 'Nice to meet you.' }], { agent, state });
      expect(second.of('tool.started').map(({ call }) => call.id)).toEqual(['f1']);
      expect(second.of('tool.finished')).toMatchObject([{ content: 'hello Ada', cost: 2 }]);
      expect(results(second)).toEqual(['hello Ada']);
      expect(second.requests).toHaveLength(stop ? 0 : 1);
      expect(second.result.finish).toBe('final');
      expect(second.result.turn).toMatchObject({ interactive: {}, answers: [] });
    }
  });

  it('that stops ends the run as final with the text beside its call, and the other calls get results', async () => {
    const played = await play([{ text: 'Bye.', ...calls(['s1', 'enough'], ['c1', 'look']) }], {
      agent: { tools: [outcome('enough', { content: 'ok', stop: true }), simpleTool('look')] },
    });
    expect(played.result).toMatchObject({ finish: 'final', text: 'Bye.' });
    expect(results(played)).toEqual(['ok', 'look done']);
  });

  it('whose result is compressed shows and stores the compressed text, and what it costs is the call’s', async () => {
    const { result: played } = await withModel({ text: 'in short' }, { name: 'writer' }, (writer) =>
      play([calls(['c1', 'look']), { text: 'x' }], {
        agent: {
          tools: [simpleTool('look', { execute: async () => prose(9_000, 'r') })],
          compression: { mode: 'llm', threshold: 0.8, model: writer },
        },
      }),
    );
    const [finished] = played.of('tool.finished');
    expect(finished?.content).toMatch(/\n\nin short$/);
    expect(results(played)).toEqual([finished?.content]);
    const inside = played.of('request.finished').filter(({ source }) => source === 'compression');
    expect(inside).toMatchObject([{ model: 'writer', callId: 'c1', cost: 10 }]);
    expect(played.result.state.usage).toMatchObject({ requests: 2, inputTokens: 20 });
  });

  it('that asks a model inside leaves the agent’s own totals alone', async () => {
    const { result: played } = await withModel({ text: 'inner' }, { name: 'inner' }, (inner) =>
      play([calls(['a1', 'agent_helper', { task: 'do it' }]), { text: 'outer' }], {
        agent: { subAgents: ['helper'] },
        agents: () => agentSpec(inner, { name: 'helper' }),
      }),
    );
    expect(results(played)).toEqual(['inner']);
    expect(played.result.state.usage).toMatchObject({ requests: 2, inputTokens: 20, cost: 20 });
    const nested = played.of('subagent').map(({ event }) => event);
    expect(nested.filter(({ type }) => type === 'request.finished')).toMatchObject([{ model: 'inner', cost: 10 }]);
  });

  it('compression of the context by rules alone costs nothing and is told once', async () => {
    const old = Array.from({ length: 5 }, (_, n) => [
      { role: 'user' as const, content: `q${n}` },
      { role: 'assistant' as const, content: '', toolCalls: [{ id: `h${n}`, name: 'look', arguments: '{}' }] },
      { role: 'tool' as const, toolCallId: `h${n}`, content: prose(600, `t${n}`) },
    ]).flat();
    const played = await play([{ text: 'x' }], {
      ...{ history: old, model: { contextWindow: 4_000, maxOutputTokens: 400 } },
      agent: { compression: { mode: 'algorithmic', threshold: 0.8 } },
    });
    expect(played.of('compressed').map(({ how }) => how)).toEqual(['results']);
    expect(played.of('request.finished')).toHaveLength(1);
    expect(played.result.state.usage.requests).toBe(1);
  });
});
