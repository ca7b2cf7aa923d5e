import { requiresPlan } from '../plan/require-plan.js';
import type { ChatMessage, ModelRequest, ToolCall } from './model.js';

export const TIME_TOOL = 'current_time';
const PLAN_TOOL = 'update_plan';
const ASK_TOOL = 'ask_agent';

const TIME_QUESTION =
  /\bwhat('s| is)?( the)?( current)? (time|date|day)\b|\btime is it\b|\bcurrent (time|date)\b|几点|(现在|当前)的?时间|几号|星期几|今天.*日期/i;
const TIME_ZONE = /\b[A-Z][A-Za-z]+\/[A-Z][A-Za-z_/]+\b/;
const ASK_QUESTION = /\bask me\b|问我/i;

/** How the gate's feedback begins; it is no text of a person. */
const FEEDBACK = '<stop_gate_feedback';

const WORDS = {
  en: {
    steps: ['Find the section', 'Quote it'],
    task: 'Answer from the documentation',
    done: 'Done.',
    reason: 'The demo asks because you wanted to be asked.',
    question: 'What shall I tell you about?',
    options: ['How messages are kept', 'Telegram', 'Steering'],
  },
  zh: {
    steps: ['查找相关章节', '引用内容'],
    task: '根据文档回答',
    done: '完成。',
    reason: '您让我提问，所以演示一下。',
    question: '您想了解什么？',
    options: ['消息如何保存', 'Telegram', '运行中引导'],
  },
} as const;

/** A result of the turn's own calls, by the name of its tool. */
export interface DemoResult {
  readonly tool: string;
  readonly content: string;
}

/** What the person said last, without the prefix that marks a text sent during a run. */
export function questionOf({ messages }: Pick<ModelRequest, 'messages'>): string {
  const content = messages[lastQuestion(messages)]?.content ?? '';
  return content.replace(/^【[^】]*】\s*/, '');
}

/** Results of the calls made since the person said that, in order. */
export function resultsOf({ messages }: Pick<ModelRequest, 'messages'>): readonly DemoResult[] {
  const turn = messages.slice(lastQuestion(messages) + 1);
  const names = new Map(
    turn.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id, name }) => [id, name] as const) : [],
    ),
  );
  return turn.flatMap((message) =>
    message.role === 'tool' ? [{ tool: names.get(message.toolCallId) ?? '', content: message.content }] : [],
  );
}

/**
 * The call the demo makes next, if any, so that a first look shows what an agent can do: the time, a plan when one is
 * asked for, a question with buttons for "ask me".
 */
export function demoCall(request: ModelRequest): ToolCall | undefined {
  const { messages, tools, toolChoice } = request;
  const question = questionOf(request);
  const made = resultsOf(request).map(({ tool }) => tool);
  const offered = (name: string): boolean =>
    toolChoice !== 'none' && (tools?.some((tool) => tool.name === name) ?? false);
  const call = (name: string, args: object): ToolCall => ({
    id: `call_demo_${messages.length}`,
    name,
    arguments: JSON.stringify(args),
  });
  const words = WORDS[/\p{Script=Han}/u.test(question) ? 'zh' : 'en'];
  const planned = made.filter((name) => name === PLAN_TOOL).length;
  const plans = offered(PLAN_TOOL) && requiresPlan(question);
  if (plans && planned === 0) return call(PLAN_TOOL, { updates: [setPlan(words)] });
  if (offered(TIME_TOOL) && !made.includes(TIME_TOOL) && TIME_QUESTION.test(question)) {
    return call(TIME_TOOL, { timeZone: TIME_ZONE.exec(question)?.[0] });
  }
  if (offered(ASK_TOOL) && !made.includes(ASK_TOOL) && ASK_QUESTION.test(question)) {
    const { reason, options } = words;
    return call(ASK_TOOL, { reason, blockerType: 'ambiguous_goal', question: words.question, options });
  }
  if (plans && planned === 1) return call(PLAN_TOOL, { updates: words.steps.map((_, at) => finished(at, words.done)) });
  return undefined;
}

function lastQuestion(messages: readonly ChatMessage[]): number {
  return messages.findLastIndex(({ role, content }) => role === 'user' && !content.startsWith(FEEDBACK));
}

function setPlan({ steps, task }: (typeof WORDS)['en' | 'zh']) {
  const listed = steps.map((title, at) => ({
    ...{ id: `s${at + 1}`, title, description: title, acceptanceCriteria: [title], status: 'pending', evidence: [] },
  }));
  return { action: 'set_plan', plan: { task, description: task, steps: listed } };
}

function finished(at: number, outputSummary: string) {
  return { action: 'update_step', stepId: `s${at + 1}`, status: 'done', outputSummary };
}
