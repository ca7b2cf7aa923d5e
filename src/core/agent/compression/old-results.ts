import type { ChatMessage } from '../../llm/model.js';
import { messageTokens } from '../../llm/tokens.js';
import { type Chain, EXEMPT_TOOLS, toolNames } from './chain.js';

/**
 * Tier 1: results of tools in earlier turns, all but the newest `keep`, become a line that names the tool and the
 * size. No model is asked. The same chain when there is nothing to do; a second time there never is.
 */
export function clearOldResults(chain: Chain, keep: number): Chain {
  const { history } = chain;
  const places = history.flatMap(({ role }, at) => (role === 'tool' ? [at] : []));
  const old = new Set(places.slice(0, Math.max(0, places.length - keep)));
  const names = toolNames(history);
  let changed = false;
  const cleared = history.map((message, at) => {
    const shorter = old.has(at) ? clearedResult(message, names) : message;
    if (shorter !== message) changed = true;
    return shorter;
  });
  return changed ? { ...chain, history: cleared } : chain;
}

/** The placeholder of a result; the message itself when it is exempt, one already, or no longer than it would be. */
export function clearedResult(message: ChatMessage, names: ReadonlyMap<string, string>): ChatMessage {
  if (message.role !== 'tool') return message;
  const name = names.get(message.toolCallId) ?? 'tool';
  if (EXEMPT_TOOLS.includes(name)) return message;
  if (isCleared(message)) return message;
  const size = `${message.content.length} characters`;
  const content = `[The result of ${name}, ${size}, was left out. Call the tool again if it is needed.]`;
  const cleared = { ...message, content };
  return messageTokens(cleared) < messageTokens(message) ? cleared : message;
}

/** Is this the placeholder of a result? */
export function isCleared({ content }: ChatMessage): boolean {
  return /^\[The result of \S+, \d+ characters, was left out\. [^\]]+\]$/.test(content);
}
