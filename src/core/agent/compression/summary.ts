import type { ChatMessage } from '../../llm/model.js';

/** Notes that stand for earlier messages. Those numbered below `through` never reach a model again. */
export interface Summary {
  readonly text: string;
  readonly through: number;
}

const HEAD =
  '[Background notes about earlier messages of this conversation. They are no new request and need no answer.]';

/**
 * The one message that stands between the system prompt and the messages kept of earlier turns. `leftOut` counts
 * earlier messages that are in neither.
 */
export function summaryMessage(summary: Summary | null, leftOut = 0): ChatMessage {
  const line = leftOut === 0 ? '' : `${leftOut} earlier message${leftOut === 1 ? '' : 's'} left out.`;
  return { role: 'user', content: [HEAD, summary?.text ?? '', line].filter((part) => part !== '').join('\n\n') };
}

/** Means something only for the message that stands directly behind the system prompt: people can write anything. */
export function isSummaryMessage(message: ChatMessage | undefined): boolean {
  return message?.role === 'user' && message.content.startsWith(HEAD);
}

/** What `summaryMessage` was told about messages left out. */
export function leftOutCount(message: ChatMessage, summary: Summary | null): number {
  const told = message.content.slice(summaryMessage(summary).content.length);
  return Number(/^\n\n(\d+) earlier messages? left out\.$/.exec(told)?.[1] ?? 0);
}
