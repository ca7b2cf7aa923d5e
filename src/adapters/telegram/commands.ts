import type { TelegramApi } from './api.js';

/** What Telegram's menu button offers, by language; the words themselves are in core/chat/control-words. */
const MENU = {
  en: {
    stop: 'Stop the current work',
    new: 'Start over without the earlier messages',
    status: 'What is going on here',
    queue: 'How many messages wait; with a text: send it after the current answer',
    model: 'Which model answers here; with a name: choose it',
    mcp: 'Which tool servers are used here; with a name: add or remove one',
    usage: 'Requests, tokens and cost of this conversation',
    help: 'How this bot works',
  },
  zh: {
    stop: '停止当前任务',
    new: '重新开始，不再参考之前的消息',
    status: '查看当前状态',
    queue: '查看排队的消息；后面加文字则在当前回答结束后发送',
    model: '查看此对话使用的模型；后面加名称可切换',
    mcp: '查看此对话的工具服务器；后面加名称可添加或移除',
    usage: '查看此对话的请求数、词元和费用',
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
