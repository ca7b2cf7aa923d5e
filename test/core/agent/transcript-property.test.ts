import { expect, it } from 'vitest';
import type { AgentLoopHooks, ToolResult } from '../../../src/core/agent/hooks.js';
import { runAgentLoop } from '../../../src/core/agent/run-agent-loop.js';
import { type LoopState, loopState } from '../../../src/core/agent/run-state.js';
import { createLoopState, writeResult } from '../../../src/core/agent/transcript.js';
import { SupersededError } from '../../../src/core/errors.js';
import { call, type ScriptedReply, scriptedModel, transcriptFaults } from './scripted-model.js';

/** mulberry32: the same run for the same seed. */
function dice(seed: number): (sides: number) => number {
  let a = seed;
  return (sides) => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * sides);
  };
}

const OUTCOMES: readonly (ToolResult | Error)[] = [
  { content: 'fine' },
  { content: '' },
  { content: 'bad', failed: true },
  new Error('broke'),
  { content: 'fine' },
  { content: 'waiting', suspend: 'ask' },
  { content: 'waiting', suspend: 'interactive' },
  { content: 'enough', stop: true },
];

it('holds one result for each call, in order, through 1,000 rounds of anything', async () => {
  const finishes = new Map<string, number>();
  let rounds = 0;
  for (let seed = 1; rounds < 1_000; seed += 1) {
    const roll = dice(seed);
    let ids = 0;
    let aborted = false;
    const model = scriptedModel((): ScriptedReply => {
      const calls = Array.from({ length: roll(4) }, () => {
        ids += 1;
        return call(`c${ids}`, 'tool', roll(5) === 0 ? '' : '{}');
      });
      return { text: roll(3) === 0 ? 'text ' : '', ...(roll(12) > 0 && { calls }) };
    });
    const death = new SupersededError('death');
    const stored = { state: JSON.stringify(createLoopState([{ role: 'user', content: 'q' }])) };
    const commit = async (state: LoopState) => {
      stored.state = JSON.stringify(state);
      if (roll(15) === 0) throw death;
    };
    const hooks: AgentLoopHooks = {
      canBatchTool: () => roll(2) === 0,
      decideToolCall: async () => {
        const side = roll(20);
        if (side === 0) return { decision: 'deny', reason: 'no' };
        return { decision: side === 1 ? 'suspend' : 'run' };
      },
      beforeToolCalls: (_calls, state) => commit(state),
      afterToolResults: commit,
      onRunTool: async () => {
        const outcome = OUTCOMES[roll(roll(3) === 0 ? OUTCOMES.length : 5)] ?? { content: 'fine' };
        if (outcome instanceof Error) throw outcome;
        return outcome;
      },
      onRunInteractiveTool: async (_call, answer) => ({
        content: answer,
        ...(roll(4) === 0 && { suspend: 'interactive' }),
      }),
      drainSteering: async () => (roll(8) === 0 ? { message: 'steer', count: 1 } : undefined),
      onStopCandidate: async () => (roll(3) === 0 ? { decision: 'refuse', feedback: 'go on' } : { decision: 'allow' }),
      isAborted: () => {
        aborted ||= roll(60) === 0;
        return aborted;
      },
    };
    let answers: { callId: string; answer: string }[] = [];
    for (let processes = 0; processes < 40; processes += 1) {
      const state = loopState.parse(JSON.parse(stored.state));
      const input = { model, state, hooks, answers, maxIterations: 40, batchToolSize: 3 };
      const result = await runAgentLoop({ ...input, signal: new AbortController().signal }).catch((thrown: unknown) => {
        if (thrown !== death) throw thrown;
      });
      answers = [];
      if (!result) continue;
      finishes.set(result.finish, (finishes.get(result.finish) ?? 0) + 1);
      const waiting = result.suspendedCalls.filter(({ kind }) => kind === 'approval').map(({ call: { id } }) => id);
      for (const chain of [result.state.messages, result.state.produced]) {
        expect({ seed, faults: transcriptFaults(chain, waiting) }).toEqual({ seed, faults: [] });
      }
      if (result.suspendedCalls.length === 0) {
        rounds += result.state.round;
        break;
      }
      for (const { call: asked, kind } of result.suspendedCalls) {
        if (kind === 'ask') writeResult(result.state, asked.id, 'the answer');
        if (kind === 'interactive') answers.push({ callId: asked.id, answer: 'given' });
      }
      stored.state = JSON.stringify(result.state);
    }
  }
  // Every ending was really met.
  for (const finish of ['final', 'ask', 'approval', 'interactive', 'stopped', 'error']) {
    expect({ finish, met: finishes.has(finish) }).toEqual({ finish, met: true });
  }
});
