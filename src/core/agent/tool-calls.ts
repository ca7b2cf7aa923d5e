import { AbortedError, SupersededError, toError } from '../errors.js';
import type { ChatMessage, ToolCall } from '../llm/model.js';
import type { AgentLoopHooks, ToolCallContext, ToolResult } from './hooks.js';
import type { LoopState } from './run-state.js';
import { findCall, openCalls, writeResult } from './transcript.js';

/** Longest error text a model gets to see. */
const ERROR_CHARACTERS = 2_000;

/** What a tool message says when its tool gave nothing: vendors reject empty content. */
const NO_CONTENT = 'none';

/** A call that waits for a person, and for what. */
export interface SuspendedCall {
  readonly call: ToolCall;
  readonly kind: 'ask' | 'approval' | 'interactive';
}

/** What a person gave to a call that suspended as `interactive`. */
export interface InteractiveAnswer {
  readonly callId: string;
  readonly answer: string;
}

export interface ToolRunner {
  readonly state: LoopState;
  readonly hooks: AgentLoopHooks;
  readonly signal: AbortSignal;
  readonly batchToolSize: number;
}

export interface ToolRound {
  /** In the order of the calls' suspension; not empty ends the run. */
  readonly suspended: readonly SuspendedCall[];
  /** A stop tool ran. */
  readonly stop: boolean;
}

interface OpenRound {
  readonly run: ToolRunner;
  /** The chain before the round's assistant message. */
  readonly messages: readonly ChatMessage[];
  /** Calls a former process had started. */
  readonly interrupted: ReadonlySet<string>;
  readonly suspended: SuspendedCall[];
  /**
   * Results that end the run. They enter the chain after all others, so that no commit on the way holds a round that
   * looks finished although the run should have ended with it: a take-over runs such a call again instead.
   */
  readonly ending: { readonly callId: string; readonly content: string }[];
  stop: boolean;
}

/**
 * Runs every call of the newest round that has no result yet: a fresh round's, or what a take-over or an approval
 * left. Undefined when there is none. Throws what hooks throw; a throwing tool is a result, unless it is an abort.
 */
export async function runToolCalls(run: ToolRunner): Promise<ToolRound | undefined> {
  const { calls, at } = openCalls(run.state);
  if (calls.length === 0) return undefined;
  const round = openRound(run, at);
  for (const batch of batches(await runnableCalls(round, calls), run)) {
    throwIfStopped(run);
    await markStarted(run, batch);
    const settled = await Promise.allSettled(batch.map((call) => runCall(round, call, startTool(round, call))));
    for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason;
  }
  return closeRound(round);
}

/** Hands answers to the tools that wait for them; each may finish, stop the run or suspend once more. */
export async function resumeInteractiveCalls(
  run: ToolRunner,
  answers: readonly InteractiveAnswer[],
): Promise<ToolRound | undefined> {
  const rounds: ToolRound[] = [];
  for (const { callId, answer } of answers) {
    const found = findCall(run.state, callId);
    if (!found) continue;
    throwIfStopped(run);
    const round = openRound(run, found.at);
    await markStarted(run, [found.call]);
    await runCall(round, found.call, resumeTool(round, found.call, answer));
    rounds.push(closeRound(round));
  }
  return mergeRounds(rounds);
}

/** Several partial rounds seen as one; undefined when there is none. */
export function mergeRounds(rounds: readonly (ToolRound | undefined)[]): ToolRound | undefined {
  const present = rounds.filter((round) => round !== undefined);
  if (present.length === 0) return undefined;
  return { suspended: present.flatMap(({ suspended }) => suspended), stop: present.some(({ stop }) => stop) };
}

function openRound(run: ToolRunner, at: number): OpenRound {
  return {
    run,
    messages: run.state.messages.slice(0, at),
    interrupted: new Set(run.state.startedCalls),
    suspended: [],
    ending: [],
    stop: false,
  };
}

function closeRound(round: OpenRound): ToolRound {
  for (const { callId, content } of round.ending) writeResult(round.run.state, callId, content);
  return { suspended: round.suspended, stop: round.stop };
}

async function runnableCalls(round: OpenRound, calls: readonly ToolCall[]): Promise<readonly ToolCall[]> {
  const { state, hooks } = round.run;
  if (!hooks.decideToolCall) return calls;
  const runnable: ToolCall[] = [];
  for (const call of calls) {
    throwIfStopped(round.run);
    const verdict = await hooks.decideToolCall(call, state);
    if (verdict.decision === 'run') runnable.push(call);
    else {
      const { decision, reason = 'waits for approval' } = verdict;
      hooks.onEvent?.({ type: 'tool.held', call, decision, reason });
      if (verdict.decision === 'suspend') round.suspended.push({ call, kind: 'approval' });
      else finishCall(round, call, { content: `Denied: ${verdict.words ?? reason}`, failed: true }, 0);
    }
  }
  return runnable;
}

/** Neighbouring calls that may run side by side, in call order; the others alone. */
function batches(calls: readonly ToolCall[], run: ToolRunner): readonly (readonly ToolCall[])[] {
  const result: ToolCall[][] = [];
  let open: ToolCall[] | undefined;
  for (const call of calls) {
    const batchable = run.hooks.canBatchTool?.(call) ?? false;
    if (batchable && open && open.length < run.batchToolSize) {
      open.push(call);
      continue;
    }
    const batch = [call];
    result.push(batch);
    open = batchable ? batch : undefined;
  }
  return result;
}

async function markStarted(run: ToolRunner, batch: readonly ToolCall[]): Promise<void> {
  const { state, hooks } = run;
  for (const { id } of batch) if (!state.startedCalls.includes(id)) state.startedCalls.push(id);
  await hooks.beforeToolCalls?.(batch, state);
}

function startTool(round: OpenRound, call: ToolCall): () => Promise<ToolResult> {
  return () => round.run.hooks.onRunTool(call, contextOf(round, call));
}

function resumeTool(round: OpenRound, call: ToolCall, answer: string): () => Promise<ToolResult> {
  const { hooks } = round.run;
  return async () => {
    const result = await hooks.onRunInteractiveTool?.(call, answer, contextOf(round, call));
    // What a person gave stays as it is: it is not compressed.
    return result
      ? { ...result, skipCompression: true }
      : { content: 'Error: this agent cannot continue interactive tools', failed: true };
  };
}

function contextOf(round: OpenRound, call: ToolCall): ToolCallContext {
  return { signal: round.run.signal, messages: round.messages, interrupted: round.interrupted.has(call.id) };
}

async function runCall(round: OpenRound, call: ToolCall, work: () => Promise<ToolResult>): Promise<void> {
  const { hooks, state, signal } = round.run;
  hooks.onEvent?.({ type: 'tool.started', call });
  const began = performance.now();
  let result = await resultOf(work, signal);
  if (hooks.compressToolResponse && !result.skipCompression && !result.suspend) {
    const content = await untilAborted(hooks.compressToolResponse(call, result.content, state, signal), signal);
    result = { ...result, content };
  }
  finishCall(round, call, result, performance.now() - began);
}

/** A tool that ignores its signal does not hold up a stop: its late result is dropped. */
async function resultOf(work: () => Promise<ToolResult>, signal: AbortSignal): Promise<ToolResult> {
  try {
    return await untilAborted(work(), signal);
  } catch (thrown) {
    const error = toError(thrown);
    if (signal.aborted || error instanceof AbortedError || error instanceof SupersededError) throw error;
    // Never half a surrogate pair: some vendors refuse every later request over one.
    const content = `Error: ${error.message}`.slice(0, ERROR_CHARACTERS).replace(/[\ud800-\udbff]$/, '');
    return { content, failed: true, skipCompression: true };
  }
}

function finishCall(round: OpenRound, call: ToolCall, result: ToolResult, milliseconds: number): void {
  const { hooks, state } = round.run;
  const content = result.content === '' ? NO_CONTENT : result.content;
  if (result.suspend) round.suspended.push({ call, kind: result.suspend });
  if (result.stop) round.stop = true;
  if (result.suspend || result.stop) round.ending.push({ callId: call.id, content });
  else writeResult(state, call.id, content);
  const { failed = false, cost = 0 } = result;
  state.usage.cost += cost;
  hooks.onEvent?.({ type: 'tool.finished', call, content, failed, milliseconds, cost });
}

function throwIfStopped(run: ToolRunner): void {
  if (run.signal.aborted || run.hooks.isAborted?.()) throw new AbortedError('stopped before a tool');
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new AbortedError('aborted while a tool ran', signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
