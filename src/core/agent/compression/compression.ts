import { AbortedError, SupersededError, toError } from '../../errors.js';
import type { ChatMessage, Model, TokenUsage, ToolCall, ToolSchema } from '../../llm/model.js';
import { textTokens } from '../../llm/tokens.js';
import type { CompressionState } from '../compression-state.js';
import type { AgentEvent } from '../events.js';
import type { AgentLoopHooks } from '../hooks.js';
import type { LoopState } from '../run-state.js';
import { openCalls } from '../transcript.js';
import { beforeTurn, type Chain, joinChain, openChain } from './chain.js';
import { type Limits, limitsFor, limitsOf } from './limits.js';
import { createMeter, type Meter } from './meter.js';
import { type Pass, shortenChain } from './passes.js';
import { type Desk, throwIfAborted } from './side-request.js';
import { headAndTail, shortenResult } from './tool-response.js';

/** After a refusal the next request has this share of the refused one: there is only one more try. */
const AFTER_REFUSAL = 0.6;

/** Least tokens a result may have, whatever else there is in the chain: about what an error text needs. */
const LEAST_RESULT = { tokens: 200, share: 0.1 } as const;

/** Share of the window that one result may take (reference agent-loop 1.8). */
const RESULT_SHARE = 0.5;

export interface CompressionSettings {
  /** False: nothing is compressed, so that a change of behaviour can be traced to it; results of tools still are. */
  readonly compressHistory: boolean;
  readonly mode: Pass['mode'];
  /** Share of the budget at which old messages become a summary, 0.1 to 0.95; unset: 0.8. */
  readonly threshold?: number | undefined;
  /** Writes the summaries; undefined: none are written. */
  readonly model: Model | undefined;
  /** Of the agent's own model, in tokens. */
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
}

export interface CompressionInput {
  /** Changed in place, together with what the hook returns. */
  readonly state: CompressionState;
  readonly options: CompressionSettings;
  /** Schemas of the coming request: they take room too. */
  readonly tools: () => readonly ToolSchema[];
  readonly onEvent: (event: AgentEvent) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Compression {
  readonly hooks: Required<Pick<AgentLoopHooks, 'onCompressContext' | 'compressToolResponse'>>;
  /** Takes what the vendor reported for each of the agent's own requests; estimates are ignored. */
  observe(usage: TokenUsage): void;
}

/**
 * Compression of one run, as hooks. Only what stands before the current user message becomes shorter; the rest reaches
 * the model as it is while the request fits (seed 001), and what people wrote in this turn always does. Both hooks
 * throw only aborts; any other failure leaves the originals and is told as `compressed` with the reason in
 * `unchanged`. What summaries cost is told as `request.finished` with source `compression`, not added to the state.
 */
export function createCompression(input: CompressionInput): Compression {
  const { state, options, tools, onEvent, now } = input;
  const meter = createMeter(state, tools);
  const own = limitsOf(options.contextWindow, options.maxOutputTokens, options.threshold);
  const { model, mode } = options;
  const desk = model && mode !== 'algorithmic' ? { model, onEvent, now } : undefined;
  const run: Run = {
    ...{ input, meter, desk },
    limits: () => (meter.ceiling < own.budget ? limitsFor(meter.ceiling, options.threshold) : own),
  };
  return {
    hooks: {
      onCompressContext: (loop, signal, overflow = false) => compressContext(run, loop, signal, overflow),
      compressToolResponse: (call, content, loop, signal) => compressResult(run, { call, content, loop, signal }),
    },
    observe: (usage) => meter.observe(usage),
  };
}

interface Run {
  readonly input: CompressionInput;
  readonly meter: Meter;
  readonly desk: Desk | undefined;
  readonly limits: () => Limits;
}

async function compressContext(
  run: Run,
  loop: LoopState,
  signal: AbortSignal,
  overflow: boolean,
): Promise<readonly ChatMessage[] | undefined> {
  const { meter } = run;
  const { state, options, onEvent } = run.input;
  throwIfAborted(signal);
  const { chain: opened, repaired } = openChain(loop.messages, state);
  let chain = opened;
  if (options.compressHistory) {
    const pass = openPass(run, loop, { signal, overflow });
    try {
      chain = await shortenChain(opened, pass);
    } catch (thrown) {
      throwUnlessFailure(thrown);
      const size = pass.size(opened);
      pass.events.length = 0;
      pass.events.push({ type: 'compressed', how: 'summary', before: size, after: size, unchanged: 'error' });
    }
    for (const event of pass.events) onEvent(event);
  }
  const changed = repaired || chain !== opened;
  if (changed) setBoundary(state, chain);
  const messages = changed ? joinChain(chain) : loop.messages;
  meter.sending(messages, { changed, comparable: !loop.emptyRetried });
  return changed ? messages : undefined;
}

function openPass(run: Run, loop: LoopState, { signal, overflow }: { signal: AbortSignal; overflow: boolean }): Pass {
  const { input, meter, desk } = run;
  if (overflow) meter.refused();
  const scale = meter.scale(loop.messages);
  const limits = run.limits();
  const refusedSize = scale.size(loop.messages) * AFTER_REFUSAL;
  return {
    ...{ mode: input.options.mode, desk, signal, round: loop.round, refused: overflow, events: [] },
    limits: overflow && refusedSize < limits.budget ? limitsFor(refusedSize, input.options.threshold) : limits,
    size: (chain) => scale.size(joinChain(chain)),
    state: input.state,
  };
}

function setBoundary(state: CompressionState, chain: Chain): void {
  state.summary = chain.summary;
  state.historyFrom = chain.historyFrom;
  state.turnAt = beforeTurn(chain).length;
}

interface Result {
  readonly call: ToolCall;
  readonly content: string;
  readonly loop: LoopState;
  readonly signal: AbortSignal;
}

async function compressResult(run: Run, { call, content, loop, signal }: Result): Promise<string> {
  const { state, options, onEvent } = run.input;
  throwIfAborted(signal);
  const { budget } = run.limits();
  const { messages, round } = loop;
  const size = run.meter.scale(messages).size(messages);
  const share = (budget - size) / Math.max(1, openCalls(loop).calls.length);
  const least = Math.min(LEAST_RESULT.tokens, budget * LEAST_RESULT.share);
  const limit = Math.floor(Math.max(least, Math.min(options.contextWindow * RESULT_SHARE, share)) / state.factor);
  const shorter = await shortenResult({ call, content, messages, round, signal, limit }, run.desk).catch(
    (thrown: unknown) => {
      throwUnlessFailure(thrown);
      return headAndTail(content, limit);
    },
  );
  if (shorter === content) return content;
  const weight = (text: string) => size + Math.round(roughTokens(text) * state.factor);
  onEvent({ type: 'compressed', how: 'results', before: weight(content), after: weight(shorter) });
  return shorter;
}

/** For the log: counting megabytes that never reach the model would only hold up others. */
function roughTokens(text: string): number {
  const sample = text.slice(0, 50_000);
  return sample === '' ? 0 : (textTokens(sample) * text.length) / sample.length;
}

/** Aborts and the loss of the conversation pass through; everything else is a failure that is told. */
function throwUnlessFailure(thrown: unknown): void {
  const error = toError(thrown);
  if (error instanceof AbortedError || error instanceof SupersededError) throw error;
}
