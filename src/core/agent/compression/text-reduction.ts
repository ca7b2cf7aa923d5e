import type { ChatMessage } from '../../llm/model.js';
import { messageTokens } from '../../llm/tokens.js';
import { type Chain, EXEMPT_TOOLS, toolNames } from './chain.js';
import { cutMiddle } from './text-cut.js';

/** Characters: longest text that stays whole, and the shortest paragraph worth naming as a repetition. */
const LIMITS = { toolResult: 2_000, assistantText: 4_000, paragraph: 200 } as const;

const REPEATED = '[This paragraph stands word for word further on.]';

/**
 * Rules instead of a model, for the first `count` messages of the history: paragraphs that stand again later are named
 * only, blank lines and line ends lose their surplus, long results and long assistant texts keep head and tail.
 * Words, names and numbers that stay are exactly what they were. The same chain when nothing gets shorter.
 */
export function reduceTexts(chain: Chain, count: number): Chain {
  const { history, turn } = chain;
  const names = toolNames(history);
  const later = new Set<string>();
  for (const { content } of [...history.slice(count), ...turn]) for (const text of paragraphs(content)) later.add(text);
  const reduced = [...history];
  let changed = false;
  for (let at = Math.min(count, history.length) - 1; at >= 0; at -= 1) {
    const message = history[at];
    if (!message) continue;
    const shorter = reducedMessage(message, names, later);
    if (messageTokens(shorter) >= messageTokens(message)) continue;
    reduced[at] = shorter;
    changed = true;
  }
  return changed ? { ...chain, history: reduced } : chain;
}

/** `later` holds the long paragraphs behind this message and is told this message's own. */
function reducedMessage(message: ChatMessage, names: ReadonlyMap<string, string>, later: Set<string>): ChatMessage {
  const isExempt = message.role === 'tool' && EXEMPT_TOOLS.includes(names.get(message.toolCallId) ?? '');
  if (isExempt) return message;
  const content = limited(message, withoutRepetitions(tidied(message.content), later));
  return content === message.content ? message : { ...message, content };
}

/** Indentation stays: it means something in code. Line by line: a pattern would be slow on long runs of blanks. */
export function tidied(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd());
  return lines.filter((line, at) => line !== '' || lines[at - 1] !== '').join('\n');
}

function withoutRepetitions(text: string, later: Set<string>): string {
  const kept: string[] = [];
  for (const paragraph of text.split('\n\n').reverse()) {
    const repeated = paragraph.length >= LIMITS.paragraph && later.has(paragraph);
    if (!repeated) later.add(paragraph);
    kept.push(repeated ? REPEATED : paragraph);
  }
  return kept.reverse().join('\n\n');
}

function paragraphs(text: string): readonly string[] {
  return tidied(text)
    .split('\n\n')
    .filter(({ length }) => length >= LIMITS.paragraph);
}

function limited(message: ChatMessage, text: string): string {
  if (message.role === 'tool') return cutMiddle(text, LIMITS.toolResult);
  return message.role === 'assistant' ? cutMiddle(text, LIMITS.assistantText) : text;
}
