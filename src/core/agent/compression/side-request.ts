import { AbortedError, ModelError, SupersededError, toError } from '../../errors.js';
import type { ChatMessage, Model, ModelReply } from '../../llm/model.js';
import { priceOf } from '../../llm/pricing.js';
import type { AgentEvent } from '../events.js';

/** Longest wait for one text, ms. */
const TIMEOUT_MS = 60_000;

/** What every request of the compression needs. */
export interface Desk {
  readonly model: Model;
  readonly onEvent: (event: AgentEvent) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface SideRequest {
  readonly messages: readonly ChatMessage[];
  readonly signal: AbortSignal;
  readonly round: number;
  /** The call whose result is made shorter. */
  readonly callId?: string | undefined;
  /** A text that grows beyond is broken off, in characters. */
  readonly limit: number;
}

/** `failure` is a word for the log: why there is no text that can be used. `final`: asking again cannot help. */
export type SideReply =
  | { readonly text: string; readonly failure?: undefined }
  | { readonly failure: string; readonly final: boolean };

/**
 * One request without tools, priced and told as `request.finished` with source `compression`. Never throws, except
 * AbortedError when `signal` aborts, at once even if the model does not listen, and what passes through everything.
 */
export async function askAside({ model, onEvent, now }: Desk, request: SideRequest): Promise<SideReply> {
  const { messages, signal, round, callId, limit } = request;
  throwIfAborted(signal);
  const began = now();
  const ended = createEnding(signal);
  let length = 0;
  try {
    const reply = await Promise.race([
      model.request({
        messages,
        signal: ended.signal,
        onText(delta) {
          length += delta.length;
          if (length > limit) ended.end('too_long');
        },
      }),
      ended.promise,
    ]);
    const { usage, finishReason, requestId } = reply;
    const cost = priceOf(usage, model.price);
    onEvent({
      ...{ type: 'request.finished', source: 'compression', model: model.name, round, usage, cost, finishReason },
      ...{ milliseconds: now() - began, callId, requestId },
    });
    throwIfAborted(signal);
    return usable(reply);
  } catch (thrown) {
    throwIfAborted(signal);
    const error = toError(thrown);
    if (ended.reason !== undefined) return { failure: ended.reason, final: ended.reason === 'timed_out' };
    if (error instanceof AbortedError || error instanceof SupersededError) throw error;
    // The client has repeated already what is worth repeating.
    if (error instanceof ModelError) return { failure: error.code, final: true };
    return { failure: 'error', final: false };
  } finally {
    ended.clear();
  }
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new AbortedError('aborted while compressing', signal.reason);
}

/** A text that was cut off or filtered is no summary. A fence around the whole is the model's habit, not content. */
function usable({ text, finishReason }: ModelReply): SideReply {
  const trimmed = text.trim();
  if (trimmed === '') return { failure: 'empty', final: false };
  if (finishReason !== 'stop') return { failure: `finished_by_${finishReason}`, final: false };
  const inner = /^```\w*\n([\s\S]*)\n```$/.exec(trimmed)?.[1]?.trim();
  const body = inner === undefined || inner.includes('```') ? trimmed : inner;
  return body === '' ? { failure: 'empty', final: false } : { text: body };
}

/** Ends by the run's signal, by the clock or by hand; the run's signal outlives it and collects no listeners. */
function createEnding(signal: AbortSignal) {
  const controller = new AbortController();
  let reason: string | undefined;
  let fail: (error: Error) => void = () => undefined;
  const promise = new Promise<never>((_, reject) => {
    fail = reject;
  });
  // Nobody may be waiting any more when it ends.
  promise.catch(() => undefined);
  const end = (why?: string) => {
    if (controller.signal.aborted) return;
    reason = why;
    controller.abort();
    fail(new AbortedError('the request was ended'));
  };
  const onAbort = () => end();
  const timer = setTimeout(() => end('timed_out'), TIMEOUT_MS);
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    promise,
    end,
    get reason() {
      return reason;
    },
    clear() {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}
