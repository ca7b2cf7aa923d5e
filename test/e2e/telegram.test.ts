import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ModelServer, type ModelStep, type RecordedRequest, startModelServer } from '../fakes/model-server.js';
import {
  type FakeChat,
  type StoredMessage,
  startTelegramServer,
  type TelegramServer,
} from '../fakes/telegram-server.js';
import { createWorkspace, type GatewayProcess, type Workspace } from './gateway-process.js';
import { numbered } from './web-client.js';

const words = (count: number) => Array.from({ length: count }, (_, i) => `w${i + 1}`);

describe('Telegram, with the embedded database', { timeout: 180_000 }, () => {
  let model: ModelServer;
  let telegram: TelegramServer;
  let workspace: Workspace;
  let gateway: GatewayProcess;
  let script: (request: RecordedRequest) => ModelStep = () => ({ text: 'Hello.' });
  let config: object;

  beforeAll(async () => {
    model = await startModelServer((request) => script(request));
    telegram = await startTelegramServer({ latencyMs: 15 });
    workspace = createWorkspace();
    config = {
      models: { default: { baseUrl: model.url, apiKey: 'sk-test-secret-key', model: 'fake' } },
      adapters: { telegram: { botToken: telegram.token, apiRoot: telegram.apiRoot, access: { users: ['*'] } } },
    };
    gateway = await workspace.start(config);
  });
  afterEach(() => {
    script = () => ({ text: 'Hello.' });
  });
  afterAll(async () => {
    await workspace.remove();
    await telegram.close();
    await model.close();
  });

  const isFinal = (chat: FakeChat, count: number) => () => numbered(chat.botTexts).length >= count;
  /** Longest time between two visible changes of the chat's answer, ms. */
  function longestGap(messages: readonly StoredMessage[]): number {
    const times = messages.flatMap((m) => m.versions.map((v) => v.at)).sort((a, b) => a - b);
    return Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? at)));
  }

  it('answers in a private chat', async () => {
    const chat = telegram.privateChat();
    chat.say('Hi');
    await telegram.waitFor(() => chat.botTexts.includes('Hello.'));
    expect(chat.botMessages).toHaveLength(1);
  });

  it('sends a short answer once and never edits it', async () => {
    const chat = telegram.privateChat();
    chat.say('Hi');
    await telegram.waitFor(() => chat.botTexts.includes('Hello.'));
    await sleep(1_500);
    expect(telegram.writes(chat)).toHaveLength(1);
  });

  it('streams a long answer through the following messages, complete and within the rhythm', async () => {
    script = () => ({ words: 1_800, tokensPerSecond: 150 });
    const chat = telegram.privateChat();
    chat.say('Count');
    await telegram.waitFor(isFinal(chat, 1_800), { timeoutMs: 60_000 });
    await sleep(2_500);
    expect(numbered(chat.botTexts)).toEqual(words(1_800));
    expect(chat.botMessages.length).toBeGreaterThan(2);
    // The promise is three seconds; threefold slack for a busy machine.
    expect(longestGap(chat.botMessages)).toBeLessThan(9_000);
    const seconds = 1_800 / 150;
    expect(telegram.writes(chat).length).toBeLessThanOrEqual(seconds / 1.1 + 2 * chat.botMessages.length);
  });

  it('completes the same messages after kill -9 in mid-answer', async () => {
    script = () => ({ words: 1_200, tokensPerSecond: 150 });
    const chat = telegram.privateChat();
    chat.say('Count');
    await telegram.waitFor(() => chat.botMessages[1] && chat.botMessages[1].versions.length > 1, { timeoutMs: 30_000 });
    await gateway.kill();
    const before = chat.botMessages.map((m) => m.id);
    script = () => ({ words: 100, tokensPerSecond: 100 });
    gateway = await workspace.start(config);
    await telegram.waitFor(() => chat.botMessages.length === 1 && numbered(chat.botTexts).length === 100, {
      timeoutMs: 30_000,
    });
    expect(before.length).toBeGreaterThan(1);
    expect(chat.botMessages.map((m) => m.id)).toEqual(before.slice(0, 1));
    expect(numbered(chat.botTexts)).toEqual(words(100));
  });

  it('delivers the final text after a 429 and two 502 at the end', async () => {
    script = () => ({ words: 300, tokensPerSecond: 100 });
    const chat = telegram.privateChat();
    const isLast = (payload: Readonly<Record<string, unknown>>) => String(payload.text).includes('w300');
    const limited = telegram.fail('editMessageText', { status: 429, retryAfter: 3, match: isLast });
    const broken = telegram.fail('editMessageText', { status: 502, times: 2, match: isLast });
    chat.say('Count');
    await telegram.waitFor(isFinal(chat, 300), { timeoutMs: 30_000 });
    expect([limited.hits, broken.hits]).toEqual([1, 2]);
    expect(numbered(chat.botTexts)).toEqual(words(300));
    expect(chat.botMessages).toHaveLength(1);
  });

  it('posts the answer anew when the message was deleted in mid-answer', async () => {
    script = () => ({ words: 300, tokensPerSecond: 60 });
    const chat = telegram.privateChat();
    chat.say('Count');
    await telegram.waitFor(isFinal(chat, 30));
    const [message] = chat.botMessages;
    if (message) chat.erase(message);
    await telegram.waitFor(isFinal(chat, 300), { timeoutMs: 30_000 });
    expect(numbered(chat.botTexts)).toEqual(words(300));
    expect(chat.botMessages).toHaveLength(1);
  });

  it('goes on with others when a person blocks the bot in mid-answer', async () => {
    script = () => ({ words: 200, tokensPerSecond: 60 });
    const chat = telegram.privateChat();
    chat.say('Count');
    await telegram.waitFor(isFinal(chat, 30));
    chat.block();
    const other = telegram.privateChat();
    script = () => ({ text: 'Hello.' });
    other.say('Hi');
    await telegram.waitFor(() => other.botTexts.includes('Hello.'));
    expect(gateway.output).not.toContain(telegram.token);
  });

  it('stops on /stop, keeps the text and acknowledges a steer with a reaction', async () => {
    script = ({ body }) =>
      JSON.stringify(body.messages).includes('hurry')
        ? { words: 2_000, tokensPerSecond: 50 }
        : { toolCalls: [{ name: 'current_time', arguments: '{}' }], delayMs: 1_500 };
    const chat = telegram.privateChat();
    chat.say('Work');
    const steer = chat.say('hurry');
    await telegram.waitFor(() => numbered(chat.botTexts).length > 20);
    expect(chat.message(steer).reaction).toBeDefined();
    chat.say('/stop');
    await telegram.waitFor(() => chat.botTexts.some((text) => /stop/i.test(text)));
    expect(numbered(chat.botTexts).length).toBeGreaterThan(20);
  });

  it('answers fifty chats at once while polling goes on', async () => {
    script = () => ({ words: 60, tokensPerSecond: 20 });
    const chats = Array.from({ length: 50 }, () => telegram.privateChat());
    for (const chat of chats) chat.say('Count');
    await telegram.waitFor(() => telegram.pending.length === 0, { timeoutMs: 15_000 });
    // All are taken in while no answer is complete yet: polling does not wait for answers.
    expect(chats.filter((chat) => numbered(chat.botTexts).length === 60).length).toBeLessThan(50);
    await telegram.waitFor(() => chats.every((chat) => numbered(chat.botTexts).length === 60), { timeoutMs: 60_000 });
    for (const chat of chats) expect(numbered(chat.botTexts)).toEqual(words(60));
  });
});
