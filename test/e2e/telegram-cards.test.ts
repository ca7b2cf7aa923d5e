import type { User } from 'grammy/types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type FakeChat,
  type Press,
  type StoredMessage,
  startTelegramServer,
  type TelegramServer,
} from '../fakes/telegram-server.js';
import { createWorkspace, type GatewayProcess, type Workspace } from './gateway-process.js';
import { calls, mcpProgram, type ScriptedModel, startScriptedModel } from './scripted-model.js';

const DONE = { text: 'Done.' };
/** The promise is one second; three leave room for a busy machine. */
const STOP_MS = 3_000;

const question = {
  ...{ reason: 'Only you know.', blockerType: 'missing_required_input', question: 'Which region?' },
  options: ['Europe', 'Asia', 'America'],
};
const step = (id: string, title: string) => ({
  ...{ id, title, description: title, acceptanceCriteria: ['有'], status: 'pending', evidence: [] },
});
const plan = { task: '写报告', description: '', steps: [step('s1', '收集资料'), step('s2', '写正文')] };
const done = (stepId: string) => ({ action: 'update_step', stepId, status: 'done', outputSummary: '好了' });
const updatePlan = (...updates: object[]) => calls('update_plan', { updates });

describe('cards, plans, steering and stops on Telegram, with the embedded database', { timeout: 120_000 }, () => {
  let model: ScriptedModel;
  let telegram: TelegramServer;
  let workspace: Workspace;
  let gateway: GatewayProcess;
  let config: object;
  let hasty: FakeChat;
  let boss: User;

  beforeAll(async () => {
    model = await startScriptedModel();
    telegram = await startTelegramServer({ latencyMs: 15 });
    workspace = createWorkspace();
    hasty = telegram.privateChat();
    boss = telegram.user({ first_name: 'Boss' });
    const rules = ['wait', 'events'].map((tool) => ({ tool: `mcp_fake_${tool}`, decision: 'allow' }));
    const assistant = { mcpServers: ['fake'], permissions: { mode: 'ask', rules } };
    config = {
      models: {
        default: { baseUrl: model.server.url, model: 'fake' },
        clever: { baseUrl: model.server.url, model: 'clever-fake' },
      },
      mcpServers: { fake: mcpProgram('modern') },
      agents: {
        assistant: { ...assistant, approvals: { approvers: [`telegram:${boss.id}`] } },
        hasty: { ...assistant, approvals: { expiresHours: 0.0005 } },
      },
      routes: [{ adapter: 'telegram', channel: String(hasty.id), agent: 'hasty' }, { agent: 'assistant' }],
      adapters: {
        telegram: {
          ...{ botToken: telegram.token, apiRoot: telegram.apiRoot },
          access: { users: ['*'], channels: ['*'] },
        },
      },
    };
    gateway = await workspace.start(config);
  });
  afterAll(async () => {
    await workspace.remove();
    await telegram.close();
    await model.server.close();
  });

  const until = <T>(condition: () => T | undefined | false) => telegram.waitFor(condition, { timeoutMs: 30_000 });
  const now = (message: StoredMessage) => message.versions.at(-1);
  const labels = (message: StoredMessage) =>
    now(message)?.keyboard?.inline_keyboard.flatMap((row) => row.map(({ text }) => text)) ?? [];
  const cardIn = (chat: FakeChat) => chat.botMessages.findLast((message) => labels(message).length > 0);
  const card = (chat: FakeChat) => until(() => cardIn(chat));
  const answered = (press: Press) => until(() => press.answer);
  const says = (chat: FakeChat, text: string) => until(() => chat.botTexts.some((shown) => shown.includes(text)));
  /** What stood on the message at any time. */
  const history = ({ versions }: StoredMessage) => versions.map(({ text }) => text);
  const textOf = (message: StoredMessage) => now(message)?.text ?? '';

  it('makes the plan asked for in Chinese, as a checklist in the same message, and takes a refused draft back', async () => {
    const draft = '报告写完了，内容是这样的：市场一直在增长，明年也会增长。';
    model.play(
      { text: draft, piece: 4, tokensPerSecond: 3 },
      updatePlan({ action: 'set_plan', plan }),
      calls('mcp_fake_wait', { ms: 2_500 }),
      updatePlan(done('s1'), done('s2')),
      { text: '最终报告在这里。' },
    );
    const chat = telegram.privateChat(telegram.user({ first_name: '小明', language_code: 'zh-hans' }));
    chat.say('请先列个计划，再写报告');
    await says(chat, '正在使用 mcp_fake_wait…');
    await says(chat, '最终报告在这里。');
    expect(model.left).toBe(0);
    const [answer, ...more] = chat.botMessages;
    expect(more).toEqual([]);
    const seen = answer ? history(answer) : [];
    expect(seen[0]).toMatch(/^报告写完了/);
    expect(seen.some((text) => text.includes('☐ 收集资料') && text.includes('正在使用'))).toBe(true);
    const last = await until(() => answer && textOf(answer).includes('☑ 写正文') && textOf(answer));
    expect(last).toContain('写报告\n☑ 收集资料\n☑ 写正文');
    expect(last).not.toContain('报告写完了');
  });

  it('keeps cards pressable through kill -9: once, by the right person, and each press is answered', async () => {
    const [ada, bob] = [telegram.user({ first_name: 'Ada' }), telegram.user({ first_name: 'Bob' })];
    const group = telegram.supergroup({ members: [ada, bob] });
    const alone = telegram.privateChat();
    model.play({ text: 'One question first.', ...calls('ask_agent', question) });
    group.say(`@${telegram.bot.username} deploy`, { from: ada });
    const asked = await card(group);
    expect(textOf(asked)).toMatch(/Which region\?[\s\S]*Only you know\./);
    expect(labels(asked)).toEqual(question.options);
    model.play(calls('mcp_fake_erase'));
    alone.say('tidy up');
    const approval = await card(alone);
    await gateway.kill();
    gateway = await workspace.start(config);
    model.play(DONE);
    const before = asked.versions.length;
    expect(await answered(group.press(asked, 'Europe', { from: bob }))).toMatchObject({
      text: 'This button is meant for someone else.',
    });
    expect(asked.versions).toHaveLength(before);
    const [pressed, double] = [group.press(asked, 'Asia', { from: ada }), group.press(asked, 'Europe', { from: ada })];
    expect((await answered(pressed)).text).toBeUndefined();
    expect((await answered(double)).text).toBe('This was already answered.');
    await says(group, 'Done.');
    expect(model.results).toEqual(['Asia']);
    expect(textOf(asked)).toContain('✔ Ada: Asia');
    expect(labels(asked)).toEqual([]);
    const data = asked.versions[0]?.keyboard?.inline_keyboard.flat()[2];
    const late = group.pressRaw(asked, data && 'callback_data' in data ? data.callback_data : '', { from: ada });
    expect((await answered(late)).text).toBe('This was already answered.');
    model.play(DONE);
    alone.press(approval, 'Once');
    await says(alone, 'Done.');
    expect(model.results).toEqual(['gone']);
    expect(model.left).toBe(0);
  });

  it('takes a text for the answer to a question', async () => {
    model.play(calls('ask_agent', question), DONE);
    const chat = telegram.privateChat();
    chat.say('deploy');
    const asked = await card(chat);
    expect(textOf(asked)).toContain('Press a button or write your own answer.');
    chat.say('Mars, if you can');
    await says(chat, 'Done.');
    expect(model.results).toEqual(['Mars, if you can']);
    expect(textOf(asked)).toContain(': Mars, if you can');
  });

  it('runs what is allowed, once or always, and nothing that is denied by a button or by a text', async () => {
    const chat = telegram.privateChat();
    const args = { text: 'hello', token: 'ghp_0123456789abcdef0123' };
    model.play(calls('mcp_fake_echo', args), calls('mcp_fake_echo', args), DONE);
    chat.say('say hello');
    const once = await card(chat);
    expect(textOf(once)).toContain('mcp_fake_echo');
    expect(textOf(once)).toContain('text: "hello"\ntoken: •••');
    expect(labels(once)).toEqual(['Once', 'Always here', 'Deny']);
    chat.press(once, 'Once');
    const always = await until(() => cardIn(chat)?.id !== once.id && cardIn(chat));
    expect(model.results).toEqual(['hello']);
    chat.press(always, 'Always here');
    await says(chat, 'Done.');
    model.play(calls('mcp_fake_echo', args), calls('mcp_fake_put'), calls('mcp_fake_put'), { text: 'So be it.' });
    chat.say('again');
    const first = await card(chat);
    expect(model.results).toEqual(['hello']);
    chat.press(first, 'Deny');
    const second = await until(() => cardIn(chat)?.id !== first.id && cardIn(chat));
    chat.say('yes');
    await says(chat, 'So be it.');
    expect(model.results).toEqual(['hello', 'Denied: the person said no', 'Denied: yes']);
    expect(textOf(first)).toContain('✖ Denied by');
    expect(textOf(second)).toMatch(/✖ Denied by .*: yes/);
    expect(chat.botMessages.flatMap(labels)).toEqual([]);
  });

  it('lets the approver decide, and nobody else', async () => {
    const [ada, bob] = [telegram.user({ first_name: 'Ada' }), telegram.user({ first_name: 'Bob' })];
    const group = telegram.supergroup({ members: [ada, bob, boss] });
    model.play(calls('mcp_fake_erase'), DONE);
    group.say(`@${telegram.bot.username} tidy up`, { from: ada });
    const asked = await card(group);
    const foreign = await answered(group.press(asked, 'Once', { from: bob }));
    expect(foreign.text).toBe('This button is meant for someone else.');
    group.press(asked, 'Once', { from: boss });
    await says(group, 'Done.');
    expect(model.results).toEqual(['gone']);
    expect(textOf(asked)).toContain('✔ Allowed once by Boss');
  });

  it('counts what nobody allows in time as denied, and says so on the card and to a late press', async () => {
    model.play(calls('mcp_fake_erase'), DONE);
    hasty.say('tidy up');
    const asked = await card(hasty);
    const button = now(asked)?.keyboard?.inline_keyboard.flat()[0];
    await says(hasty, 'counts as denied');
    await says(hasty, 'Done.');
    expect(model.results).toEqual(['Denied: nobody approved it in time']);
    expect(labels(asked)).toEqual([]);
    const late = hasty.pressRaw(asked, button && 'callback_data' in button ? button.callback_data : '');
    expect((await answered(late)).text).toBe('This question has expired.');
  });

  it('answers with the model chosen by /model, and takes what stands behind /queue after the answer', async () => {
    const chat = telegram.privateChat();
    chat.say('/model stupid');
    await says(chat, 'There is no model "stupid". Configured: default, clever.');
    chat.say('/model clever');
    await says(chat, 'This conversation uses the model "clever".');
    model.play({ words: 60, tokensPerSecond: 25 }, { text: 'Later it is.' });
    chat.say('count');
    await says(chat, 'w5');
    const queued = chat.say('/queue and later?');
    await until(() => chat.message(queued).reaction === '✍');
    await says(chat, 'Later it is.');
    expect(model.messages.at(-1)?.content).toBe('and later?');
    expect(chat.botTexts.some((text) => text.includes('w60'))).toBe(true);
    expect(model.server.requests.slice(-2).map(({ body }) => body.model)).toEqual(['clever-fake', 'clever-fake']);
  });

  it('takes a text during a tool with the results, and one during the last answer after it', async () => {
    const chat = telegram.privateChat();
    model.play(calls('mcp_fake_wait', { ms: 2_000 }), { words: 40, tokensPerSecond: 20 }, { text: 'Bonjour.' });
    chat.say('work');
    await says(chat, 'Using mcp_fake_wait');
    const first = chat.say('hurry');
    await says(chat, 'w5');
    expect(chat.message(first).reaction).toBe('👀');
    expect(model.messages.slice(-2)).toMatchObject([
      { role: 'tool', content: 'waited' },
      { role: 'user', content: expect.stringMatching(/^【运行中引导，请立即结合它调整当前工作】[\s\S]*hurry$/) },
    ]);
    const second = chat.say('in French, please');
    await says(chat, 'Bonjour.');
    expect(chat.message(second).reaction).toBe('👀');
    expect(model.messages.at(-1)?.content).toContain('in French, please');
    const [answer, last] = chat.botMessages;
    expect(answer && textOf(answer)).toMatch(/w40$/);
    expect(last && textOf(last)).toBe('Bonjour.');
    expect(chat.botMessages).toHaveLength(2);
  });

  describe('a stop is seen at once', () => {
    const stop = async (chat: FakeChat) => {
      const began = performance.now();
      chat.say('/stop');
      await says(chat, 'Stopped.');
      expect(performance.now() - began).toBeLessThan(STOP_MS);
    };

    it('while the model is silent', async () => {
      model.play({ fault: { kind: 'silent' } });
      const chat = telegram.privateChat();
      const asked = model.server.request(model.server.requests.length);
      chat.say('think');
      const { aborted } = await asked;
      await stop(chat);
      expect(await aborted).toBe(true);
    });

    it('while a tool runs, and the server of the tool is told', async () => {
      model.play(calls('mcp_fake_wait', { ms: 60_000 }));
      const chat = telegram.privateChat();
      chat.say('work');
      await says(chat, 'Using mcp_fake_wait');
      await stop(chat);
      model.play(calls('mcp_fake_events'), DONE);
      chat.say('what happened?');
      await says(chat, 'Done.');
      expect(model.results[0]).toMatch(/"wait cancelled"\]$/);
      expect(JSON.stringify(model.messages)).toContain('outcome is unknown');
    });

    it('while a question waits, whose card is closed', async () => {
      model.play(calls('ask_agent', question));
      const chat = telegram.privateChat();
      chat.say('deploy');
      const asked = await card(chat);
      await stop(chat);
      await until(() => labels(asked).length === 0);
      expect(textOf(asked)).toContain('Cancelled.');
      model.play(DONE);
      chat.say('never mind');
      await says(chat, 'Done.');
    });
  });
});
