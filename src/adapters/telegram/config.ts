import { z } from 'zod';

const ENTRY_HINT = 'write numeric Telegram ids (a group\'s id is negative), or "*" for everyone';

/** YAML turns a bare 12345 into a number; both spellings mean the same id. */
const accessEntry = z.union([z.string().regex(/^(\*|(telegram:)?-?\d+)$/, ENTRY_HINT), z.int()], { error: ENTRY_HINT });

const accessConfig = z.strictObject({
  users: z.array(accessEntry).default([]).meta({
    description: 'Ids of the people who may use the bot, or "*" for everyone; empty: nobody',
    env: 'TELEGRAM_ALLOWED_USERS',
  }),
  channels: z
    .array(accessEntry)
    .default(['*'])
    .describe('Ids of the chats where the bot answers, or "*" for all; a private chat has the id of its person'),
});

/** One Telegram bot. `access.users` and `access.channels` must both hold; with the defaults nobody may speak. */
export const telegramConfig = z
  .strictObject({
    account: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/, 'use letters, digits, "_" and "-", at most 32')
      .default('default')
      .describe('Name of this bot when several are configured; part of stored keys, so do not change it later'),
    botToken: z
      .string()
      .regex(/^\d+:[A-Za-z0-9_-]+$/, 'copy the token from @BotFather; it looks like 123456789:ABC-def')
      .meta({ description: 'Token from @BotFather', env: 'TELEGRAM_BOT_TOKEN', secret: true }),
    apiRoot: z
      .url({ protocol: /^https?$/, error: 'write an address like https://api.telegram.org' })
      .default('https://api.telegram.org')
      .describe('Address of the Bot API server'),
    mode: z
      .enum(['polling', 'webhook'])
      .default('polling')
      .describe(
        'polling: the gateway asks Telegram for news; webhook: Telegram calls the gateway (needs http.publicUrl)',
      ),
    webhookSecret: z
      .string()
      .regex(/^[A-Za-z0-9_-]{16,256}$/, 'use 16 to 256 letters, digits, "_" and "-"')
      .optional()
      .meta({ description: 'Proves that a webhook call comes from Telegram; needed by mode webhook', secret: true }),
    access: accessConfig.prefault({}).describe('Who may speak to the bot, and where'),
  })
  .refine((config) => config.mode !== 'webhook' || config.webhookSecret !== undefined, {
    path: ['webhookSecret'],
    error: 'missing; mode webhook needs a secret, for example the output of: openssl rand -hex 32',
  });

export type TelegramConfig = z.infer<typeof telegramConfig>;

/** The bot's own user id: the part of the token before the colon. */
export function botIdOf(config: Pick<TelegramConfig, 'botToken'>): string {
  return config.botToken.split(':', 1)[0] ?? '';
}
