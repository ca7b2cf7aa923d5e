import { describe, expect, it } from 'vitest';
import type { ToolResult } from '../../../src/core/agent/hooks.js';
import { writeResult } from '../../../src/core/agent/transcript.js';
import { lines, loop } from './loop-fixture.js';
import { call, type ScriptedReply, transcriptFaults } from './scripted-model.js';

const twoCalls: ScriptedReply[] = [{ calls: [call('a'), call('b')] }, { text: 'done' }];

function results(chain: Parameters<typeof lines>[0]): readonly string[] {
  return lines(chain).filter((line) => line.startsWith('tool:'));
}

describe('a tool call', () => {
  it('puts its result into both chains and into the next request', async () => {
    const { result, model, of } = await loop([{ calls: [call('a', 'look', '{"x":1}')] }, { text: 'done' }]);
    expect(model.requests[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'look', arguments: '{"x":1}' }] },
      { role: 'tool', toolCallId: 'a', content: 'result of a' },
    ]);
    expect(lines(result.state.produced)).toEqual(['assistant:', 'tool:result of a', 'assistant:done']);
    expect(of('tool.announced')).toEqual([{ type: 'tool.announced', name: 'look' }]);
    expect(of('tool.started')).toHaveLength(1);
    expect(of('tool.finished')).toMatchObject([{ content: 'result of a', failed: false }]);
  });

  it('sees the chain before its round and whether it was interrupted', async () => {
    const seen: unknown[] = [];
    await loop([{ calls: [call('a')] }, { calls: [call('b')] }, { text: 'x' }], {
      hooks: {
        onRunTool: async (_call, { messages, interrupted }) => {
          seen.push([lines(messages), interrupted]);
          return { content: 'r' };
        },
      },
    });
    expect(seen).toEqual([
      [['user:question'], false],
      [['user:question', 'assistant:', 'tool:r'], false],
    ]);
  });

  it('that throws is a text for the model, cut to a sane length, and the run goes on', async () => {
    const { result, of } = await loop(twoCalls, {
      hooks: {
        onRunTool: ({ id }) =>
          id === 'a' ? Promise.reject(new Error('😀'.repeat(9_000))) : Promise.resolve({ content: 'ok' }),
      },
    });
    const [failed, fine] = results(result.state.messages);
    // Never half a character: that is no JSON for some vendors.
    expect(failed).toMatch(/^tool:Error: (?:😀)+$/);
    expect(failed?.length).toBeLessThan(2_100);
    expect(fine).toBe('tool:ok');
    expect(of('tool.finished').map((event) => event.failed)).toEqual([true, false]);
    expect(result.finish).toBe('final');
  });

  it('that throws at once, or something that is no error, is a text too', async () => {
    const { result } = await loop(twoCalls, {
      hooks: {
        onRunTool: ({ id }) => {
          if (id === 'a') throw new Error('at once');
          return Promise.reject('no error object');
        },
      },
    });
    expect(results(result.state.messages)).toEqual(['tool:Error: at once', 'tool:Error: no error object']);
  });

  it('that gives nothing says none, and compression may shorten what others give', async () => {
    const { result, model } = await loop(twoCalls, {
      hooks: {
        onRunTool: async ({ id }) => ({ content: id === 'a' ? '' : 'very long' }),
        compressToolResponse: async (_call, content) => content.replace('very long', 'short'),
      },
    });
    expect(results(result.state.produced)).toEqual(['tool:none', 'tool:short']);
    expect(results(model.requests[1]?.messages ?? [])).toEqual(['tool:none', 'tool:short']);
  });

  it('keeps the text of internal tools and of errors from compression', async () => {
    const { result } = await loop(twoCalls, {
      hooks: {
        onRunTool: ({ id }) =>
          id === 'a' ? Promise.resolve({ content: 'plan', skipCompression: true }) : Promise.reject(new Error('e')),
        compressToolResponse: async () => 'compressed',
      },
    });
    expect(results(result.state.messages)).toEqual(['tool:plan', 'tool:Error: e']);
  });

  it('may be denied: the model learns why, the others run', async () => {
    const ran: string[] = [];
    const { result } = await loop(twoCalls, {
      hooks: {
        decideToolCall: async ({ id }) =>
          id === 'a' ? { decision: 'deny', reason: 'not on weekends' } : { decision: 'run' },
        onRunTool: async ({ id }) => {
          ran.push(id);
          return { content: 'ok' };
        },
      },
    });
    expect(ran).toEqual(['b']);
    expect(results(result.state.messages)).toEqual(['tool:Denied: not on weekends', 'tool:ok']);
  });
});

describe('a batch', () => {
  const five = ['a', 'b', 'c', 'd', 'e'].map((id) => call(id, id === 'c' ? 'alone' : 'together'));

  it('runs neighbours side by side up to its size and others alone, results in call order', async () => {
    const log: string[] = [];
    const release = new Map<string, () => void>();
    const { result, of } = await loop([{ calls: five }, { text: 'x' }], {
      batchToolSize: 2,
      hooks: {
        canBatchTool: ({ name }) => name === 'together',
        beforeToolCalls: async (calls, { startedCalls }) => {
          log.push(`before ${calls.map(({ id }) => id)} marks ${startedCalls}`);
        },
        onRunTool: async ({ id }) => {
          log.push(`start ${id}`);
          // The first of a pair waits for the second: only possible when they run at once.
          if (id === 'a' || id === 'd') await new Promise<void>((resolve) => release.set(id, resolve));
          if (id === 'b') release.get('a')?.();
          if (id === 'e') release.get('d')?.();
          return { content: id };
        },
      },
    });
    expect(log).toEqual([
      'before a,b marks a,b',
      ...['start a', 'start b'],
      'before c marks c',
      'start c',
      'before d,e marks d,e',
      ...['start d', 'start e'],
    ]);
    expect(results(result.state.messages)).toEqual(['tool:a', 'tool:b', 'tool:c', 'tool:d', 'tool:e']);
    expect(of('tool.finished').map((event) => event.call.id)).toEqual(['b', 'a', 'c', 'e', 'd']);
    expect(result.state.startedCalls).toEqual([]);
  });

  it('holds no more calls than its size', async () => {
    const sizes: number[] = [];
    await loop([{ calls: five }, { text: 'x' }], {
      batchToolSize: 2,
      hooks: { canBatchTool: () => true, beforeToolCalls: async (calls) => void sizes.push(calls.length) },
    });
    expect(sizes).toEqual([2, 2, 1]);
  });

  it('is serial unless canBatchTool allows more, whatever its size', async () => {
    let running = 0;
    let most = 0;
    await loop([{ calls: five }, { text: 'x' }], {
      batchToolSize: 5,
      hooks: {
        onRunTool: async ({ id }) => {
          running += 1;
          most = Math.max(most, running);
          await Promise.resolve();
          running -= 1;
          return { content: id };
        },
      },
    });
    expect(most).toBe(1);
  });
});

describe('a stop tool', () => {
  it('ends the run as final after the round’s other calls, without asking the gate', async () => {
    const { result, model } = await loop([{ text: 'bye', calls: [call('stop'), call('b')] }], {
      hooks: {
        onRunTool: async ({ id }): Promise<ToolResult> => ({ content: id, stop: id === 'stop' }),
        onStopCandidate: () => Promise.reject(new Error('asked')),
        afterToolResults: () => Promise.reject(new Error('the host commits the ending')),
      },
    });
    expect(result).toMatchObject({ finish: 'final', text: 'bye' });
    expect(results(result.state.messages)).toEqual(['tool:stop', 'tool:b']);
    expect(model.requests).toHaveLength(1);
  });

  it('does not end the run over a text that waits', async () => {
    const { result, of } = await loop([{ text: 'bye', calls: [call('stop')] }, { text: 'still here' }], {
      hooks: {
        onRunTool: async () => ({ content: 'ok', stop: true }),
        drainSteering: async ({ messages }) => (messages.length === 3 ? { message: 'wait', count: 1 } : undefined),
      },
    });
    expect(result).toMatchObject({ finish: 'final', text: 'still here' });
    expect(of('answer.closed')).toEqual([{ type: 'answer.closed', text: 'bye' }]);
  });
});

describe('a suspended call', () => {
  const kinds = { ask: 'ask', form: 'interactive' } as const;
  const hooks = {
    onRunTool: async ({ name }: { name: string }): Promise<ToolResult> => {
      const suspend = name === 'ask' || name === 'form' ? kinds[name] : undefined;
      return { content: suspend ? `waiting for ${name}` : 'ok', suspend };
    },
    compressToolResponse: async () => 'compressed',
  };

  it('ends the run with its waiting text in the chain; the answer replaces it and the chain goes on', async () => {
    const first = await loop([{ text: 'one moment', calls: [call('q', 'ask'), call('b')] }], { hooks });
    expect(first.result).toMatchObject({ finish: 'ask', text: 'one moment' });
    expect(first.result.suspendedCalls).toEqual([{ call: call('q', 'ask'), kind: 'ask' }]);
    expect(results(first.result.state.messages)).toEqual(['tool:waiting for ask', 'tool:compressed']);
    const state = JSON.parse(JSON.stringify(first.result.state));
    writeResult(state, 'q', 'blue');
    const second = await loop([{ text: 'blue it is' }], { state });
    expect(second.result).toMatchObject({ finish: 'final', text: 'blue it is' });
    expect(second.model.requests[0]?.messages.slice(0, 2)).toEqual(first.result.state.messages.slice(0, 2));
    expect(results(second.model.requests[0]?.messages ?? [])).toEqual(['tool:blue', 'tool:compressed']);
    expect(results(second.result.state.produced)).toEqual(['tool:blue', 'tool:compressed']);
  });

  it('is one of several: all are kept, an ask goes before an approval before an interactive tool', async () => {
    const decide = {
      ...hooks,
      decideToolCall: async ({ name }: { name: string }) =>
        ({ decision: name === 'danger' ? 'suspend' : 'run' }) as const,
    };
    const calls = [call('1', 'form'), call('2', 'danger'), call('3', 'ask'), call('4', 'ask')];
    const all = await loop([{ calls }], { hooks: decide });
    expect(all.result.finish).toBe('ask');
    expect(all.result.suspendedCalls.map(({ call: { id }, kind }) => `${id} ${kind}`).sort()).toEqual([
      '1 interactive',
      '2 approval',
      '3 ask',
      '4 ask',
    ]);
    expect((await loop([{ calls: calls.slice(0, 2) }], { hooks: decide })).result.finish).toBe('approval');
    expect((await loop([{ calls: calls.slice(0, 1) }], { hooks: decide })).result.finish).toBe('interactive');
  });

  it('that waits for approval runs after it, its result in its place', async () => {
    const ran: string[] = [];
    let approved = false;
    const approval = {
      decideToolCall: async ({ id }: { id: string }) =>
        ({ decision: id === 'a' && !approved ? 'suspend' : 'run' }) as const,
      onRunTool: async ({ id }: { id: string }) => {
        ran.push(id);
        return { content: id };
      },
    };
    const first = await loop([{ calls: [call('a'), call('b')] }], { hooks: approval });
    expect(first.result).toMatchObject({ finish: 'approval', suspendedCalls: [{ kind: 'approval' }] });
    expect(results(first.result.state.messages)).toEqual(['tool:b']);
    const state = JSON.parse(JSON.stringify(first.result.state));
    const still = await loop([], { hooks: approval, state: structuredClone(state) });
    expect(still.result.finish).toBe('approval');
    expect(still.model.requests).toHaveLength(0);
    approved = true;
    const second = await loop([{ text: 'done' }], { hooks: approval, state });
    expect(ran).toEqual(['b', 'a']);
    expect(results(second.model.requests[0]?.messages ?? [])).toEqual(['tool:a', 'tool:b']);
    expect(transcriptFaults(second.result.state.messages)).toEqual([]);
  });

  it('of an interactive tool goes on with what the person gave, uncompressed', async () => {
    const first = await loop([{ calls: [call('f', 'form')] }], { hooks });
    const given: string[] = [];
    const second = await loop([{ text: 'thanks' }], {
      state: first.result.state,
      answers: [{ callId: 'f', answer: 'Ada' }],
      hooks: {
        ...hooks,
        onRunInteractiveTool: async ({ id }, answer, { messages }) => {
          given.push(`${id} ${answer} ${messages.length}`);
          return { content: `name is ${answer}` };
        },
      },
    });
    expect(given).toEqual(['f Ada 1']);
    expect(second.result.finish).toBe('final');
    expect(results(second.model.requests[0]?.messages ?? [])).toEqual(['tool:name is Ada']);
  });

  it('of an interactive tool may wait again or stop the run, without a request', async () => {
    const again = await loop([{ calls: [call('f', 'form')] }], { hooks });
    const waits = await loop([], {
      state: again.result.state,
      answers: [{ callId: 'f', answer: '1' }],
      hooks: { onRunInteractiveTool: async () => ({ content: 'and the second?', suspend: 'interactive' }) },
    });
    expect(waits.result).toMatchObject({ finish: 'interactive', suspendedCalls: [{ call: { id: 'f' } }] });
    expect(results(waits.result.state.messages)).toEqual(['tool:and the second?']);
    const stops = await loop([], {
      state: waits.result.state,
      answers: [{ callId: 'f', answer: '2' }],
      hooks: { onRunInteractiveTool: async () => ({ content: 'all set', stop: true }) },
    });
    expect(stops.result.finish).toBe('final');
    expect(waits.model.requests.length + stops.model.requests.length).toBe(0);
  });
});

describe('an abort', () => {
  it('does not wait for a tool that ignores it; pairs stay whole', async () => {
    const stop = new AbortController();
    const { result } = await loop([{ calls: [call('a'), call('b'), call('c')] }], {
      signal: stop.signal,
      hooks: {
        onRunTool: ({ id }) => {
          if (id === 'a') return Promise.resolve({ content: 'done before' });
          stop.abort();
          return new Promise(() => {});
        },
      },
    });
    expect(result.finish).toBe('stopped');
    expect(results(result.state.messages)).toEqual([
      'tool:done before',
      'tool:Stopped while this call ran; its outcome is unknown.',
      'tool:Stopped before this call ran.',
    ]);
    expect(transcriptFaults(result.state.produced)).toEqual([]);
    expect(result.state.startedCalls).toEqual([]);
  });

  it('reaches the tool as an abort and never as a text for the model', async () => {
    const stop = new AbortController();
    const { result, model } = await loop([{ calls: [call('a')] }], {
      signal: stop.signal,
      hooks: {
        onRunTool: (_call, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('fetch failed')));
            stop.abort();
          }),
      },
    });
    expect(result.finish).toBe('stopped');
    expect(model.requests).toHaveLength(1);
    expect(JSON.stringify(result.state)).not.toContain('fetch failed');
  });

  it('flagged by the host stops between serial tools', async () => {
    const ran: string[] = [];
    const { result } = await loop([{ calls: [call('a'), call('b')] }], {
      hooks: {
        isAborted: () => ran.length > 0,
        onRunTool: async ({ id }) => {
          ran.push(id);
          return { content: id };
        },
      },
    });
    expect(ran).toEqual(['a']);
    expect(result.finish).toBe('stopped');
    expect(results(result.state.messages)).toEqual(['tool:a', 'tool:Stopped before this call ran.']);
  });
});
