import { describe, expect, it } from 'vitest';
import type { AgentLoopHooks } from '../../../src/core/agent/hooks.js';
import { type AgentLoopResult, runAgentLoop } from '../../../src/core/agent/run-agent-loop.js';
import { type LoopState, loopState } from '../../../src/core/agent/run-state.js';
import { createLoopState } from '../../../src/core/agent/transcript.js';
import { SupersededError } from '../../../src/core/errors.js';
import { lines } from './loop-fixture.js';
import {
  call,
  type RecordedModelRequest,
  type ScriptedReply,
  scriptedModel,
  transcriptFaults,
} from './scripted-model.js';

/** A model that only looks at the chain, as a real one does: a restored run gets the same replies. */
function replyTo({ messages }: RecordedModelRequest): ScriptedReply {
  const results = messages.filter(({ role }) => role === 'tool').length;
  if (results === 0) return { text: 'looking', calls: [call('a'), call('b'), call('c')] };
  if (results === 3) return { calls: [call('d'), call('e')] };
  return { text: 'the answer' };
}

interface Process {
  /** Dies right after this commit (counted from 1); undefined: lives. */
  readonly diesAfter?: number;
  /** Dies when this tool ran but its result is not committed yet. */
  readonly diesIn?: string;
  readonly batchToolSize?: number;
}

/** One process: commits as JSON, remembers which tools really ran, dies where told. */
async function live(stored: { state: string }, ran: string[], process: Process): Promise<AgentLoopResult | 'died'> {
  const death = new SupersededError('death');
  let commits = 0;
  const commit = async (state: LoopState) => {
    stored.state = JSON.stringify(state);
    commits += 1;
    if (commits === process.diesAfter) throw death;
  };
  const hooks: AgentLoopHooks = {
    canBatchTool: () => process.batchToolSize !== undefined,
    beforeToolCalls: (_calls, state) => commit(state),
    afterToolResults: commit,
    async onRunTool({ id }, { interrupted }) {
      if (interrupted) return { content: `${id} interrupted` };
      ran.push(id);
      if (id === process.diesIn) throw death;
      return { content: `${id} ran` };
    },
  };
  const state = loopState.parse(JSON.parse(stored.state));
  const signal = new AbortController().signal;
  try {
    return await runAgentLoop({
      model: scriptedModel(replyTo),
      state,
      hooks,
      signal,
      batchToolSize: process.batchToolSize,
    });
  } catch (thrown) {
    if (thrown !== death) throw thrown;
    return 'died';
  }
}

async function killedAndTakenOver(process: Process) {
  const stored = { state: JSON.stringify(createLoopState([{ role: 'user', content: 'q' }])) };
  const ran: string[] = [];
  const first = await live(stored, ran, process);
  const second = first === 'died' ? await live(stored, ran, { ...process, diesAfter: 0, diesIn: '' }) : first;
  if (second === 'died') throw new Error('the second process died');
  return { first, second, ran };
}

describe.each([undefined, 2, 5])('a run taken over, tools in batches of %s', (batchToolSize) => {
  const options = batchToolSize === undefined ? {} : { batchToolSize };

  it('after each commit ends whole, and no call runs twice', async () => {
    let deaths = 0;
    for (let diesAfter = 1; ; diesAfter += 1) {
      const { first, second, ran } = await killedAndTakenOver({ ...options, diesAfter });
      expect(second).toMatchObject({ finish: 'final', text: 'the answer' });
      expect(transcriptFaults(second.state.messages)).toEqual([]);
      expect(transcriptFaults(second.state.produced)).toEqual([]);
      expect(new Set(ran).size).toBe(ran.length);
      expect(second.state.startedCalls).toEqual([]);
      if (first !== 'died') break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(3);
  });

  it.each(['a', 'b', 'c', 'd', 'e'])(
    'while tool %s ran reports it as interrupted and does not repeat it',
    async (id) => {
      const { second, ran } = await killedAndTakenOver({ ...options, diesIn: id });
      expect(second.finish).toBe('final');
      expect(ran.filter((name) => name === id)).toHaveLength(1);
      expect(lines(second.state.messages)).toContain(`tool:${id} interrupted`);
      expect(transcriptFaults(second.state.messages)).toEqual([]);
    },
  );
});

describe('a run taken over', () => {
  it('does not lose an ask, a form or a stop whose round was not committed as ended', async () => {
    for (const suspend of ['ask', 'interactive', 'stop'] as const) {
      const commits: string[] = [];
      const hooks: AgentLoopHooks = {
        beforeToolCalls: async (_calls, state) => void commits.push(JSON.stringify(state)),
        afterToolResults: async (state) => void commits.push(JSON.stringify(state)),
        async onRunTool({ id }) {
          if (id !== 'a') return { content: id };
          return suspend === 'stop' ? { content: 'stop', stop: true } : { content: 'waiting', suspend };
        },
      };
      const signal = new AbortController().signal;
      const run = (state: LoopState) => runAgentLoop({ model: scriptedModel(replyTo), state, hooks, signal });
      const expected = suspend === 'stop' ? 'final' : suspend;
      expect((await run(createLoopState([{ role: 'user', content: 'q' }]))).finish).toBe(expected);
      expect(commits).toHaveLength(3);
      for (const commit of commits.slice()) {
        const result = await run(loopState.parse(JSON.parse(commit)));
        expect(result.finish).toBe(expected);
        expect(transcriptFaults(result.state.messages)).toEqual([]);
      }
    }
  });

  it('keeps counting rounds and the brake', async () => {
    const state = createLoopState([{ role: 'user', content: 'q' }]);
    const restored: LoopState = { ...state, round: 14, toolOnlyRounds: 6 };
    const model = scriptedModel([{ calls: [call('z')] }, { text: 'x' }]);
    const result = await runAgentLoop({
      model,
      state: restored,
      hooks: { onRunTool: async () => ({ content: 'r' }) },
      signal: new AbortController().signal,
    });
    expect(model.requests[0]?.toolChoice).toBe('none');
    expect(result.finish).toBe('max_iterations');
  });
});
