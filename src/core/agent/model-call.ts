import { ModelError, toError } from '../errors.js';
import type { Model, ModelReply, ToolCall } from '../llm/model.js';
import { priceOf } from '../llm/pricing.js';
import type { AgentLoopHooks, RequestControl } from './hooks.js';
import type { LoopState } from './run-state.js';
import { stored } from './transcript.js';

/** Rounds in a row with calls and no text before the brake forces a text (seed 000, 3.2.3). */
const BRAKE_AFTER = 5;

export interface ModelCaller {
  readonly model: Model;
  readonly state: LoopState;
  readonly hooks: Pick<AgentLoopHooks, 'getRequestControl' | 'onCompressContext' | 'onEvent'>;
  readonly signal: AbortSignal;
  /** The person's own key pays: requests cost 0. */
  readonly ownKey: boolean;
  /** Text of the request in flight; what is left of an answer when it is cut off. */
  draft: string;
  /** Reasoning of the newest request. */
  reasoning: string;
}

/**
 * One priced request. With `plainly` no tools are offered and that instruction is added to this request only (it never
 * enters the chain); calls the model makes up all the same are dropped.
 */
export async function callModel(run: ModelCaller, plainly?: string): Promise<ModelReply> {
  const { state, signal } = run;
  const plain = plainly !== undefined;
  const control = plain ? undefined : await run.hooks.getRequestControl?.(state);
  const brake = !plain && state.toolOnlyRounds > BRAKE_AFTER ? 'none' : undefined;
  const options = { ...control, toolChoice: control?.toolChoice ?? brake };
  const reply = await requestOnce(run, options, plainly).catch(async (thrown: unknown) => {
    // Refused as too long: once more with a shorter chain, if there is one and nobody saw a part of an answer.
    const refused = thrown instanceof ModelError && thrown.kind === 'context_overflow';
    const shown = run.draft !== '' || run.reasoning !== '';
    const shorter = refused && !shown ? await run.hooks.onCompressContext?.(state, signal, true) : undefined;
    if (!shorter) throw toError(thrown);
    state.messages = shorter.map(stored);
    return requestOnce(run, options, plainly);
  });
  return { ...reply, toolCalls: plain ? [] : reply.toolCalls.map(withArguments) };
}

async function requestOnce(run: ModelCaller, control: RequestControl, plainly?: string): Promise<ModelReply> {
  const { messages } = run.state;
  const began = performance.now();
  run.draft = '';
  run.reasoning = '';
  const reply = await run.model.request({
    messages: plainly === undefined ? messages : [...messages, { role: 'user', content: plainly }],
    ...control,
    signal: run.signal,
    ...listeners(run),
  });
  run.draft = '';
  run.reasoning = reply.reasoning;
  account(run, reply, performance.now() - began);
  return reply;
}

/** Neither text nor calls: reasoning alone, or a finish reason `tool_calls` without calls, is no answer. */
export function isEmpty(reply: ModelReply): boolean {
  return reply.toolCalls.length === 0 && reply.text.trim() === '';
}

export function emptyReplyError(model: Model, reply: ModelReply): ModelError {
  const cut = reply.finishReason === 'length';
  return new ModelError(
    `model "${model.name}" gave neither text nor tool calls (finish reason ${reply.finishReason})`,
    {
      kind: 'empty',
      model: model.name,
      hint: cut
        ? `raise maxOutputTokens of models.${model.name}: the reply was cut before its text began`
        : `ask again, or give the agent another model than models.${model.name}`,
    },
  );
}

function listeners(run: ModelCaller) {
  const { signal } = run;
  const emit = run.hooks.onEvent?.bind(run.hooks);
  return {
    onText(text: string): void {
      if (signal.aborted) return;
      run.draft += text;
      emit?.({ type: 'text.delta', text });
    },
    onReasoning(text: string): void {
      if (signal.aborted) return;
      run.reasoning += text;
      emit?.({ type: 'reasoning.delta', text });
    },
    onToolCall(name: string): void {
      if (!signal.aborted) emit?.({ type: 'tool.announced', name });
    },
  };
}

/** Each request is priced on its own and summed: a price per tier of a sum would be the wrong tier. */
function account(run: ModelCaller, reply: ModelReply, milliseconds: number): void {
  const { usage: sums, round } = run.state;
  const { usage, finishReason, requestId } = reply;
  const cost = run.ownKey ? 0 : priceOf(usage, run.model.price);
  sums.inputTokens += usage.inputTokens;
  sums.outputTokens += usage.outputTokens;
  sums.cost += cost;
  sums.requests += 1;
  const model = run.model.name;
  run.hooks.onEvent?.({
    ...{ type: 'request.finished', source: 'agent', model, round, usage, cost, finishReason, milliseconds, requestId },
  });
}

/** A call without arguments is stored as `{}`: vendors reject '' when the chain is sent back. */
function withArguments(call: ToolCall): ToolCall {
  return call.arguments.trim() === '' ? { ...call, arguments: '{}' } : call;
}
