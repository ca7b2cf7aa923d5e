import type { TelegramApi } from './api.js';

/** What Telegram's menu button offers, by language; the words themselves are in core/chat/control-words. */
const MENU = {
  en: {
    stop: 'Stop the current work',
    new: 'Start over without the earlier messages',
    status: 'What is going on here',
    help: 'How this bot works',
  },
  zh: {
    stop: '停止当前任务',
    new: '重新开始，不再参考之前的消息',
    status: '查看当前状态',
    help: '查看说明',
  },
} as const;

/** Puts the control words into the bot's menu: English for everybody, Chinese for clients that speak it. */
export async function registerCommands(api: TelegramApi): Promise<void> {
  const listed = (menu: Readonly<Record<string, string>>) =>
    Object.entries(menu).map(([command, description]) => ({ command, description }));
  await api.call((raw) => raw.setMyCommands({ commands: listed(MENU.en) }));
  await api.call((raw) => raw.setMyCommands({ commands: listed(MENU.zh), language_code: 'zh' }));
}
