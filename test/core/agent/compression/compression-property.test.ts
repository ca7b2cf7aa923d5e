import { describe, expect, it } from 'vitest';
import { limitsOf } from '../../../../src/core/agent/compression/limits.js';
import { isSummaryMessage, summaryMessage } from '../../../../src/core/agent/compression/summary.js';
import { isValidChain } from '../../../../src/core/agent/compression/validity.js';
import type { ChatMessage, Model } from '../../../../src/core/llm/model.js';
import { estimateTokens } from '../../../../src/core/llm/tokens.js';
import { createRandom, type Random } from '../../../fakes/random.js';
import { type ScriptedModel, scriptedModel, transcriptFaults } from '../scripted-model.js';
import { assistant, type Bench, bench, system } from './fixture.js';
import { randomTurn } from './random-transcript.js';

const MODES = ['algorithmic', 'llm', 'hybrid'] as const;
const WINDOWS = [1_000, 3_000, 8_000, 30_000] as const;

interface Case {
  readonly random: Random;
  readonly made: Bench;
  readonly budget: number;
  readonly summariser: ScriptedModel;
  readonly turn: readonly ChatMessage[];
  readonly history: readonly ChatMessage[];
}

/** A summariser that writes, fails, says nothing, or says too much. */
function moody(random: Random): ScriptedModel {
  const model = scriptedModel(({ messages }) => {
    const size = messages.map(({ content }) => content).join('').length;
    switch (random.below(6)) {
      case 0:
        return { fail: new Error('down') };
      case 1:
        return { text: '' };
      case 2:
        return { text: 'word '.repeat(Math.min(size, 2_000)) };
      default:
        return { text: `## Goal\n${'fact '.repeat(Math.min(60, Math.ceil(size / 40)))}` };
    }
  });
  return Object.assign(model, { contextWindow: 4_000, maxOutputTokens: 400 } satisfies Partial<Model>);
}

function randomCase(seed: number): Case {
  const random = createRandom(seed);
  const { history, turn } = randomTurn(random, 10 + random.below(300));
  const contextWindow = random.pick(WINDOWS);
  const maxOutputTokens = Math.floor(contextWindow / 10);
  const summariser = moody(random);
  const made = bench([system, ...history], turn, {
    ...{ contextWindow, maxOutputTokens, mode: random.pick(MODES), model: summariser },
  });
  return { random, made, budget: limitsOf(contextWindow, maxOutputTokens).budget, summariser, turn, history };
}

/** What the summariser was given of the messages, request by request. */
function fed(summariser: ScriptedModel): readonly string[] {
  return summariser.requests.map(({ messages }) => /<messages>.*/s.exec(messages.at(-1)?.content ?? '')?.[0] ?? '');
}

describe('compression of random transcripts', () => {
  it('keeps every request valid, within the budget, and the current turn unchanged while it fits', async () => {
    const met = new Map<string, number>();
    for (let seed = 1; seed <= 250; seed += 1) {
      const { made, turn, budget } = randomCase(seed);
      await made.compress();
      const { messages } = made.loop;
      const kept = messages.slice(made.state.turnAt);
      for (const line of made.told()) met.set(line, (met.get(line) ?? 0) + 1);
      expect({ seed, faults: transcriptFaults(messages) }).toEqual({ seed, faults: [] });
      expect({ seed, invalid: isValidChain(messages) }).toEqual({ seed, invalid: undefined });
      expect({ seed, first: messages[0], current: kept[0] }).toEqual({ seed, first: system, current: turn[0] });
      if (estimateTokens([...messages.slice(0, isSummaryMessage(messages[1]) ? 2 : 1), ...turn]) <= budget) {
        expect({ seed, kept }).toEqual({ seed, kept: turn });
        expect(estimateTokens(messages)).toBeLessThanOrEqual(budget);
      }
      const people = (chain: readonly ChatMessage[]) =>
        chain.filter(({ role, content }) => role === 'user' && !content.startsWith('[Progress'));
      expect({ seed, people: people(kept) }).toEqual({ seed, people: people(turn) });
      if (!made.told().includes('turn')) expect({ seed, kept }).toEqual({ seed, kept: turn });
    }
    // Every outcome was really met.
    for (const how of [
      'results',
      'summary',
      'left_out',
      'turn',
      'summary: empty',
      'summary: too_long',
      'summary: error',
    ]) {
      expect({ how, met: met.has(how) }).toEqual({ how, met: true });
    }
  });

  it('never feeds a message to the summariser twice, over many turns of one conversation', async () => {
    let summaries = 0;
    for (let seed = 1; seed <= 25; seed += 1) {
      const random = createRandom(seed);
      const summariser = Object.assign(moody(random), { contextWindow: 3_000 });
      const given = {
        contextWindow: 4_000,
        maxOutputTokens: 400,
        mode: random.pick(['llm', 'hybrid'] as const),
        model: summariser,
      };
      const succeeded: string[] = [];
      let conversation: ChatMessage[] = [];
      let state: Bench['state'] | undefined;
      for (let turns = 0; turns < 12; turns += 1) {
        const { turn } = randomTurn(random, 120);
        const marked = [...turn, assistant('done')].map((m, at) => ({
          ...m,
          content: `#${turns}.${at}# ${m.content}`,
        }));
        const summary = state?.summary ?? null;
        const from = summary?.through ?? 0;
        const before = [system, ...(summary ? [summaryMessage(summary)] : []), ...conversation.slice(from)];
        const made = bench(before, marked.slice(0, -1), {
          ...given,
          state: { summary, historyFrom: from, triedAt: 0, failures: 0 },
        });
        const requests = summariser.requests.length;
        await made.compress();
        const { through = 0 } = made.state.summary ?? {};
        expect({ seed, through: through >= from }).toEqual({ seed, through: true });
        if (through > from) {
          summaries += 1;
          const texts = fed(summariser).slice(requests).join('\n');
          // What the summary now stands for was fed, and nothing it stood for before.
          const marks = new Set(texts.match(/#\d+\.\d+#/g) ?? []);
          for (const mark of succeeded) expect({ seed, again: marks.has(mark) }).toEqual({ seed, again: false });
          for (const { role, content } of conversation.slice(from, through)) {
            const [mark = ''] = /^#[\d.]+#/.exec(content) ?? [];
            if (role === 'user') expect({ seed, mark, seen: marks.has(mark) }).toEqual({ seed, mark, seen: true });
            succeeded.push(mark);
          }
          expect({ seed, notes: isSummaryMessage(made.loop.messages[1]) }).toEqual({ seed, notes: true });
        }
        state = made.state;
        conversation = [...conversation, ...marked];
      }
    }
    expect(summaries).toBeGreaterThan(30);
  });

  it('changes nothing when it is asked again about the same chain', async () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const { made } = randomCase(seed);
      // A summary that failed may be tried again; the rules may not find anything more.
      made.state.failures = 3;
      await made.compress();
      const before = JSON.stringify(made.loop.messages);
      await made.compress();
      expect({ seed, same: JSON.stringify(made.loop.messages) === before }).toEqual({ seed, same: true });
    }
  });

  it('numbers stay right: history, summary and what was left out add up to the conversation', async () => {
    for (let seed = 1; seed <= 120; seed += 1) {
      const { made, history } = randomCase(seed);
      await made.compress();
      const { historyFrom, turnAt, summary } = made.state;
      const notes = isSummaryMessage(made.loop.messages[1]) ? 1 : 0;
      expect({ seed, total: historyFrom + turnAt - 1 - notes }).toEqual({ seed, total: history.length });
      if (summary) expect(summary.through).toBeLessThanOrEqual(historyFrom);
    }
  });
});
