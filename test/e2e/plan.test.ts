import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ModelServer, type ModelStep, type RecordedRequest, startModelServer } from '../fakes/model-server.js';
import { createWorkspace, type GatewayProcess, type Workspace } from './gateway-process.js';
import { answers, createWebClient, type WebConversation } from './web-client.js';

const step = (id: string, title: string) => ({
  ...{ id, title, description: title, acceptanceCriteria: ['done'], status: 'pending', evidence: [] },
});
const setPlan = {
  action: 'set_plan',
  plan: { task: '写报告', description: '', steps: [step('s1', '收集'), step('s2', '写')] },
};
const done = (stepId: string) => ({ action: 'update_step', stepId, status: 'done', outputSummary: '好了' });
const update = (...updates: object[]): ModelStep => ({
  toolCalls: [{ name: 'update_plan', arguments: JSON.stringify({ updates }) }],
});
const ask = {
  ...{ reason: 'Only you know.', blockerType: 'missing_required_input', question: 'Which region?' },
  options: ['Europe', 'Asia', 'America'],
};

describe('mode plan in the web console, with the embedded database', { timeout: 120_000 }, () => {
  let model: ModelServer;
  let workspace: Workspace;
  let gateway: GatewayProcess;
  let script: (request: RecordedRequest, index: number) => ModelStep | Promise<ModelStep>;
  let config: object;
  let n = 0;

  beforeAll(async () => {
    model = await startModelServer((request, index) => script(request, index));
    workspace = createWorkspace();
    config = {
      models: { default: { baseUrl: model.url, model: 'fake', price: { tiers: [{ input: 1_000, output: 0 }] } } },
      agents: { assistant: { mode: 'plan', display: 'verbose' } },
    };
    gateway = await workspace.start(config);
  });
  afterAll(async () => {
    await workspace.remove();
    await model.close();
  });

  const person = (conversation = `p${++n}`, cookie?: string) => createWebClient(gateway.url, conversation, cookie);
  /** What the model of this conversation was asked, without the system prompt. */
  const chainOf = ({ body }: RecordedRequest) => body.messages.slice(1);
  const idle = (seen: WebConversation) => seen.run.state === 'idle' && answers(seen).at(-1)?.state === 'final';

  it('makes the plan it was asked for in Chinese, shows it, and takes an early answer back', async () => {
    const steps: ModelStep[] = [
      { text: '报告就是这样。' },
      update(setPlan),
      { text: '已经写完了。' },
      update(done('s1'), done('s2')),
      { text: '最终报告。' },
    ];
    const refused: string[] = [];
    script = ({ body }) => {
      refused.push(...(JSON.stringify(body.messages.at(-1)).match(/stop_gate_feedback/) ?? []));
      return steps.shift() ?? { text: 'too many requests' };
    };
    const me = person();
    await me.say('请先列个计划，再写报告');
    const seen = await me.until(idle, 30_000);
    expect(answers(seen)).toHaveLength(1);
    const [answer] = answers(seen);
    expect(answer?.text).toContain('最终报告。');
    expect(answer?.text).not.toContain('已经写完了');
    expect(answer?.text).not.toContain('报告就是这样');
    expect(answer?.plan?.steps.map(({ title, status }) => `${title} ${status}`)).toEqual(['收集 done', '写 done']);
    expect(refused).toHaveLength(2);
    expect(steps).toEqual([]);
    expect(answer?.footer).toMatch(/5×/);
  });

  it('goes on after kill -9 while a question waits, with the pressed answer, in one chain', async () => {
    script = ({ body }) =>
      body.messages.at(-1).role === 'tool'
        ? { text: `Deployed to ${body.messages.at(-1).content}.` }
        : { text: 'One question first.', toolCalls: [{ name: 'ask_agent', arguments: JSON.stringify(ask) }] };
    const me = person();
    await me.say('deploy');
    const asked = await me.until((seen) => seen.run.state === 'waiting' && answers(seen).length === 2);
    const before = model.requests.at(-1);
    await gateway.kill();
    gateway = await workspace.start(config);
    const again = person(`p${n}`, me.cookie);
    const card = answers(asked)[1];
    expect(card?.buttons?.map(({ label }) => label)).toEqual(ask.options);
    const [, asia] = card?.buttons ?? [];
    const stranger = person(`p${n}`);
    await stranger.look();
    expect((await stranger.press(asia?.id ?? '', card?.id ?? '')).status).toBe(403);
    expect((await again.press(asia?.id ?? '', card?.id ?? '')).status).toBe(202);
    expect((await again.press(asia?.id ?? '', card?.id ?? '')).status).toBe(409);
    const seen = await again.until((s) => idle(s) && answers(s).length === 3);
    expect(answers(seen).map(({ text }) => text)[2]).toContain('Deployed to Asia.');
    expect(answers(seen)[1]?.buttons ?? []).toEqual([]);
    expect(answers(seen)[1]?.text).toContain('Asia');
    const resumed = model.requests.at(-1)?.body.messages;
    expect(JSON.stringify(resumed).startsWith(JSON.stringify(before?.body.messages).slice(0, -1))).toBe(true);
  });

  it('stops at once while a question waits, and closes its card', async () => {
    script = () => ({ toolCalls: [{ name: 'ask_agent', arguments: JSON.stringify(ask) }] });
    const me = person();
    await me.say('deploy');
    await me.until((seen) => seen.run.state === 'waiting' && answers(seen).length === 1);
    const began = performance.now();
    await me.stop();
    const seen = await me.until((s) => s.run.state === 'idle');
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(answers(seen)[0]?.buttons ?? []).toEqual([]);
  });

  it('steers a run during its last answer: the answer stands, the steer gets one of its own', async () => {
    script = ({ body }) =>
      JSON.stringify(chainOf({ body } as RecordedRequest)).includes('in French')
        ? { text: 'Bonjour.' }
        : { words: 60, tokensPerSecond: 30 };
    const me = person();
    await me.say('count');
    await me.until((seen) => answers(seen)[0]?.state === 'streaming');
    await me.say('in French please');
    const seen = await me.until((s) => idle(s) && answers(s).length === 2);
    expect(answers(seen)[0]?.text).toContain('w60');
    expect(answers(seen)[1]?.text).toContain('Bonjour.');
    expect(seen.messages.find(({ text }) => text === 'in French please')?.mark).toBe('seen');
  });
});
