import { setTimeout as sleep } from 'node:timers/promises';
import { AbortedError } from '../errors.js';
import { createSearchIndex, type Passage, type SearchIndex } from '../knowledge/search-index.js';
import { sectionsOf } from '../knowledge/sections.js';
import { NO_CAPABILITIES } from './capabilities.js';
import { demoCall, questionOf, resultsOf, TIME_TOOL } from './demo-calls.js';
import type { Model, ModelReply, ModelRequest, ToolCall } from './model.js';
import { estimateTokens, textTokens } from './tokens.js';

export interface Doc {
  readonly title: string;
  /** Markdown. */
  readonly text: string;
}

export interface DemoModelOptions {
  readonly docs: readonly Doc[];
}

/** Words of Chinese questions that stand in English documents under another name. */
const GLOSSARY: readonly (readonly [string, string])[] = [
  ['启动', 'start'],
  ['安装', 'install start'],
  ['配置', 'config'],
  ['数据库', 'database store'],
  ['引导', 'steer steering'],
  ['停止', 'stop'],
  ['审批', 'approval'],
  ['工具', 'tool'],
  ['模型', 'model'],
  ['计划', 'plan'],
  ['压缩', 'compression'],
  ['平台', 'platform'],
  ['费用', 'cost price usage'],
  ['部署', 'deploy'],
  ['令牌', 'token'],
  ['测试', 'test'],
  ['架构', 'architecture layout'],
  ['队列', 'queue job'],
  ['许可', 'licence license'],
  ['丢失', 'lost kill crash'],
  ['网页', 'web console'],
  ['电报', 'telegram'],
];

/** Writing speed: a few words per pause, like a fast model. */
const PAUSE_MS = 15;

/** Longest quotation, in characters; it ends at a paragraph. */
const QUOTE_CHARACTERS = 1_500;

const TEXTS = {
  en: {
    disclaimer: '_This is a scripted demo without a language model: it only quotes the documentation of Threadloop._',
    found: ({ file, heading }: Passage) => `**${heading || file}** (from ${file}):`,
    time: (result: string) => `The tool \`${TIME_TOOL}\` says: ${result}`,
    nothing: (topics: string) => `I found nothing about that. The documentation has sections about: ${topics}.`,
    advice: 'For real answers set `OPENAI_API_KEY` (and `OPENAI_BASE_URL`, `OPENAI_MODEL`) and start again.',
  },
  zh: {
    disclaimer: '_这是没有语言模型的脚本演示：它只会引用 Threadloop 的文档。_',
    found: ({ file, heading }: Passage) => `**${heading || file}**（摘自 ${file}）：`,
    time: (result: string) => `工具 \`${TIME_TOOL}\` 的结果：${result}`,
    nothing: (topics: string) => `没有找到相关内容。文档包含这些章节：${topics}。`,
    advice: '要得到真正的回答，请设置 `OPENAI_API_KEY`（以及 `OPENAI_BASE_URL`、`OPENAI_MODEL`）后重新启动。',
  },
} as const;

/**
 * The model of a gateway without any configured model: answers questions about Threadloop by quoting the best section
 * of `docs`, says in every answer that it is a scripted demo, and calls tools when asked to (`demo-calls`). It
 * never stands in for a configured model that fails.
 */
export function createDemoModel({ docs }: DemoModelOptions): Model {
  let library: Library | undefined;
  return {
    name: 'demo',
    contextWindow: 32_000,
    maxOutputTokens: 2_000,
    price: [],
    capabilities: NO_CAPABILITIES,
    async request(request) {
      const call = demoCall(request);
      if (call) request.onToolCall?.(call.name);
      library ??= readDocs(docs);
      const text = call ? '' : await answer(library, request);
      await write(text, request);
      return reply(request, text, call ? [call] : []);
    },
  };
}

interface Library {
  readonly index: SearchIndex;
  readonly headings: readonly string[];
}

/** One passage per section: an answer quotes it whole. */
function readDocs(docs: readonly Doc[]): Library {
  const index = createSearchIndex();
  const headings = new Set<string>();
  for (const { title, text } of docs) {
    for (const [at, { path, body }] of sectionsOf(text).entries()) {
      const heading = path.at(-1) ?? '';
      headings.add(heading || title);
      index.add({ id: `${title}#${at}`, file: title, heading, text: unwrapped(body) });
    }
  }
  return { index, headings: [...headings] };
}

/** A chat shows line ends as they are, so paragraphs that were wrapped for an editor are joined again. */
function unwrapped(markdown: string): string {
  const lines: string[] = [];
  let fenced = false;
  for (const line of markdown.split('\n')) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    const previous = lines.at(-1);
    if (!fenced && previous !== undefined && continues(previous, line)) lines.push(`${lines.pop()} ${line.trim()}`);
    else lines.push(line);
  }
  return lines.join('\n');
}

function continues(previous: string, line: string): boolean {
  const startsBlock = /^\s*([-*+>|#]|\d+[.)]\s|```|~~~|$)/;
  return previous.trim() !== '' && !startsBlock.test(line) && !/^\s*([|#]|```|~~~)/.test(previous);
}

async function answer({ index, headings }: Library, request: ModelRequest): Promise<string> {
  const question = questionOf(request);
  const texts = TEXTS[/\p{Script=Han}/u.test(question) ? 'zh' : 'en'];
  const results = resultsOf(request);
  const time = results.find(({ tool }) => tool === TIME_TOOL);
  if (time) return `${texts.disclaimer}\n\n${texts.time(time.content)}`;
  const chosen = results.find(({ tool }) => tool === 'ask_agent')?.content ?? question;
  const found = (await index.search(withEnglish(chosen), 1))[0]?.passage;
  if (!found) return [texts.disclaimer, texts.nothing(headings.slice(0, 12).join(', ')), texts.advice].join('\n\n');
  return [texts.disclaimer, texts.found(found), quote(found.text), texts.advice].join('\n\n');
}

function withEnglish(question: string): string {
  const english = GLOSSARY.filter(([chinese]) => question.includes(chinese)).map(([, words]) => words);
  return [question, ...english].join(' ');
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
