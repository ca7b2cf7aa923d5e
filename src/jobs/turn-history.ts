import type { LoopState } from '../core/agent/run-state.js';

const PREVIEW = { head: 500, tail: 500 } as const;

/**
 * What later turns see of a turn: its text, then everything it produced as whole call/result pairs, tool results cut
 * to a preview (seed 000, 3.2.5). A call that never got a result (stopped, killed) gets one that says so. An ask and
 * its answer are such a pair too, so the card and the press reach the model once.
 */
export function turnHistory(text: string, loop: LoopState | undefined): LoopState['messages'] {
  const messages: LoopState['messages'] = [{ role: 'user', content: text }];
  const produced = loop?.produced ?? [];
  const answered = new Set(produced.flatMap((m) => (m.role === 'tool' ? [m.toolCallId] : [])));
  for (const message of produced) {
    messages.push(message.role === 'tool' ? { ...message, content: preview(message.content) } : message);
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls ?? []) {
      if (!answered.has(call.id)) {
        messages.push({ role: 'tool', toolCallId: call.id, content: 'Interrupted before a result arrived.' });
      }
    }
  }
  return messages;
}

function preview(content: string): string {
  const { head, tail } = PREVIEW;
  if (content.length <= head + tail) return content;
  return `${content.slice(0, head)}\n… ${content.length - head - tail} characters left out …\n${content.slice(-tail)}`;
}
