import { describe, expect, it } from 'vitest';
import type { AgentSpec } from '../../../src/core/agent/agent-spec.js';
import { PlanUnfinishedError } from '../../../src/core/agent/plan-agent.js';
import type { LoopState } from '../../../src/core/agent/run-state.js';
import type { ModelScript, ModelStep } from '../../fakes/model-server.js';
import { planOf, step } from '../plan/sample-plan.js';
import { lines } from './loop-fixture.js';
import { calls, type PlayOptions, play, results, sent, simpleTool } from './turn-fixture.js';

/*
 * Mode plan, row by row, and where each row is tested.
 * | a direct answer                                   | here                                                        |
 * | plan, early answer, steps done, final             | here; as people see it: test/e2e/plan.test                  |
 * | a tool after the finished plan, early answer      | here                                                        |
 * | ask_agent                                         | test/jobs/ask.test (ours: the whole round is kept, and the  |
 * |                                                   | chain goes on byte for byte); wrong arguments: here         |
 * | the gate refused three times                      | here; as people see it: test/jobs/run-end.test              |
 * | the brake under a plan, the forced answer         | here                                                        |
 * | wrong arguments, unknown tool, thrown error       | here; in mode tools: modes.test                             |
 * | calls above maxToolCallsPerTurn                   | here                                                        |
 * | a business tool called like an internal one       | run-turn.test: keeps the loop own tools …                   |
 * | parallel batches of ordinary tools                | run-turn.test: runs ordinary tools of mode plan …           |
 * | enableTools: false                                | run-turn.test: without tools …                              |
 */

const update = (id: string, ...updates: readonly object[]): ModelStep => calls([id, 'update_plan', { updates }]);
const setPlan = (...statuses: readonly ('pending' | 'done')[]) => ({
  action: 'set_plan',
  plan: planOf(statuses.map((status, at) => step(`s${at + 1}`, { status, outputSummary: 'found' }))),
});
const done = (stepId: string, over: object = {}) => ({
  ...{ action: 'update_step', stepId, status: 'done', outputSummary: 'found' },
  ...over,
});
const look = simpleTool('look');

const plan = (script: ModelScript, { agent, ...options }: PlayOptions = {}) =>
  play(script, { ...options, agent: { mode: 'plan', tools: [look], ...agent } });

/** A steer that is found once, as soon as the chain says so. */
function steerWhen(due: (loop: LoopState) => boolean, message = 'one more thing') {
  let given = false;
  return {
    async takeSteering({ loop }: { loop: LoopState }) {
      if (given || !due(loop)) return undefined;
      given = true;
      return { message, count: 1 };
    },
  };
}

const atRound = (round: number) => steerWhen((loop) => loop.round === round);
const afterAnswer = (message?: string) => steerWhen(({ messages }) => messages.at(-1)?.role === 'assistant', message);

const choices = ({ requests }: Awaited<ReturnType<typeof play>>) => requests.map(({ body }) => body.tool_choice);

describe('mode plan', () => {
  it('a direct answer: one request with the system prompt, text and reasoning, no plan', async () => {
    const { result, requests, of } = await plan({ text: 'Blue.', reasoning: 'hm' });
    expect(result).toMatchObject({ finish: 'final', text: 'Blue.', reasoning: 'hm' });
    expect(requests).toHaveLength(1);
    expect(requests[0]?.body.messages[0]).toMatchObject({ role: 'system' });
    expect(requests[0]?.body.messages[0].content).toContain('update_plan');
    expect(result.turn.plan?.plan).toBeNull();
    expect(of('plan.updated')).toEqual([]);
  });

  it('a plan with a draft beside it, an early answer, both steps done, the final answer', async () => {
    const played = await plan([
      { text: 'Let me plan.', ...update('p1', setPlan('pending', 'pending')) },
      { text: 'That is it.' },
      update('p2', done('s1'), done('s2')),
      { text: 'The report.' },
    ]);
    const { result, requests, events, of } = played;
    expect(requests).toHaveLength(4);
    expect(sent(played, 2).at(-2)).toBe('assistant:That is it.');
    expect(sent(played, 2).at(-1)).toMatch(/^user:<stop_gate_feedback>\n.*Step s1.*Step s2/s);
    expect(result).toMatchObject({ finish: 'final', text: 'The report.' });
    // All three were streamed; the refused one was taken back and is no part of what later turns see.
    const streamed = of('text.delta').map(({ text }) => text);
    expect(streamed.join('')).toBe('Let me plan.That is it.The report.');
    expect(of('draft.refused')).toEqual([{ type: 'draft.refused', text: 'That is it.' }]);
    expect(lines(result.state.produced).filter((line) => line.startsWith('assistant:'))).toEqual([
      ...['assistant:Let me plan.', 'assistant:', 'assistant:The report.'],
    ]);
    expect(of('plan.updated').map(({ plan: view }) => view?.steps.map(({ status }) => status))).toEqual([
      ['pending', 'pending'],
      ['done', 'done'],
    ]);
    // The refusal belongs to the round and the request before it.
    const before = events.slice(
      0,
      events.findIndex(({ type }) => type === 'draft.refused'),
    );
    expect(before.findLast(({ type }) => type === 'request.finished')).toMatchObject({ round: 2 });
    expect(choices(played)).toEqual([undefined, undefined, undefined, 'none']);
  });

  it('a tool after the finished plan and an early answer: refused, recorded, then final; the evidence is kept', async () => {
    const evidence = [{ kind: 'tool_result', ref: 'c1', summary: 'look done' }];
    const played = await plan([
      update('p1', setPlan('pending')),
      update('p2', done('s1')),
      calls(['c1', 'look']),
      { text: 'Done.' },
      update('p3', done('s1', { evidence })),
      { text: 'Done, with proof.' },
    ]);
    expect(played.requests).toHaveLength(6);
    expect(sent(played, 4).at(-1)).toMatch(/not recorded/);
    expect(played.result).toMatchObject({ finish: 'final', text: 'Done, with proof.' });
    expect(played.result.turn.plan?.plan?.steps[0]?.evidence).toEqual(evidence);
  });

  it('wrong arguments of ask_agent are no stop: the model may ask again', async () => {
    const ask = { reason: 'r', blockerType: 'ambiguous_goal', question: 'Which?', options: ['a', 'b', 'c'] };
    const played = await plan([
      calls(['q1', 'ask_agent', { ...ask, options: ['a'] }]),
      calls(['q2', 'ask_agent', ask]),
    ]);
    expect(results(played)[0]).toMatch(/^Error: .*options/s);
    expect(played.result).toMatchObject({ finish: 'ask', suspendedCalls: [{ call: { id: 'q2' }, kind: 'ask' }] });
  });

  it('a plan asked for and never made: two refusals, then an error; only the last text stands', async () => {
    const { result, requests, of } = await plan([{ text: 'one' }, { text: 'two' }, { text: 'three' }], {
      ...{ text: '请先列个计划，再写报告' },
    });
    expect(requests).toHaveLength(3);
    expect(result).toMatchObject({ finish: 'error', text: 'three' });
    expect(result.finish === 'error' && result.error).toBeInstanceOf(PlanUnfinishedError);
    expect(of('draft.refused').map(({ text }) => text)).toEqual(['one', 'two']);
    expect(lines(result.state.produced)).toEqual(['assistant:three']);
    expect(result.state.usage.requests).toBe(3);
  });

  it.each([0, 1])('the gate refuses as often as the agent allows: %i', async (maxStopGateRejections) => {
    const { result, requests } = await plan(
      { text: 'no plan' },
      { text: 'make a plan first', agent: { maxStopGateRejections } },
    );
    expect(result).toMatchObject({ finish: 'error', error: { rejections: maxStopGateRejections } });
    expect(requests).toHaveLength(maxStopGateRejections + 1);
  });

  it('a steer gives the gate its refusals back', async () => {
    const played = await plan(
      [{ text: 'one' }, { text: 'two' }, { text: 'three' }, { text: 'four' }, { text: 'five' }],
      {
        ...{ text: 'make a plan first', host: atRound(2) },
      },
    );
    expect(played.requests).toHaveLength(4);
    expect(played.result).toMatchObject({ finish: 'error', text: 'four' });
  });
});

describe('the brake under a plan', () => {
  const looks = (count: number) => Array.from({ length: count }, (_, at) => calls([`c${at}`, 'look']));

  it('forces a text in the seventh request after six rounds of calls alone', async () => {
    const played = await plan([
      update('p1', setPlan('pending')),
      ...looks(5),
      { text: 'x' },
      { text: 'x' },
      { text: 'x' },
    ]);
    expect(choices(played).slice(0, 7)).toEqual([...Array(6).fill(undefined), 'none']);
    expect(played.requests[6]?.body.tools.length).toBeGreaterThan(0);
  });

  it('is released by the refused draft, so that the plan can be finished', async () => {
    const played = await plan([
      update('p1', setPlan('pending')),
      ...looks(5),
      { text: 'early' },
      update('p2', done('s1')),
      { text: 'final' },
    ]);
    expect(choices(played)).toEqual([...Array(6).fill(undefined), 'none', undefined, 'none']);
    expect(played.result).toMatchObject({ finish: 'final', text: 'final' });
  });

  it('is released by a steer', async () => {
    const played = await plan([...looks(7), { text: 'x' }], { host: atRound(6) });
    expect(choices(played)).toEqual(Array(8).fill(undefined));
  });
});

describe('the answer a finished plan forces', () => {
  it('is forced no more after a steer, until the plan is brought up to date', async () => {
    const played = await plan(
      [
        update('p1', setPlan('done')),
        { text: 'All done.' },
        calls(['c1', 'look']),
        update('p2', done('s1')),
        { text: 'Done again.' },
      ],
      { host: afterAnswer() },
    );
    expect(choices(played)).toEqual([undefined, 'none', undefined, undefined, 'none']);
    expect(played.of('answer.closed')).toEqual([{ type: 'answer.closed', text: 'All done.' }]);
    expect(played.result).toMatchObject({ finish: 'final', text: 'Done again.' });
  });

  it('is the answer all the same when the steer needs no tool', async () => {
    const played = await plan([update('p1', setPlan('done')), { text: 'All done.' }, { text: 'You are welcome.' }], {
      ...{ host: afterAnswer('thanks') },
    });
    expect(played.result).toMatchObject({ finish: 'final', text: 'You are welcome.' });
    expect(played.requests).toHaveLength(3);
  });
});

describe.each(['tools', 'plan'] as const)('mistakes of the model in mode %s', (mode) => {
  const over = (agent: Partial<AgentSpec> = {}) => ({ agent: { mode, ...agent } });

  it('in arguments, in a name, or of the tool itself are texts for it, and the run goes on', async () => {
    const fails = simpleTool('fails', { execute: () => Promise.reject(new Error('disk full')) });
    const played = await plan(
      [
        calls(['a', 'look', '{"x":'], ['b', 'lok'], ['c', 'fails'], ['d', 'look', { where: 1 }], ['e', 'look', '']),
        { text: 'So.' },
      ],
      over({ tools: [look, fails] }),
    );
    const [broken, unknown, thrown, wrong, empty] = results(played);
    expect(broken).toMatch(/^Error: .*not valid JSON/);
    expect(unknown).toMatch(/^Error: there is no tool "lok"\. Did you mean look\?/);
    expect(thrown).toBe('Error: disk full');
    expect(wrong).toMatch(/^Error: the arguments of look are wrong: .*where/);
    expect(empty).toBe('look done');
    expect(played.of('tool.finished').map(({ failed }) => failed)).toEqual([true, true, true, true, false]);
    expect(played.result).toMatchObject({ finish: 'final', text: 'So.' });
  });

  it('more calls than maxToolCallsPerTurn all run: the number is told, not enforced', async () => {
    const many = Array.from({ length: 9 }, (_, at) => [`c${at}`, 'look'] as const);
    const played = await plan([calls(...many), { text: 'x' }], over({ maxToolCallsPerTurn: 3 }));
    expect(played.requests[0]?.body.messages[0].content).toMatch(/at most 3 tool/i);
    expect(results(played)).toEqual(Array(9).fill('look done'));
  });
});
