import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../src/core/llm/model.js';
import { EMPTY_STATE, parseState } from '../../src/jobs/conversation-state.js';
import { assistant, prose, round, user } from '../core/agent/compression/fixture.js';
import { scriptedModel, transcriptFaults } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createReader, isSettled, type Reader, type ReaderOptions } from './reader-fixture.js';

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

const history: readonly ChatMessage[] = [user('before'), ...round('h1', 'looked'), assistant('It was blue.')];

/** A state of schema version 1, as it was written before plans, cards and compression. */
function firstVersion(space: string, over: object = {}) {
  const place = { platform: 'fake', account: 'lookup', space };
  const answer = { v: 1, kind: 'answer', slot: 'a1', place, state: 'final', markdown: 'It was blue.', footer: 'f' };
  return { v: 1, history, answers: 1, turn: null, shown: [answer], hold: null, ...over };
}

/** Its open turn, before its first boundary; `loop` is what it had produced at one. */
function firstTurn(reader: Reader, loop?: object) {
  const { place, person } = reader.base();
  return {
    ...{
      id: `${reader.key}#2`,
      agent: 'assistant',
      answer: 2,
      place,
      starter: person,
      messageId: 'm2',
      text: 'and now?',
    },
    ...{ startedAt: Date.now(), answerFrom: 0, taken: [], stoppers: [person.id], people: [] },
    ...(loop && { loop }),
  };
}

function firstLoop(messages: readonly ChatMessage[], produced: readonly ChatMessage[]) {
  return {
    ...{ v: 1, messages, produced, round: 1, toolOnlyRounds: 1, emptyRetried: false, startedCalls: [] },
    usage: { inputTokens: 10, outputTokens: 1, cost: 0, requests: 1 },
  };
}

async function stored(reader: Reader, state: object): Promise<Reader> {
  const { epoch } = await reader.store.claim(reader.key);
  await reader.store.commit(reader.key, epoch, { state });
  return reader;
}

const spaceOf = (reader: Reader) => reader.base().place.space;
const create = (options: ReaderOptions = {}) => createReader(server, options);

describe('a state of version 1', () => {
  it('at rest is read with its history, and what came later is empty', async () => {
    const reader = create({ script: [{ text: 'Green.' }] });
    const old = firstVersion(spaceOf(reader));
    expect(parseState(old)).toEqual({ ...EMPTY_STATE, history, answers: 1, shown: old.shown });
    await stored(reader, old);
    await reader.say('and now?');
    await reader.run();
    expect(reader.model.requests[0]?.messages).toEqual([...history, user('and now?')]);
    expect(reader.state()).toMatchObject({ v: 2, answers: 2, historyFrom: 0, summary: null });
    expect(reader.shown()).toEqual(['Green.']);
  });

  it('in the middle of a turn goes on from its last boundary in the same answer', async () => {
    const reader = create({ script: [{ text: 'Green.' }] });
    const produced = round('c1', 'seen');
    const messages = [{ role: 'system', content: 'Be brief.' } as const, ...history, user('and now?'), ...produced];
    const turn = firstTurn(reader, firstLoop(messages, produced));
    await stored(reader, firstVersion(spaceOf(reader), { answers: 2, turn }));
    await reader.run();
    expect(reader.model.requests[0]?.messages).toEqual(messages);
    expect(reader.state()).toMatchObject({ v: 2, answers: 2, turn: null });
    expect(reader.state().history).toEqual([...history, user('and now?'), ...produced, assistant('Green.')]);
    expect(transcriptFaults(reader.state().history)).toEqual([]);
    expect(reader.entries().map(({ slot }) => slot)).toEqual(['a2']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('before the first boundary of a turn begins it anew', async () => {
    const reader = create({ script: [{ text: 'Green.' }] });
    await stored(reader, firstVersion(spaceOf(reader), { answers: 2, turn: firstTurn(reader) }));
    await reader.run();
    expect(reader.model.requests[0]?.messages).toEqual([...history, user('and now?')]);
    expect(reader.shown()).toEqual(['Green.']);
  });

  it('whose turn saw only the newest of its history keeps the numbers right when that is summarised', async () => {
    const notes = `## Goal\n- notes ${'about the earlier messages '.repeat(12)}`;
    const model = scriptedModel(({ messages }) => ({
      text: /You keep notes/.test(messages[0]?.content ?? '') ? notes : 'Green.',
    }));
    const earlier = ['a', 'b', 'c', 'd', 'e'].flatMap((name) => [
      user(prose(300, name)),
      assistant(prose(300, `${name}x`)),
    ]);
    const reader = create({
      agent: {
        model: { ...model, contextWindow: 4_000, maxOutputTokens: 400 },
        compression: { mode: 'llm', threshold: 0.5 },
      },
    });
    const produced = round('c1', 'seen');
    const kept = earlier.slice(2);
    const turn = firstTurn(reader, firstLoop([...kept, user('and now?'), ...produced], produced));
    await stored(reader, firstVersion(spaceOf(reader), { history: earlier, answers: 2, turn }));
    await reader.run();
    const { summary } = reader.state();
    const shown = model.requests.at(-1)?.messages ?? [];
    const first = earlier.findIndex(({ content }) => content === shown[1]?.content);
    expect(summary?.text).toBe(notes.trim());
    expect(summary?.through).toBe(first);
  });
});

it.each([
  ['a newer version', { ...EMPTY_STATE, v: 3 }],
  ['a damaged one', { ...EMPTY_STATE, history: 'gone' }],
  ['something else', 'text'],
])('%s is not read', (_name, state) => {
  expect(parseState(state)).toBeUndefined();
});

it('nothing stored is the empty state, and that survives being stored', () => {
  expect(parseState(undefined)).toBe(EMPTY_STATE);
  expect(parseState(JSON.parse(JSON.stringify(EMPTY_STATE)))).toEqual(EMPTY_STATE);
});
