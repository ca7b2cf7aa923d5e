import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runChatTurn } from '../../../src/core/agent/chat-turn.js';
import type { AgentEvent } from '../../../src/core/agent/events.js';
import { newestGroups } from '../../../src/core/agent/history.js';
import { joinSystemPrompt, placeQuotes } from '../../../src/core/agent/quotes.js';
import { createLoopState } from '../../../src/core/agent/transcript.js';
import { createOpenAiModel } from '../../../src/core/llm/client.js';
import type { ChatMessage } from '../../../src/core/llm/model.js';
import { type ModelScript, type ModelServer, numberedWords, startModelServer } from '../../fakes/model-server.js';

let server: ModelServer | undefined;
let events: AgentEvent[];
beforeEach(() => {
  events = [];
});
afterEach(() => server?.close());

const fresh: readonly ChatMessage[] = [{ role: 'user', content: 'q' }];
const price = [{ input: 1_000_000, output: 0 }];

interface ChatOptions {
  readonly messages?: readonly ChatMessage[];
  readonly stop?: AbortController;
  readonly ownKey?: boolean;
  readonly onEvent?: (event: AgentEvent) => void;
}

async function chat(script: ModelScript, options: ChatOptions = {}) {
  server = await startModelServer(script);
  const { messages = fresh, stop = new AbortController(), ownKey, onEvent } = options;
  const { url: baseUrl } = server;
  const result = await runChatTurn({
    model: createOpenAiModel({
      name: 'default',
      baseUrl,
      model: 'm',
      contextWindow: 1_000,
      maxOutputTokens: 100,
      price,
    }),
    state: createLoopState(messages),
    signal: stop.signal,
    ownKey,
    onEvent: (event) => {
      events.push(event);
      onEvent?.(event);
    },
  });
  return { result, requests: server.requests };
}

const streamed = (type: 'text.delta' | 'reasoning.delta') =>
  events.map((event) => (event.type === type ? event.text : '')).join('');

describe('a chat turn', () => {
  it('is one request without tools; reasoning and answer stream apart and reasoning never enters the chain', async () => {
    const { result, requests } = await chat({ words: 30, reasoning: 'let me see' });
    expect(requests).toHaveLength(1);
    expect(requests[0]?.body).not.toHaveProperty('tools');
    expect(result).toMatchObject({ finish: 'final', text: numberedWords(30), reasoning: 'let me see' });
    expect(streamed('text.delta')).toBe(numberedWords(30));
    expect(streamed('reasoning.delta')).toBe('let me see');
    expect(result.state.messages).toEqual([...fresh, { role: 'assistant', content: numberedWords(30) }]);
    expect(result.state.usage).toMatchObject({ requests: 1, inputTokens: 10, cost: 10 });
  });

  it('costs nothing on the own key of a person, and its tokens are counted', async () => {
    const { result } = await chat({ text: 'hi' }, { ownKey: true });
    expect(result.state.usage).toMatchObject({ requests: 1, inputTokens: 10, cost: 0 });
    expect(events).toContainEqual(expect.objectContaining({ type: 'request.finished', cost: 0 }));
  });

  it.each<[string, ModelScript]>([
    ['nothing', {}],
    ['blanks', { text: ' \n ' }],
    ['reasoning alone', { reasoning: 'hm' }],
    ['calls that do not exist', { finishReason: 'tool_calls' }],
    ['made-up calls alone', { toolCalls: [{ name: 'look' }] }],
    ['reasoning that was cut by length', { reasoning: 'hm', finishReason: 'length' }],
  ])('with a reply of %s is an error with its tokens counted, asked once', async (_, script) => {
    const { result, requests } = await chat(script);
    expect(result).toMatchObject({ finish: 'error', error: { kind: 'empty', model: 'default' }, text: '' });
    expect(requests).toHaveLength(1);
    expect(result.state.usage.inputTokens).toBe(10);
    expect(result.state.messages).toEqual(fresh);
  });

  it('tells of an answer that was cut or withheld, whole or in part', async () => {
    for (const [finishReason, text] of [
      ['length', 'half'],
      ['content_filter', 'half'],
      ['content_filter', ''],
    ] as const) {
      events = [];
      const { result } = await chat({ text, finishReason });
      expect(result).toMatchObject({ finish: 'final', text });
      expect(events).toContainEqual({ type: 'notice', notice: finishReason });
      await server?.close();
    }
  });

  it('with a text beside made-up calls is that text', async () => {
    const { result } = await chat({ text: 'hi', toolCalls: [{ name: 'look' }] });
    expect(result).toMatchObject({ finish: 'final', text: 'hi' });
    expect(result.state.messages.at(-1)).toEqual({ role: 'assistant', content: 'hi' });
  });

  it('that fails is an error without tokens or cost', async () => {
    const { result } = await chat({ fault: { kind: 'status', status: 401 } });
    expect(result).toMatchObject({ finish: 'error', error: { kind: 'unauthorized' } });
    expect(result.state.usage).toEqual({ inputTokens: 0, outputTokens: 0, cost: 0, requests: 0 });
    expect(events.map(({ type }) => type)).toEqual(['round.started']);
  });

  it('whose connection breaks keeps what was shown in the result, not in the chain', async () => {
    const { result } = await chat({ words: 50, fault: { kind: 'cut', after: 10 } });
    expect(result).toMatchObject({ finish: 'error', error: { kind: 'broken_stream' }, text: numberedWords(10) });
    expect(result.state.messages).toEqual(fresh);
  });

  it('that is stopped closes the connection and keeps the words', async () => {
    const stop = new AbortController();
    let words = 0;
    const onEvent = ({ type }: AgentEvent) => {
      if (type !== 'text.delta') return;
      words += 1;
      if (words === 5) stop.abort();
    };
    const { result, requests } = await chat({ words: 500, tokensPerSecond: 100 }, { stop, onEvent });
    expect(result).toMatchObject({ finish: 'stopped', text: numberedWords(5) });
    expect(await requests[0]?.aborted).toBe(true);
  });

  it('takes no whole answer of a server that does not stream for a silence', async () => {
    const { result } = await chat({ text: 'all at once', reasoning: 'hm', fault: { kind: 'json' } });
    expect(result).toMatchObject({ finish: 'final', text: 'all at once' });
    expect(streamed('text.delta')).toBe('all at once');
  });
});

it('prompt, quotes, trimmed history and question reach the model in their places', async () => {
  const history: ChatMessage[] = [
    { role: 'user', content: 'old '.repeat(400) },
    { role: 'assistant', content: 'old answer' },
    { role: 'user', content: 'new' },
    { role: 'assistant', content: 'new answer' },
  ];
  const ask = async (role: 'system' | 'user', template: string) => {
    const placed = placeQuotes({ quotes: '[1] a.md\nfact', role, template, question: 'why $&?' });
    const system = joinSystemPrompt(['model', 'agent', placed.system]);
    const chain: ChatMessage[] = [
      { role: 'system', content: system },
      ...history,
      { role: 'user', content: placed.user },
    ];
    const { requests } = await chat({ text: 'so' }, { messages: newestGroups(chain, 400).messages });
    await server?.close();
    return requests[0]?.body.messages;
  };
  const middle = history.slice(2);
  expect(await ask('system', 'know: {{quote}}')).toEqual([
    { role: 'system', content: 'model\n\n===---===---===\n\nagent\n\n===---===---===\n\nknow: [1] a.md\nfact' },
    ...middle,
    { role: 'user', content: 'why $&?' },
  ]);
  expect(await ask('system', '{{quote}} -> {{question}}')).toEqual([
    { role: 'system', content: 'model\n\n===---===---===\n\nagent' },
    ...middle,
    { role: 'user', content: '[1] a.md\nfact -> why $&?' },
  ]);
});
