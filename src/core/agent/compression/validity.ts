import type { ChatMessage, ToolCall } from '../../llm/model.js';

/** The result of a call that has none; also how such an invented message is recognised when messages are counted. */
export const NO_RESULT = '[no result: interrupted]';

/**
 * Why a vendor would refuse this chain; undefined when it is whole: each call has exactly one result, directly behind
 * its assistant message and in call order, no assistant message is empty, arguments are at least `{}`.
 */
export function isValidChain(messages: readonly ChatMessage[]): string | undefined {
  let due: readonly string[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (due[0] !== message.toolCallId) return `message ${at}: a result of ${message.toolCallId}, which is not due`;
      due = due.slice(1);
      continue;
    }
    if (due.length > 0) return `message ${at}: no result of ${due.join(', ')} before it`;
    if (message.role !== 'assistant') continue;
    const calls = message.toolCalls ?? [];
    if (calls.length === 0 && message.content === '') return `message ${at}: an empty assistant message`;
    if (calls.some((call) => call.arguments.trim() === '')) return `message ${at}: a call without arguments`;
    due = calls.map(({ id }) => id);
    if (new Set(due).size < due.length) return `message ${at}: two calls with one id`;
  }
  return due.length > 0 ? `at the end: no result of ${due.join(', ')}` : undefined;
}

/**
 * The chain made whole (R6): results nobody asked for are dropped, missing ones say that the call was interrupted,
 * results stand in call order. The same array when it is whole already.
 */
export function repairChain(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (isValidChain(messages) === undefined) return messages;
  return atomsOf(messages).flatMap(repairAtom);
}

/** Splits a chain where it may be cut: an assistant message and the results behind it belong together (R1). */
export function atomsOf(messages: readonly ChatMessage[]): readonly (readonly ChatMessage[])[] {
  const atoms: ChatMessage[][] = [];
  let open: ChatMessage[] | undefined;
  for (const message of messages) {
    if (message.role === 'tool' && open) {
      open.push(message);
      continue;
    }
    const atom = [message];
    atoms.push(atom);
    open = message.role === 'assistant' ? atom : undefined;
  }
  return atoms;
}

function repairAtom([head, ...results]: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!head || head.role === 'tool') return [];
  if (head.role !== 'assistant') return [head];
  const calls = distinctCalls(head.toolCalls ?? []);
  if (calls.length === 0) return head.content === '' ? [] : [{ role: 'assistant', content: head.content }];
  const repaired = calls.map((call): ChatMessage => {
    const result = results.find((message) => message.role === 'tool' && message.toolCallId === call.id);
    return result ?? { role: 'tool', toolCallId: call.id, content: NO_RESULT };
  });
  return [{ ...head, toolCalls: calls }, ...repaired];
}

function distinctCalls(calls: readonly ToolCall[]): readonly ToolCall[] {
  const byId = new Map<string, ToolCall>();
  for (const call of calls) {
    if (!byId.has(call.id)) byId.set(call.id, call.arguments.trim() === '' ? { ...call, arguments: '{}' } : call);
  }
  return [...byId.values()];
}
