import { describe, expect, it } from 'vitest';
import { botIdOf, telegramConfig } from '../../../src/adapters/telegram/config.js';

const botToken = '123456:ABC-def_1';

function issues(config: object): string[] {
  const result = telegramConfig.safeParse(config);
  return (result.error?.issues ?? []).map((issue) => `${issue.path.join('.')}: ${issue.message}`);
}

describe('telegramConfig', () => {
  it('polls the official server and lets nobody in when only the token is given', () => {
    expect(telegramConfig.parse({ botToken })).toEqual({
      account: 'default',
      botToken,
      apiRoot: 'https://api.telegram.org',
      mode: 'polling',
      access: { users: [], channels: ['*'] },
    });
    expect(botIdOf({ botToken })).toBe('123456');
  });

  it('takes ids as YAML numbers too', () => {
    const access = { users: [12345, 'telegram:6'], channels: [-1001234567890] };
    expect(telegramConfig.parse({ botToken, access }).access).toEqual(access);
  });

  it('says what to write instead', () => {
    expect(issues({ botToken: 'nonsense' })).toEqual([expect.stringContaining('@BotFather')]);
    expect(issues({ botToken, access: { users: ['@alice'] } })).toEqual([
      expect.stringContaining('numeric Telegram ids'),
    ]);
    expect(issues({ botToken, mode: 'webhook' })).toEqual([expect.stringContaining('webhookSecret: missing')]);
    expect(issues({ botToken, mode: 'webhook', webhookSecret: 'short' })).toEqual([
      expect.stringContaining('16 to 256'),
    ]);
    expect(issues({ botToken, apiRoot: 'api.telegram.org' })).toEqual([expect.stringContaining('https://')]);
    expect(issues({ botToken, token: 'x' })).toEqual([expect.stringContaining('Unrecognized key')]);
  });
});
