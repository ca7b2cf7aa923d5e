import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type ModelServer, startModelServer } from '../fakes/model-server.js';
import { startTelegramServer, type TelegramServer } from '../fakes/telegram-server.js';
import { createWorkspace, type Workspace } from './gateway-process.js';
import { numbered } from './web-client.js';

const redis = inject('redis');

/** The promise is 15 s; the model needs 4 s for the rest of the answer, and a busy machine may need longer. */
const TAKEN_OVER_MS = 30_000;

describe('two workers and a gateway on Redis', { timeout: 120_000 }, () => {
  if (!('url' in redis)) return it.skip(redis.missing, () => undefined);
  const redisUrl = `${redis.url.replace(/\/0$/, '')}/5`;
  let model: ModelServer;
  let telegram: TelegramServer;
  let workspace: Workspace;
  let config: object;

  beforeAll(async () => {
    model = await startModelServer({ words: 400, tokensPerSecond: 100 });
    telegram = await startTelegramServer({ latencyMs: 15 });
    workspace = createWorkspace();
    config = {
      store: { redisUrl },
      models: { default: { baseUrl: model.url, apiKey: 'sk-test-secret-key', model: 'fake' } },
      adapters: { telegram: { botToken: telegram.token, apiRoot: telegram.apiRoot, access: { users: ['*'] } } },
    };
  });
  afterAll(async () => {
    await workspace.remove();
    await telegram.close();
    await model.close();
  });

  it('go on in the same message when the worker at work is killed, and when the gateway is', async () => {
    const gateway = await workspace.start(config, 'gateway');
    const first = await workspace.start(config, 'worker');
    const chat = telegram.privateChat();
    chat.say('Count');
    await telegram.waitFor(() => (chat.botMessages[0]?.versions.length ?? 0) > 1, { timeoutMs: 20_000 });
    const message = chat.botMessages[0];
    await workspace.start(config, 'worker');
    await first.kill();
    await telegram.waitFor(() => numbered(chat.botTexts).length === 400, { timeoutMs: TAKEN_OVER_MS });
    expect(chat.botMessages.map((m) => m.id)).toEqual([message?.id]);

    chat.say('Again');
    await telegram.waitFor(() => chat.botMessages.length === 2, { timeoutMs: 20_000 });
    await gateway.kill();
    await telegram.waitFor(() => numbered(chat.botTexts).length === 800, { timeoutMs: TAKEN_OVER_MS });
    expect(chat.botMessages).toHaveLength(2);
  });
});
