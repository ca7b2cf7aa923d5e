import type { ChatMessage, ToolCall } from '../llm/model.js';
import { newCallId } from '../llm/tool-call-assembly.js';
import type { LoopState } from './run-state.js';

type StoredMessage = LoopState['messages'][number];

/** A state at its first boundary: the chain as given, nothing produced yet. */
export function createLoopState(messages: readonly ChatMessage[]): LoopState {
  return {
    v: 1,
    messages: messages.map(stored),
    produced: [],
    round: 0,
    toolOnlyRounds: 0,
    emptyRetried: false,
    startedCalls: [],
    usage: { inputTokens: 0, outputTokens: 0, cost: 0, requests: 0 },
  };
}

/** The message as the state holds it; only the list of calls is copied. */
export function stored(message: ChatMessage): StoredMessage {
  if (message.role !== 'assistant') return message;
  return message.toolCalls
    ? { ...message, toolCalls: [...message.toolCalls] }
    : { role: 'assistant', content: message.content };
}

/**
 * Appends what the model said to both chains. Some vendors reject empty assistant messages: none enters a chain. Calls
 * get ids of their own where they repeat older ones: servers that number the calls of each reply from 0 do that, and
 * what people decide about a call is kept by its id.
 */
export function appendReply(state: LoopState, text: string, calls: readonly ToolCall[]): void {
  const content = text.trim() === '' ? '' : text;
  if (content === '' && calls.length === 0) return;
  const toolCalls = withoutKnownIds(state, calls);
  const message = stored({ role: 'assistant', content, ...(toolCalls.length > 0 && { toolCalls }) });
  state.messages.push(message);
  state.produced.push(message);
}

function withoutKnownIds({ messages, produced }: LoopState, calls: readonly ToolCall[]): readonly ToolCall[] {
  const isKnown = ({ id }: ToolCall): boolean => ownerOf(messages, id) >= 0 || ownerOf(produced, id) >= 0;
  return calls.map((call) => (isKnown(call) ? { ...call, id: newCallId() } : call));
}

/** The newest round's calls that have no result yet, and where its assistant message stands. */
export function openCalls(state: LoopState): { readonly calls: readonly ToolCall[]; readonly at: number } {
  const answered = new Set<string>();
  let at = state.messages.length - 1;
  for (; ; at -= 1) {
    const message = state.messages[at];
    if (message?.role !== 'tool') break;
    answered.add(message.toolCallId);
  }
  const owner = state.messages[at];
  const calls = owner?.role === 'assistant' ? (owner.toolCalls ?? []) : [];
  return { calls: calls.filter((call) => !answered.has(call.id)), at };
}

/** The call with this id, newest first, and where its assistant message stands. */
export function findCall(
  state: LoopState,
  callId: string,
): { readonly call: ToolCall; readonly at: number } | undefined {
  const at = ownerOf(state.messages, callId);
  const owner = state.messages[at];
  const call = owner?.role === 'assistant' ? owner.toolCalls?.find(({ id }) => id === callId) : undefined;
  return call && { call, at };
}

/**
 * Writes a call's result into both chains, replacing the waiting text of a suspended call if there is one. Whatever
 * finishes first, results stand directly behind their assistant message and in the order of its calls. Also clears
 * the call's started-mark. A person's answer to an ask enters the chain through here.
 */
export function writeResult(state: LoopState, callId: string, content: string): void {
  placeResult(state.messages, callId, content);
  placeResult(state.produced, callId, content);
  state.startedCalls = state.startedCalls.filter((id) => id !== callId);
}

/** Gives every call of the newest round that has no result the text `content` says, so that pairs stay whole. */
export function closeOpenCalls(state: LoopState, content: (call: ToolCall) => string): void {
  for (const call of openCalls(state).calls) writeResult(state, call.id, content(call));
}

/** The newest text people can see, back to the last thing they said; '' when there is none. */
export function lastText(state: LoopState): string {
  for (let at = state.produced.length - 1; at >= 0; at -= 1) {
    const message = state.produced[at];
    if (message?.role === 'user') break;
    if (message?.role === 'assistant' && message.content !== '') return message.content;
  }
  return '';
}

function placeResult(chain: StoredMessage[], callId: string, content: string): void {
  const owner = ownerOf(chain, callId);
  const calls = chain[owner];
  if (calls?.role !== 'assistant') return;
  const order = calls.toolCalls?.map(({ id }) => id) ?? [];
  const message: StoredMessage = { role: 'tool', toolCallId: callId, content };
  let at = owner + 1;
  for (; ; at += 1) {
    const other = chain[at];
    if (other?.role !== 'tool' || order.indexOf(other.toolCallId) > order.indexOf(callId)) break;
    if (other.toolCallId !== callId) continue;
    chain[at] = message;
    return;
  }
  chain.splice(at, 0, message);
}

function ownerOf(chain: readonly StoredMessage[], callId: string): number {
  return chain.findLastIndex(
    (message) => message.role === 'assistant' && message.toolCalls?.some(({ id }) => id === callId),
  );
}
