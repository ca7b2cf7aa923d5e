import { setTimeout as sleep } from 'node:timers/promises';
import { AbortedError } from '../errors.js';
import { createDocSearch, type Doc, type DocSearch, type Section } from './doc-search.js';
import type { Model, ModelReply, ModelRequest, ToolCall } from './model.js';
import { estimateTokens, textTokens } from './tokens.js';

export interface DemoModelOptions {
  readonly docs: readonly Doc[];
}

/** Writing speed: a few words per pause, like a fast model. */
const PAUSE_MS = 15;

/** Longest quotation, in characters; it ends at a paragraph. */
const QUOTE_CHARACTERS = 1_500;

const TIME_TOOL = 'current_time';
const TIME_QUESTION =
  /\bwhat('s| is)?( the)?( current)? (time|date|day)\b|\btime is it\b|\bcurrent (time|date)\b|几点|(现在|当前)的?时间|几号|星期几|今天.*日期/i;
const TIME_ZONE = /\b[A-Z][A-Za-z]+\/[A-Z][A-Za-z_/]+\b/;

const TEXTS = {
  en: {
    disclaimer: '_This is a scripted demo without a language model: it only quotes the documentation of Threadloop._',
    found: ({ doc, heading }: Section) => `**${heading || doc}** (from ${doc}):`,
    time: (result: string) => `The tool \`${TIME_TOOL}\` says: ${result}`,
    nothing: (topics: string) => `I found nothing about that. The documentation has sections about: ${topics}.`,
    advice: 'For real answers set `OPENAI_API_KEY` (and `OPENAI_BASE_URL`, `OPENAI_MODEL`) and start again.',
  },
  zh: {
    disclaimer: '_这是没有语言模型的脚本演示：它只会引用 Threadloop 的文档。_',
    found: ({ doc, heading }: Section) => `**${heading || doc}**（摘自 ${doc}）：`,
    time: (result: string) => `工具 \`${TIME_TOOL}\` 的结果：${result}`,
    nothing: (topics: string) => `没有找到相关内容。文档包含这些章节：${topics}。`,
    advice: '要得到真正的回答，请设置 `OPENAI_API_KEY`（以及 `OPENAI_BASE_URL`、`OPENAI_MODEL`）后重新启动。',
  },
} as const;

/**
 * The model of a gateway without any configured model: answers questions about Threadloop by quoting the best section
 * of `docs`, says in every answer that it is a scripted demo, and calls `current_time` when asked for the time. It
 * never stands in for a configured model that fails.
 */
export function createDemoModel({ docs }: DemoModelOptions): Model {
  const search = createDocSearch(docs);
  return {
    name: 'demo',
    contextWindow: 32_000,
    maxOutputTokens: 2_000,
    price: [],
    async request(request) {
      const question = questionOf(request);
      const call = timeCall(request, question);
      if (call) request.onToolCall?.(call.name);
      const text = call ? '' : answer(search, request, question);
      await write(text, request);
      return reply(request, text, call ? [call] : []);
    },
  };
}

/** What the person said last, without the prefix that marks a text sent during a run. */
function questionOf({ messages }: ModelRequest): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  return content.replace(/^【[^】]*】\s*/, '');
}

function timeCall({ messages, tools, toolChoice }: ModelRequest, question: string): ToolCall | undefined {
  const offered = toolChoice !== 'none' && tools?.some(({ name }) => name === TIME_TOOL);
  if (!offered || messages.at(-1)?.role === 'tool' || !TIME_QUESTION.test(question)) return undefined;
  const timeZone = TIME_ZONE.exec(question)?.[0];
  return { id: `call_demo_${messages.length}`, name: TIME_TOOL, arguments: JSON.stringify({ timeZone }) };
}

function answer(search: DocSearch, { messages }: ModelRequest, question: string): string {
  const texts = TEXTS[/\p{Script=Han}/u.test(question) ? 'zh' : 'en'];
  const last = messages.at(-1);
  if (last?.role === 'tool') return `${texts.disclaimer}\n\n${texts.time(last.content)}`;
  const section = search.best(question);
  if (!section) return [texts.disclaimer, texts.nothing(topics(search)), texts.advice].join('\n\n');
  return [texts.disclaimer, texts.found(section), quote(section.body), texts.advice].join('\n\n');
}

function topics({ sections }: DocSearch): string {
  const headings = new Set(sections.map(({ doc, heading }) => heading || doc));
  return [...headings].slice(0, 12).join(', ');
}

/** Whole lines up to the limit; a code block that is cut is closed. */
function quote(body: string): string {
  if (body.length <= QUOTE_CHARACTERS) return body;
  const cut = body.slice(0, QUOTE_CHARACTERS);
  const end = Math.max(cut.lastIndexOf('\n\n'), cut.lastIndexOf('\n', QUOTE_CHARACTERS / 2));
  const kept = end > 0 ? cut.slice(0, end) : cut;
  const fences = kept.match(/^\s*(```|~~~)/gm) ?? [];
  const open = fences.length % 2 === 1 ? `\n${fences.at(-1)?.trim()}` : '';
  return `${kept.trimEnd()}${open}\n\n…`;
}

async function write(text: string, { signal, onText }: ModelRequest): Promise<void> {
  try {
    for (const piece of text.match(/\s*(?:\S{1,12}\s?){1,3}/gu) ?? []) {
      await sleep(PAUSE_MS, undefined, { signal });
      onText?.(piece);
    }
    signal.throwIfAborted();
  } catch {
    throw new AbortedError('demo answer aborted', signal.reason);
  }
}

function reply(request: ModelRequest, text: string, toolCalls: readonly ToolCall[]): ModelReply {
  return {
    text,
    reasoning: '',
    toolCalls,
    finishReason: toolCalls.length > 0 ? 'tool_calls' : 'stop',
    usage: {
      inputTokens: estimateTokens(request.messages, request.tools),
      outputTokens: textTokens(text) + toolCalls.reduce((sum, call) => sum + textTokens(call.name + call.arguments), 0),
      estimated: true,
    },
    requestId: '',
  };
}
