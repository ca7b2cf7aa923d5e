import { atomsOf } from '../core/agent/compression/validity.js';
import type { LoopState } from '../core/agent/run-state.js';
import { stored } from '../core/agent/transcript.js';
import type { ChatMessage } from '../core/llm/model.js';

const PREVIEW = { head: 500, tail: 500 } as const;

const INTERRUPTED = 'Interrupted before a result arrived.';

/**
 * What later turns see of a turn: its text, then everything it produced as whole call/result pairs, tool results cut
 * to a preview (seed 000, 3.2.5). A call that never got a result (stopped, killed) gets one that says so. An ask and
 * its answer are such a pair too, so the card and the press reach the model once.
 */
export function turnHistory(text: string, loop: LoopState | undefined): LoopState['messages'] {
  return [{ role: 'user', content: text }, ...atomsOf(loop?.produced ?? []).flatMap(wholePair)];
}

/** A message; one with calls together with their results, in the order of the calls. */
function wholePair([head, ...results]: readonly ChatMessage[]): LoopState['messages'] {
  if (!head) return [];
  const given = new Map(results.flatMap((m) => (m.role === 'tool' ? [[m.toolCallId, m.content]] : [])));
  const calls = head.role === 'assistant' ? (head.toolCalls ?? []) : [];
  return [
    stored(head),
    ...calls.map(({ id }) => {
      const content = given.get(id);
      return { role: 'tool' as const, toolCallId: id, content: content === undefined ? INTERRUPTED : preview(content) };
    }),
  ];
}

/** Head and tail; half a surrogate pair would make the request that carries it invalid for some vendors. */
function preview(content: string): string {
  if (content.length <= PREVIEW.head + PREVIEW.tail) return content;
  const head = content.slice(0, PREVIEW.head).replace(/[\ud800-\udbff]$/, '');
  const tail = content.slice(-PREVIEW.tail).replace(/^[\udc00-\udfff]/, '');
  return `${head}\n… ${content.length - head.length - tail.length} characters left out …\n${tail}`;
}
