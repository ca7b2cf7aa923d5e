import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../../src/core/agent/events.js';
import { runAgentLoop } from '../../../src/core/agent/run-agent-loop.js';
import { runTurn } from '../../../src/core/agent/run-turn.js';
import { createLoopState } from '../../../src/core/agent/transcript.js';
import { AbortedError } from '../../../src/core/errors.js';
import { createDemoModel } from '../../../src/core/llm/demo-model.js';
import type { ModelRequest } from '../../../src/core/llm/model.js';
import { parseAsk } from '../../../src/core/plan/ask-agent.js';
import { builtinTools } from '../../../src/core/tools/builtin/index.js';
import { createToolCatalog } from '../../../src/core/tools/catalog.js';
import { agentSpec } from '../../fakes/agent-spec.js';
import { hooksOver } from '../agent/tool-hooks.js';

const docs = [
  {
    title: 'README',
    text: [
      'Threadloop is a gateway.',
      '## Quick start',
      '```sh',
      '# not a heading',
      'npm ci && npm start',
      '```',
      '## Steering',
      'A text sent during a run steers it.',
      '## Stores',
      'Redis, PostgreSQL or the embedded database.',
    ].join('\n'),
  },
  { title: 'Long', text: `## Licence\n${'word word word\n\n'.repeat(40)}\`\`\`\n${'code line\n'.repeat(400)}\`\`\`` },
];

function ask(question: string, fields: Partial<ModelRequest> = {}) {
  return createDemoModel({ docs }).request({
    messages: [{ role: 'user', content: question }],
    signal: new AbortController().signal,
    ...fields,
  });
}

describe('the demo model', () => {
  it('quotes the section that fits and says that it is a demo', async () => {
    const pieces: string[] = [];
    const { text, usage } = await ask('How do I start it?', { onText: (delta) => pieces.push(delta) });
    expect(text).toContain('scripted demo without a language model');
    expect(text).toContain('**Quick start** (from README)');
    expect(text).toContain('npm ci && npm start');
    expect(pieces.join('')).toBe(text);
    expect(pieces.length).toBeGreaterThan(5);
    expect(usage.estimated).toBe(true);
  });

  it.each([
    ['How does steering work?', 'Steering'],
    ['which databases are supported', 'Stores'],
    ['怎么启动？', 'Quick start'],
    ['支持哪些数据库？', 'Stores'],
  ])('finds the answer to %s', async (question, heading) => {
    expect((await ask(question)).text).toContain(`**${heading}**`);
  });

  it('answers in the language of the question, also behind the steering prefix', async () => {
    expect((await ask('什么是引导？')).text).toContain('没有语言模型的脚本演示');
    expect((await ask('【运行中引导，请立即结合它调整当前工作】\nsteering?')).text).toContain('scripted demo');
  });

  it('says what it has when nothing fits', async () => {
    expect((await ask('thanks!')).text).toContain('I found nothing');
    const { text } = await ask('xyzzy?');
    expect(text).toContain('scripted demo');
    expect(text).toContain('Quick start');
  });

  it('cuts a long section at a line and closes its code block', async () => {
    const { text } = await ask('licence');
    expect(text.length).toBeLessThan(2_200);
    expect((text.match(/```/g) ?? []).length % 2).toBe(0);
  });

  it('is aborted at once', async () => {
    const stop = new AbortController();
    const work = ask('start', { signal: stop.signal, onText: () => stop.abort() });
    await expect(work).rejects.toBeInstanceOf(AbortedError);
  });

  it.each(['What time is it in Asia/Shanghai?', '上海 Asia/Shanghai 现在几点？'])(
    'asks the tool for the time: %s',
    async (question) => {
      const { finish, text, state } = await runAgentLoop({
        model: createDemoModel({ docs }),
        state: createLoopState([{ role: 'user', content: question }]),
        hooks: hooksOver(builtinTools, { now: () => Date.UTC(2026, 0, 5, 6, 3, 22) }),
        signal: new AbortController().signal,
      });
      expect(finish).toBe('final');
      expect(text).toContain('2026-01-05T14:03:22+08:00');
      expect(text).toMatch(/scripted demo|脚本演示/);
      expect(state.produced).toHaveLength(3);
    },
  );

  it.each([
    ['Make a plan first, then tell me about gateways', 'gateway'],
    ['先列个计划，再告诉我怎么启动', '启动'],
  ])('plans when it is asked to, and the gate lets the answer pass: %s', async (text) => {
    const events: AgentEvent[] = [];
    const model = createDemoModel({ docs });
    const { finish, turn } = await runTurn({
      ...{ agent: agentSpec(model, { mode: 'plan' }), model, history: [], historyFrom: 0, summary: null, text },
      ...{ summaryFailures: 0, person: 'fake:1', chat: 'fake:c', grants: [], loadedTools: [], mcpServers: [] },
      ...{ agents: () => undefined, now: () => 0, signal: new AbortController().signal },
      host: { takeSteering: async () => undefined, save: async () => undefined, onEvent: (e) => events.push(e) },
    });
    expect(finish).toBe('final');
    expect(turn.plan?.plan?.steps.map(({ status }) => status)).toEqual(['done', 'done']);
    expect(events.filter(({ type }) => type === 'draft.refused')).toEqual([]);
  });

  it('asks back when it is asked to, and answers with what was chosen', async () => {
    const tools = [{ name: 'ask_agent', description: '', parameters: {} }];
    const [asked] = (await ask('ask me something', { tools })).toolCalls;
    expect(parseAsk(asked?.arguments ?? '')).toMatchObject({ ok: true });
  });

  it('does not call a tool that is not offered or not allowed', async () => {
    expect((await ask('what time is it')).toolCalls).toEqual([]);
    const tools = createToolCatalog(builtinTools).schemas;
    expect((await ask('what time is it', { tools, toolChoice: 'none' })).toolCalls).toEqual([]);
    expect((await ask('what time is it', { tools })).toolCalls).toHaveLength(1);
  });
});
