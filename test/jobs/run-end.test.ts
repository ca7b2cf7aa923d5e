import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ModelError, type ModelErrorKind } from '../../src/core/errors.js';
import { defineTool } from '../../src/core/tools/tool.js';
import { call } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createReader, historyOf, isSettled, type Reader } from './reader-fixture.js';

const look = (execute: () => Promise<string> = async () => 'seen') =>
  defineTool({ name: 'look', description: 'Looks.', parameters: z.object({}), idempotent: true, execute });

const LINES: Readonly<Record<ModelErrorKind, readonly [english: string, chinese: string]>> = {
  unreachable: ['I cannot reach the model "m1"', '暂时连不上模型“m1”'],
  unauthorized: ['The model "m1" rejected the access key', '模型“m1”拒绝了访问密钥'],
  rate_limited: ['The model "m1" has too many requests', '模型“m1”目前请求太多'],
  quota: ['The quota of the model "m1" is used up. The operator has to', '模型“m1”的额度已用完，需要管理员'],
  stalled: ['The model "m1" stopped sending', '模型“m1”中途停止了响应'],
  empty: ['The model "m1" sent an empty answer', '模型“m1”返回了空的回答'],
  not_found: ['The model "m1" reported an error', '模型“m1”返回了错误'],
  bad_request: ['The model "m1" reported an error', '模型“m1”返回了错误'],
  broken_stream: ['The model "m1" reported an error', '模型“m1”返回了错误'],
  server: ['The model "m1" reported an error', '模型“m1”返回了错误'],
  context_overflow: ['This conversation has become too long for the model "m1"', '对话太长，超出了模型“m1”的上限'],
  not_configured: ['The model "m1" reported an error', '模型“m1”返回了错误'],
};

describe('what people see of a run', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  it.each(Object.entries(LINES))(
    'names the model when its request fails (%s), in the language of the person',
    async (kind, lines) => {
      for (const [i, locale] of ['en', 'zh-hans'].entries()) {
        const fail = new ModelError('secret detail', { kind: kind as ModelErrorKind, model: 'm1', hint: 'the fix' });
        const reader = createReader(server, { script: [{ fail }] });
        await reader.say('Hi', { locale });
        await reader.run();
        expect(reader.shown()).toEqual([expect.stringContaining(lines[i] ?? '-')]);
        expect(reader.shown()[0]).not.toContain('secret detail');
        expect(reader.entries().map((e) => e.state)).toEqual(['error']);
        expect(reader.logger.lines).toContainEqual(
          expect.objectContaining({ level: 'error', fields: expect.objectContaining({ err: fail, hint: 'the fix' }) }),
        );
        expect(await isSettled(reader)).toBe(true);
      }
    },
  );

  it('keeps what arrived before the model failed above the line', async () => {
    const fail = new ModelError('cut', { kind: 'stalled', model: 'm1' });
    const reader = createReader(server, { script: [{ text: 'The first half of', fail }] });
    await reader.say('Hi');
    await reader.run();
    expect(reader.shown()[0]).toMatch(/^The first half of\n\nThe model "m1" stopped sending/);
    expect(reader.phases()).toEqual(['running', 'error']);
  });

  it('does not show a fault of its own to people', async () => {
    const reader = createReader(server, { script: [{ fail: new TypeError('x is not a function') }] });
    await reader.say('Hi', { locale: 'zh' });
    await reader.run();
    expect(reader.shown()).toEqual(['我这边出错了，管理员可以在日志里看到详情。']);
  });

  it('says when the answer was cut or withheld, in tools and in chat mode', async () => {
    for (const mode of ['tools', 'chat'] as const) {
      for (const [finishReason, line] of [
        ['length', 'The answer ends here'],
        ['content_filter', 'withheld the rest'],
        ['cut_off', 'connection ended early; the answer may be incomplete'],
      ] as const) {
        const reader = createReader(server, { agent: { mode }, script: [{ text: 'So far.', finishReason }] });
        await reader.say('Hi');
        await reader.run();
        expect(reader.shown()[0]).toMatch(/^So far\.\n\n/);
        expect(reader.shown()[0]).toContain(line);
        expect(reader.entries().at(-1)?.state).toBe('final');
        expect(historyOf(reader).at(-1)).toBe('assistant: So far.');
      }
    }
  });

  it.each(['tools', 'plan', 'chat'] as const)('says when the whole answer was withheld: %s', async (mode) => {
    const reader = createReader(server, { agent: { mode }, script: [{ finishReason: 'content_filter' }] });
    await reader.say('Hi');
    await reader.run();
    expect(reader.shown()).toEqual(['The model provider withheld the rest of this answer.']);
    expect(historyOf(reader)).toEqual(['user: Hi']);
  });

  it('says below the text that stands that the plan was not finished', async () => {
    const reader = createReader(server, {
      agent: { mode: 'plan' },
      script: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }],
    });
    await reader.say('make a plan first, then write');
    await reader.run();
    expect(reader.shown()).toEqual([expect.stringMatching(/^Three\.\n\nI could not finish the plan/)]);
    expect(reader.entries().at(-1)?.state).toBe('error');
    expect(historyOf(reader)).toEqual(['user: make a plan first, then write', 'assistant: Three.']);
  });

  it('says when the limit of rounds was reached', async () => {
    const reader = createReader(server, {
      tools: [look()],
      agent: { maxIterations: 2 },
      script: [{ calls: [call('c1')] }, { calls: [call('c2')] }, { text: 'As far as I got.' }],
    });
    await reader.say('Hi');
    await reader.run();
    expect(reader.shown()[0]).toMatch(/^As far as I got\.\n\nI stopped looking further after \d rounds/);
  });

  it('shows only that the work is done where the answer is hidden', async () => {
    const reader = createReader(server, {
      tools: [look()],
      agent: { showAnswer: false },
      script: [{ text: 'secret', calls: [call('c1')] }, { text: 'secret' }],
    });
    await reader.say('Hi');
    await reader.run();
    expect(reader.shown()).toEqual(['Done, the answer is above.']);
    expect(historyOf(reader).at(-1)).toBe('assistant: secret');
  });

  it('hands reasoning to the platform only where it is shown, and never to later turns', async () => {
    for (const showReasoning of [false, true]) {
      const reader = createReader(server, {
        agent: { showReasoning },
        script: [{ reasoning: 'because', text: 'So.' }],
      });
      await reader.say('Hi');
      await reader.run();
      expect(reader.entries()[0]?.reasoning).toBe(showReasoning ? 'because' : undefined);
      expect(JSON.stringify(reader.state().history)).not.toContain('because');
    }
  });

  it.each([
    ['quiet', false, false],
    ['normal', true, false],
    ['verbose', true, true],
  ] as const)('shows tools and figures by display (%s)', async (display, tools, figures) => {
    const intro = 'I am going to look at it with a tool.';
    const reader: Reader = createReader(server, {
      agent: { display },
      tools: [
        look(async () => {
          await reader.until(() => reader.shown()[0] === (tools ? `Using look …\n${intro}` : intro));
          return 'seen';
        }),
      ],
      script: [{ text: intro, calls: [call('c1')] }, { text: 'Done looking.' }],
    });
    await reader.say('Hi');
    await reader.run();
    const [answer = '', ...rest] = reader.shown();
    expect(rest).toEqual([]);
    expect(answer.startsWith(`${intro}\n\nDone looking.`)).toBe(true);
    expect(answer).not.toContain('Using look');
    expect(/scripted · 2× · 20 → 2 tokens · \d+\.\d s$/.test(answer)).toBe(figures);
  });
});
