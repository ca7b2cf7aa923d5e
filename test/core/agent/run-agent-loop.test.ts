import { describe, expect, it } from 'vitest';
import { createLoopState } from '../../../src/core/agent/transcript.js';
import { AbortedError, ModelError, SupersededError } from '../../../src/core/errors.js';
import { lines, loop } from './loop-fixture.js';
import { call, type ScriptedReply, transcriptFaults } from './scripted-model.js';

const toolRounds = (count: number): ScriptedReply[] =>
  Array.from({ length: count }, (_, n) => ({ calls: [call(`c${n}`)] }));

describe('an answer', () => {
  it('takes one request; text, reasoning, usage and events are reported', async () => {
    const { result, model, events, of } = await loop([{ text: 'the answer', reasoning: 'hm', inputTokens: 7 }]);
    expect(result).toMatchObject({ finish: 'final', text: 'the answer', reasoning: 'hm', suspendedCalls: [] });
    expect(result.state.usage).toEqual({ inputTokens: 7, outputTokens: 1, cost: 0, requests: 1 });
    expect(lines(result.state.messages)).toEqual(['user:question', 'assistant:the answer']);
    expect(lines(result.state.produced)).toEqual(['assistant:the answer']);
    expect(model.requests).toHaveLength(1);
    expect(events.map(({ type }) => type)).toEqual([
      'round.started',
      'reasoning.delta',
      'text.delta',
      'text.delta',
      'request.finished',
    ]);
    expect(of('request.finished')[0]).toMatchObject({ round: 1, finishReason: 'stop' });
  });

  it('never carries reasoning back to the model', async () => {
    const { model } = await loop([{ reasoning: 'secret thoughts', calls: [call('a')] }, { text: 'done' }]);
    expect(JSON.stringify(model.requests)).not.toContain('secret thoughts');
  });

  it('prices each request on its own tier and sums the prices; with an own key the price is 0', async () => {
    const price = [
      { upTo: 100, input: 1_000_000, output: 0 },
      { input: 3_000_000, output: 0 },
    ];
    const script = [
      { calls: [call('a')], inputTokens: 60 },
      { text: 'x', inputTokens: 60 },
    ];
    const { result, of } = await loop(script, { price });
    expect(result.state.usage).toMatchObject({ inputTokens: 120, cost: 120, requests: 2 });
    expect(of('request.finished').map(({ cost }) => cost)).toEqual([60, 60]);
    expect((await loop(script, { price, ownKey: true })).result.state.usage.cost).toBe(0);
  });
});

describe('the order of a round', () => {
  it('is abort check, steering, compression, control, request, tools, boundary, stop decision', async () => {
    const seen: string[] = [];
    const note = <Result>(name: string, result: Result) => {
      seen.push(name);
      return result;
    };
    await loop((_request, index) => note('request', index === 0 ? { calls: [call('a')] } : { text: 'x' }), {
      hooks: {
        isAborted: () => false,
        drainSteering: async () => note('drain', undefined),
        onCompressContext: async () => note('compress', undefined),
        getRequestControl: () => note('control', {}),
        decideToolCall: async () => note('decide', { decision: 'run' }),
        beforeToolCalls: async () => note('before', undefined),
        onRunTool: async () => note('tool', { content: 'r' }),
        compressToolResponse: async (_call, content) => note('compressTool', content),
        afterToolResults: async () => note('after', undefined),
        onStopCandidate: async () => note('gate', { decision: 'allow' }),
      },
    });
    const round = ['drain', 'compress', 'control', 'request'];
    expect(seen).toEqual([
      ...round,
      ...['decide', 'before', 'tool', 'compressTool', 'after'],
      ...round,
      ...['gate', 'drain'],
    ]);
  });

  it('sends what the compression gives back', async () => {
    const { model, result } = await loop([{ text: 'x' }], {
      hooks: { onCompressContext: async () => [{ role: 'user', content: 'short' }] },
    });
    expect(lines(model.requests[0]?.messages ?? [])).toEqual(['user:short']);
    expect(lines(result.state.messages)).toEqual(['user:short', 'assistant:x']);
  });

  it('sends schemas and choice of the request control', async () => {
    const tools = [{ name: 'look', description: '', parameters: {} }];
    const { model } = await loop([{ text: 'x' }], {
      hooks: { getRequestControl: async () => ({ tools, toolChoice: 'required' }) },
    });
    expect(model.requests[0]).toMatchObject({ tools, toolChoice: 'required' });
  });
});

describe('the brake', () => {
  it('leaves six tool-only rounds alone and forces a text in the seventh request', async () => {
    const { model } = await loop([...toolRounds(6), { text: 'x' }]);
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([...Array(6).fill(undefined), 'none']);
  });

  it('starts anew after a round with text, even one with calls', async () => {
    const { model } = await loop(
      [...toolRounds(5), { text: 'so far', calls: [call('t')] }, ...toolRounds(6), { text: 'x' }],
      { maxIterations: 50 },
    );
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([...Array(12).fill(undefined), 'none']);
  });

  it('gives way to a choice of the request control', async () => {
    const { model } = await loop([...toolRounds(6), { text: 'x' }], {
      hooks: { getRequestControl: () => ({ toolChoice: 'required' }) },
    });
    expect(model.requests.at(-1)?.toolChoice).toBe('required');
  });
});

describe('an empty reply', () => {
  const empties: ScriptedReply[] = [
    {},
    { text: ' \n' },
    { reasoning: 'only thoughts' },
    { reasoning: 'thoughts', finishReason: 'tool_calls' },
    { finishReason: 'length' },
  ];

  it.each(empties)('is asked for once more, plainly and without tools: %o', async (empty) => {
    const tools = [{ name: 'look', description: '', parameters: {} }];
    const { result, model } = await loop([empty, { text: 'after all' }], {
      hooks: { getRequestControl: () => ({ tools, toolChoice: 'required' }) },
    });
    expect(result).toMatchObject({ finish: 'final', text: 'after all' });
    expect(model.requests[1]).toMatchObject({ tools: undefined, toolChoice: undefined });
    expect(model.requests[1]?.messages.at(-1)?.content).toMatch(/plain text/);
    expect(lines(result.state.messages)).toEqual(['user:question', 'assistant:after all']);
  });

  it('under the brake is asked for once more too', async () => {
    const { result, model } = await loop([...toolRounds(6), { reasoning: 'hm' }, { text: 'after all' }]);
    expect(result).toMatchObject({ finish: 'final', text: 'after all' });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      ...Array(6).fill(undefined),
      'none',
      undefined,
    ]);
  });

  it('twice is an error that names the model, and both requests are paid for', async () => {
    const { result } = await loop([{ reasoning: 'a' }, { reasoning: 'b', finishReason: 'length' }]);
    expect(result.error).toBeInstanceOf(ModelError);
    expect(result.error).toMatchObject({
      kind: 'empty',
      model: 'scripted',
      hint: expect.stringContaining('maxOutputTokens'),
    });
    expect(result).toMatchObject({ finish: 'error', text: '', reasoning: 'b' });
    expect(result.state.usage.requests).toBe(2);
  });

  it('twice after a text beside calls ends with that text and says so', async () => {
    const { result, of } = await loop([{ text: 'It is 5.', calls: [call('a')] }, {}, {}]);
    expect(result).toMatchObject({ finish: 'final', text: 'It is 5.' });
    expect(of('notice')).toEqual([{ type: 'notice', notice: 'empty_reply' }]);
  });

  it('may be asked for again after progress, and calls made up without tools are dropped', async () => {
    const { result } = await loop([{}, { text: 'draft', calls: [call('made-up')] }, {}, { text: 'answer' }], {
      hooks: {
        onStopCandidate: async (text) =>
          text === 'draft' ? { decision: 'refuse', feedback: 'go on' } : { decision: 'allow' },
      },
    });
    expect(result).toMatchObject({ finish: 'final', text: 'answer' });
    expect(transcriptFaults(result.state.messages)).toEqual([]);
  });
});

describe('a cut answer', () => {
  it.each(['length', 'content_filter'] as const)('of finish %s is kept and told', async (finishReason) => {
    const { result, of } = await loop([{ text: 'half an', finishReason }]);
    expect(result).toMatchObject({ finish: 'final', text: 'half an' });
    expect(of('notice')).toEqual([{ type: 'notice', notice: finishReason }]);
  });
});

describe('the stop gate', () => {
  it('takes a draft back: people and later turns do not see it, the model does', async () => {
    const { result, of, model } = await loop([{ text: 'draft' }, { text: 'answer' }], {
      hooks: {
        onStopCandidate: async (text) =>
          text === 'draft' ? { decision: 'refuse', feedback: 'not yet' } : { decision: 'allow' },
      },
    });
    expect(result).toMatchObject({ finish: 'final', text: 'answer' });
    expect(lines(result.state.produced)).toEqual(['assistant:answer']);
    expect(lines(model.requests[1]?.messages ?? [])).toEqual(['user:question', 'assistant:draft', 'user:not yet']);
    expect(of('draft.refused')).toEqual([{ type: 'draft.refused', text: 'draft' }]);
  });

  it('may end the run with an error', async () => {
    const error = new Error('plan unfinished');
    const { result } = await loop([{ text: 'draft' }], {
      hooks: { onStopCandidate: async () => ({ decision: 'error', error }) },
    });
    expect(result).toMatchObject({ finish: 'error', error, text: 'draft' });
  });
});

describe('the cap', () => {
  it('allows one last request without tools, says so and does not ask the gate or for steering', async () => {
    const asked: string[] = [];
    const { result, model, of } = await loop([...toolRounds(3), { text: 'what I have' }], {
      maxIterations: 3,
      hooks: {
        getRequestControl: () => ({ tools: [{ name: 'look', description: '', parameters: {} }] }),
        onStopCandidate: async () => {
          asked.push('gate');
          return { decision: 'refuse', feedback: 'no' };
        },
        drainSteering: async ({ round }) => {
          asked.push(`steering ${round}`);
          return undefined;
        },
      },
    });
    expect(result).toMatchObject({ finish: 'max_iterations', text: 'what I have' });
    expect(model.requests).toHaveLength(4);
    expect(model.requests[3]?.tools).toBeUndefined();
    expect(of('notice')).toEqual([{ type: 'notice', notice: 'max_iterations' }]);
    expect(asked).toEqual(['steering 1', 'steering 2', 'steering 3']);
    expect(lines(result.state.messages).at(-2)).toBe('tool:result of c2');
  });

  it.each([0, -3, undefined])('is 15 rounds for %s', async (maxIterations) => {
    const { model, result } = await loop([...toolRounds(15), { text: 'x' }], { maxIterations });
    expect(model.requests).toHaveLength(16);
    expect(result.finish).toBe('max_iterations');
  });

  it('reached by the last allowed round with an answer is a plain final; waiting texts start a turn of their own', async () => {
    const { result } = await loop([{ text: 'x' }], {
      maxIterations: 1,
      hooks: { drainSteering: async ({ messages }) => (messages.length > 1 ? { message: 's', count: 1 } : undefined) },
    });
    expect(result).toMatchObject({ finish: 'final', text: 'x' });
    expect(lines(result.state.messages)).toEqual(['user:question', 'assistant:x']);
  });

  it('does not run calls the model makes up in the last request', async () => {
    const { result } = await loop([...toolRounds(1), { text: '', calls: [call('late')] }], { maxIterations: 1 });
    expect(result).toMatchObject({ finish: 'max_iterations', text: '' });
    expect(transcriptFaults(result.state.messages)).toEqual([]);
  });
});

describe('steering', () => {
  const steerOnce = (round: number, message = 'turn left') => {
    let given = false;
    return async (state: { round: number; messages: readonly unknown[] }) => {
      if (given || state.round < round) return undefined;
      given = true;
      return { message, count: 2 };
    };
  };

  it('enters at a round start as a user message and releases the brake', async () => {
    const { model, of, result } = await loop([...toolRounds(7), { text: 'x' }], {
      hooks: { drainSteering: steerOnce(7) },
    });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(Array(8).fill(undefined));
    expect(model.requests[6]?.messages.at(-1)).toEqual({ role: 'user', content: 'turn left' });
    expect(of('steered')).toEqual([{ type: 'steered', count: 2 }]);
    expect(lines(result.state.produced)).toContain('user:turn left');
  });

  it('never enters or shortens a batch', async () => {
    const { result } = await loop([{ calls: [call('a'), call('b')] }, { text: 'x' }], {
      hooks: {
        drainSteering: async ({ messages }) => (messages.length === 4 ? { message: 's', count: 1 } : undefined),
      },
    });
    expect(lines(result.state.messages)).toEqual([
      'user:question',
      'assistant:',
      'tool:result of a',
      'tool:result of b',
      'user:s',
      'assistant:x',
    ]);
  });

  it('that comes during the last answer closes it and leads to another', async () => {
    const { result, events } = await loop([{ text: 'first answer' }, { text: 'second' }], {
      hooks: {
        drainSteering: async ({ messages }) => (messages.length === 2 ? { message: 'and?', count: 1 } : undefined),
      },
    });
    expect(result).toMatchObject({ finish: 'final', text: 'second' });
    expect(lines(result.state.produced)).toEqual(['assistant:first answer', 'user:and?', 'assistant:second']);
    const order = events.map(({ type }) => type).filter((type) => type === 'answer.closed' || type === 'steered');
    expect(order).toEqual(['answer.closed', 'steered']);
    expect(events).toContainEqual({ type: 'answer.closed', text: 'first answer' });
  });

  it('allows another retry of an empty reply', async () => {
    const { result } = await loop([{}, {}, { text: 'x' }], { hooks: { drainSteering: steerOnce(2) } });
    expect(result).toMatchObject({ finish: 'final', text: 'x' });
  });
});

describe('an abort', () => {
  it('in the middle of a text keeps what stands', async () => {
    const stop = new AbortController();
    const { result } = await loop([{ text: 'half an answer', meanwhile: () => stop.abort() }], { signal: stop.signal });
    expect(result).toMatchObject({ finish: 'stopped', text: 'half an answer' });
    expect(lines(result.state.produced)).toEqual(['assistant:half an answer']);
  });

  it('flagged by the host ends the run at the next boundary', async () => {
    let stop = false;
    const setStop = () => {
      stop = true;
    };
    const { result, model } = await loop([{ calls: [call('a')], meanwhile: setStop }], {
      hooks: { isAborted: () => stop },
    });
    expect(result.finish).toBe('stopped');
    expect(model.requests).toHaveLength(1);
    expect(lines(result.state.messages).at(-1)).toBe('tool:Stopped before this call ran.');
  });

  it('before the start makes no request', async () => {
    const { result, model } = await loop([], { signal: AbortSignal.abort() });
    expect(result.finish).toBe('stopped');
    expect(model.requests).toHaveLength(0);
  });

  it('that came with the complete answer keeps it and does not ask the gate', async () => {
    let stop = false;
    let asked = false;
    const { result } = await loop(
      [
        {
          text: 'x',
          meanwhile: () => {
            stop = true;
          },
        },
      ],
      {
        hooks: {
          isAborted: () => stop,
          onStopCandidate: async () => {
            asked = true;
            return { decision: 'allow' };
          },
        },
      },
    );
    expect(result).toMatchObject({ finish: 'stopped', text: 'x' });
    expect(asked).toBe(false);
  });

  it('because a newer worker took over is thrown, wherever it is noticed', async () => {
    const superseded = new SupersededError('check');
    const stop = new AbortController();
    await expect(
      loop([{ text: 'half', meanwhile: () => stop.abort(superseded) }], { signal: stop.signal }),
    ).rejects.toBe(superseded);
    await expect(
      loop([{ calls: [call('a')] }], { hooks: { onRunTool: () => Promise.reject(superseded) } }),
    ).rejects.toBe(superseded);
    await expect(
      loop([{ calls: [call('a')] }], { hooks: { beforeToolCalls: () => Promise.reject(superseded) } }),
    ).rejects.toBe(superseded);
  });

  it('that is not the run’s own passes through unchanged', async () => {
    const foreign = new AbortedError('sub-agent stopped');
    await expect(loop([{ calls: [call('a')] }], { hooks: { onRunTool: () => Promise.reject(foreign) } })).rejects.toBe(
      foreign,
    );
  });
});

describe('a failure', () => {
  it('of the model ends the run; earlier rounds stay, a half answer is only reported', async () => {
    const fail = new ModelError('broke', { kind: 'broken_stream', model: 'scripted' });
    const { result } = await loop([{ calls: [call('a')] }, { text: 'half', fail }]);
    expect(result).toMatchObject({ finish: 'error', error: fail, text: 'half' });
    expect(lines(result.state.messages).at(-1)).toBe('tool:result of a');
    expect(result.state.usage.requests).toBe(1);
  });

  it('of the model leaves a state that can be run again', async () => {
    const fail = new ModelError('busy', { kind: 'rate_limited', model: 'scripted' });
    const first = await loop([{ calls: [call('a')] }, { fail }]);
    const { result, model } = await loop([{ text: 'now' }], { state: first.result.state });
    expect(result).toMatchObject({ finish: 'final', text: 'now' });
    expect(lines(model.requests[0]?.messages ?? []).at(-1)).toBe('tool:result of a');
  });

  it.each([
    'drainSteering',
    'onCompressContext',
    'getRequestControl',
    'decideToolCall',
    'beforeToolCalls',
    'afterToolResults',
  ])('of the hook %s ends the run as an error', async (hook) => {
    const error = new Error('store away');
    const { result } = await loop([{ calls: [call('a')] }, { text: 'x' }], {
      hooks: { [hook]: () => Promise.reject(error) },
    });
    expect(result).toMatchObject({ finish: 'error', error });
  });
});

describe('the chain', () => {
  it('never gets an empty assistant message, and calls without arguments get an empty object', async () => {
    const { model } = await loop([{ text: ' ', calls: [call('a', 'look', ' ')] }, {}, { text: 'x' }]);
    expect(model.requests[1]?.messages.at(1)).toEqual({
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'a', name: 'look', arguments: '{}' }],
    });
    expect(transcriptFaults(model.requests[2]?.messages.slice(0, -1) ?? [])).toEqual([]);
  });

  it('keeps the messages it was given, object for object', async () => {
    const state = createLoopState([
      { role: 'system', content: 's' },
      { role: 'user', content: 'q' },
    ]);
    const [system, user] = state.messages;
    const { result } = await loop([{ calls: [call('a')] }, { text: 'x' }], { state });
    expect(result.state).toBe(state);
    expect(result.state.messages[0]).toBe(system);
    expect(result.state.messages[1]).toBe(user);
  });
});
