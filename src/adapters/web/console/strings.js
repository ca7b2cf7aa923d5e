// The page's own words. The gateway's lines in a conversation come from the server in the person's language.

const en = {
  skip: 'Skip to the message box',
  newConversation: 'New conversation',
  conversations: 'Conversations',
  messages: 'Messages',
  forget: 'Remove from this list',
  offline: 'Connection lost. Reconnecting…',
  emptyTitle: 'What can I do for you?',
  emptyText: 'Ask a question. You can go on writing while the answer is being written, and stop it at any time.',
  working: 'Working',
  running: 'Answering',
  waiting: 'Waiting for your answer',
  latest: 'Go to the newest message',
  close: 'Close',
  message: 'Message',
  placeholder: 'Write a message',
  placeholderRunning: 'Add to the running answer',
  placeholderWaiting: 'Write your answer',
  stop: 'Stop',
  send: 'Send',
  hint: 'Enter sends, Shift + Enter starts a new line',
  hintRunning: 'Your message steers the running answer; start it with “queue:” to have it wait',
  hintWaiting: 'Your message answers the question; it can deny what a tool wants to do, but only a button allows it',
  seen: 'Taken into the answer',
  queued: 'Waits for the end of the answer',
  stopped: 'Stopped',
  failed: 'Failed',
  reasoning: 'Reasoning',
  plan: 'Plan',
  stepsDone: '{done} of {total} steps done',
  moreSteps: '{hidden} more steps',
  pending: 'To do',
  in_progress: 'In progress',
  done: 'Done',
  blocked: 'Blocked',
  skipped: 'Skipped',
  copy: 'Copy',
  copied: 'Copied',
  unreachable: 'The gateway cannot be reached.',
  unreachableHint: 'Check that it is running. Your text is kept.',
  loginText: 'This console is protected by the token of its gateway.',
  token: 'Token',
  signIn: 'Sign in',
};

const zh = {
  skip: '跳到输入框',
  newConversation: '新对话',
  conversations: '对话',
  messages: '消息',
  forget: '从列表中移除',
  offline: '连接已断开，正在重新连接…',
  emptyTitle: '有什么可以帮你？',
  emptyText: '直接提问即可。回答过程中可以继续补充，也可以随时停止。',
  working: '处理中',
  running: '正在回答',
  waiting: '等待你的回答',
  latest: '跳到最新消息',
  close: '关闭',
  message: '消息',
  placeholder: '输入消息',
  placeholderRunning: '补充正在进行的回答',
  placeholderWaiting: '写下你的回答',
  stop: '停止',
  send: '发送',
  hint: '回车发送，Shift + 回车换行',
  hintRunning: '消息会引导正在进行的回答；以“queue:”开头则等回答结束后再处理',
  hintWaiting: '消息会作为问题的回答，也可以拒绝工具的请求；只有按钮才能允许',
  seen: '已纳入当前回答',
  queued: '等待当前回答结束',
  stopped: '已停止',
  failed: '出错',
  reasoning: '思考过程',
  plan: '计划',
  stepsDone: '已完成 {done} 步，共 {total} 步',
  moreSteps: '另有 {hidden} 步',
  pending: '待办',
  in_progress: '进行中',
  done: '已完成',
  blocked: '受阻',
  skipped: '已跳过',
  copy: '复制',
  copied: '已复制',
  unreachable: '无法连接到网关。',
  unreachableHint: '请确认它正在运行。你的文字已保留。',
  loginText: '此控制台受网关令牌保护。',
  token: '令牌',
  signIn: '登录',
  // Errors of the API, by code.
  not_yours: '这个操作只能由相关的人完成。',
  already_answered: '这个问题已经回答过了。',
  expired: '这个问题已经失效。',
  nothing_runs: '当前没有正在进行的回答。',
  empty_message: '消息是空的。',
  message_too_long: '消息太长，最多 100,000 个字符。',
  store_unavailable: '存储暂时不可用，请稍后重试。',
  wrong_token: '令牌不正确。',
};

const chinese = /^zh\b/i.test(navigator.language);
const table = chinese ? zh : en;

/** The text of a key in the browser's language, with `{name}` replaced by the value of that name. */
export function t(key, values = {}) {
  return (table[key] ?? en[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** An error of the API in the browser's language, where there is one; otherwise as the server put it. */
export function errorText({ code, message, hint }) {
  return table[code] ? { message: table[code], hint: '' } : { message, hint };
}

/** Puts the texts into the elements that name them by `data-t` (content) or `data-t-label` (accessible name). */
export function translatePage() {
  document.documentElement.lang = chinese ? 'zh' : 'en';
  for (const element of document.querySelectorAll('[data-t]')) element.textContent = t(element.dataset.t);
  for (const element of document.querySelectorAll('[data-t-label]')) {
    element.setAttribute('aria-label', t(element.dataset.tLabel));
    if (element.matches('button')) element.title = t(element.dataset.tLabel);
  }
}
