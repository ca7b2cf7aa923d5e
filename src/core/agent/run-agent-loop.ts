import { AbortedError, SupersededError, toError } from '../errors.js';
import type { FinishReason, Model, ModelReply } from '../llm/model.js';
import type { AgentLoopHooks, Steering } from './hooks.js';
import { callModel, emptyReplyError, isEmpty, type ModelCaller } from './model-call.js';
import type { LoopState } from './run-state.js';
import {
  type InteractiveAnswer,
  mergeRounds,
  resumeInteractiveCalls,
  runToolCalls,
  type SuspendedCall,
  type ToolRound,
  type ToolRunner,
} from './tool-calls.js';
import { appendReply, closeOpenCalls, lastText, stored, writeResult } from './transcript.js';

const DEFAULTS = { maxIterations: 15, batchToolSize: 1 } as const;

/** Said to the model when it answered with nothing; part of one request, never of the chain. */
const AFTER_EMPTY_REPLY =
  'Your last reply held no text. Answer now in plain text, in the language of this conversation, with what you have; no tools are available.';

/** Said to the model at the cap; part of one request, never of the chain. */
const AT_THE_CAP =
  'The limit of steps for this run is reached and no tools are available any more. Answer now in plain text, in the language of this conversation, with what you have, and say what is left undone.';

export interface AgentLoopInput {
  readonly model: Model;
  /** Fresh, or as a former process committed it. The loop works on it in place; hooks see it at each boundary. */
  readonly state: LoopState;
  /** Rounds of the run before the last request without tools; unset or <= 0: 15. */
  readonly maxIterations?: number | undefined;
  /** Most calls run side by side; below 1 counts as 1. */
  readonly batchToolSize?: number | undefined;
  readonly hooks: AgentLoopHooks;
  /** Ends the run at once. Its reason decides how: SupersededError is thrown, anything else ends as `stopped`. */
  readonly signal: AbortSignal;
  /** The person's own key pays: requests cost 0. */
  readonly ownKey?: boolean | undefined;
  /** For calls a former run left waiting as `interactive`. (An ask's answer is a `writeResult` before the run.) */
  readonly answers?: readonly InteractiveAnswer[] | undefined;
}

/**
 * How a run ends.
 * - `final`: the answer stands; `max_iterations`: so does this one, given at the cap
 * - `ask`, `approval`, `interactive`: it waits for a person; run the same state again once `suspendedCalls` are answered
 * - `stopped`: aborted from outside; what stood at that moment is kept and open calls got a result that says so
 * - `error`: the state is the last good one and can be run again; a half answer is only in `text`
 */
export type Ending =
  | {
      readonly finish: 'final' | 'ask' | 'approval' | 'interactive' | 'stopped' | 'max_iterations';
      readonly error?: undefined;
    }
  | { readonly finish: 'error'; readonly error: Error };

export type AgentLoopResult = Ending & {
  /** The newest text of the run that people may see; '' when there is none. */
  readonly text: string;
  /** Reasoning of the newest request. */
  readonly reasoning: string;
  /** The state given in, as it is now. */
  readonly state: LoopState;
  /** Every call that waits for a person, in the order they suspended. */
  readonly suspendedCalls: readonly SuspendedCall[];
};

export interface LoopRun extends ModelCaller, ToolRunner {
  readonly hooks: AgentLoopHooks;
  readonly state: LoopState;
  readonly signal: AbortSignal;
  readonly maxIterations: number;
}

/**
 * Runs the loop until it ends (seed 000, 3.2.3). Rejects only with SupersededError, or with an AbortedError that is
 * not the work of `signal` or `isAborted`; every other failure is the finish `error`.
 */
export async function runAgentLoop(input: AgentLoopInput): Promise<AgentLoopResult> {
  const run = openRun(input);
  try {
    let result = await finishFormerRound(run, input.answers ?? []);
    while (!result) result = await playRound(run);
    return result;
  } catch (thrown) {
    return endByThrow(run, thrown);
  }
}

export function openRun(input: AgentLoopInput): LoopRun {
  const { model, state, hooks, signal, maxIterations = 0, batchToolSize = 0 } = input;
  return {
    model,
    state,
    hooks,
    signal,
    ownKey: input.ownKey ?? false,
    maxIterations: maxIterations > 0 ? maxIterations : DEFAULTS.maxIterations,
    batchToolSize: Math.max(batchToolSize, DEFAULTS.batchToolSize),
    draft: '',
    reasoning: '',
  };
}

/** A restored run whose newest round lacks results finishes that round before it asks the model anything. */
async function finishFormerRound(
  run: LoopRun,
  answers: readonly InteractiveAnswer[],
): Promise<AgentLoopResult | undefined> {
  const round = mergeRounds([await resumeInteractiveCalls(run, answers), await runToolCalls(run)]);
  return round && afterTools(run, round);
}

/** One round: at most one request and the tools it asks for. Undefined: the loop goes on. */
async function playRound(run: LoopRun): Promise<AgentLoopResult | undefined> {
  const { state, hooks } = run;
  if (isStopped(run)) return stopped(run);
  const last = state.round >= run.maxIterations;
  state.round += 1;
  hooks.onEvent?.({ type: 'round.started', round: state.round });
  // At the cap nothing new is taken in: texts that wait start a turn of their own.
  if (!last) await takeSteering(run);
  await compressContext(run);
  const reply = await callModel(run, last ? AT_THE_CAP : state.emptyRetried ? AFTER_EMPTY_REPLY : undefined);
  appendReply(state, reply.text, reply.toolCalls);
  if (last) return endAtCap(run, reply);
  if (isEmpty(reply)) return afterEmptyReply(run, reply);
  state.emptyRetried = false;
  if (reply.toolCalls.length === 0) return afterAnswer(run, reply);
  state.toolOnlyRounds = reply.text.trim() === '' ? state.toolOnlyRounds + 1 : 0;
  const round = await runToolCalls(run);
  return round && afterTools(run, round);
}

async function takeSteering(run: LoopRun): Promise<void> {
  const steering = await run.hooks.drainSteering?.(run.state);
  if (steering) steer(run, steering);
}

function steer({ state, hooks }: LoopRun, { message, count }: Steering): void {
  const steered = stored({ role: 'user', content: message });
  state.messages.push(steered);
  state.produced.push(steered);
  state.toolOnlyRounds = 0;
  state.emptyRetried = false;
  hooks.onEvent?.({ type: 'steered', count });
}

export async function compressContext({ state, hooks, signal }: LoopRun): Promise<void> {
  const compressed = await hooks.onCompressContext?.(state, signal);
  if (compressed) state.messages = compressed.map(stored);
}

/** The round's results are written. A round that ends the run is committed by the host together with its ending. */
async function afterTools(run: LoopRun, round: ToolRound): Promise<AgentLoopResult | undefined> {
  const kinds = round.suspended.map(({ kind }) => kind);
  const finish = (['ask', 'approval', 'interactive'] as const).find((kind) => kinds.includes(kind));
  if (finish) return end(run, { finish }, round.suspended);
  const result = round.stop ? await endUnlessSteered(run) : undefined;
  if (!result) await run.hooks.afterToolResults?.(run.state);
  return result;
}

/** Text without calls: the run may end if the gate allows it. */
async function afterAnswer(run: LoopRun, reply: ModelReply): Promise<AgentLoopResult | undefined> {
  const { state, hooks } = run;
  state.toolOnlyRounds = 0;
  if (isStopped(run)) return stopped(run);
  const verdict = (await hooks.onStopCandidate?.(reply.text, state)) ?? { decision: 'allow' };
  switch (verdict.decision) {
    case 'allow':
      return endUnlessSteered(run, reply.finishReason);
    case 'error':
      return end(run, { finish: 'error', error: verdict.error });
    case 'refuse':
      // The model keeps its draft as context; people and later turns do not see it.
      state.produced.pop();
      hooks.onEvent?.({ type: 'draft.refused', text: reply.text });
      state.messages.push({ role: 'user', content: verdict.feedback });
      return undefined;
  }
}

/** Nothing came back: asked once more, plainly and without tools; then an honest end with what stands, if anything. */
async function afterEmptyReply(run: LoopRun, reply: ModelReply): Promise<AgentLoopResult | undefined> {
  const { state, hooks, model } = run;
  // Withheld as a whole: asking again would not help, and that is what people are told.
  if (reply.finishReason === 'content_filter') return endUnlessSteered(run, reply.finishReason);
  if (!state.emptyRetried) {
    state.emptyRetried = true;
    return undefined;
  }
  if (lastText(state) === '') return end(run, { finish: 'error', error: emptyReplyError(model, reply) });
  hooks.onEvent?.({ type: 'notice', notice: 'empty_reply' });
  return endUnlessSteered(run, reply.finishReason);
}

/** A text that came during the last answer leads to a further round: the answer stands and is closed. */
async function endUnlessSteered(run: LoopRun, reason?: FinishReason): Promise<AgentLoopResult | undefined> {
  const { state, hooks } = run;
  tellIfCut(run, reason);
  const steering = state.round < run.maxIterations ? await hooks.drainSteering?.(state) : undefined;
  if (!steering) return end(run, { finish: 'final' });
  const text = lastText(state);
  if (text !== '') hooks.onEvent?.({ type: 'answer.closed', text });
  steer(run, steering);
  return undefined;
}

function endAtCap(run: LoopRun, reply: ModelReply): AgentLoopResult {
  tellIfCut(run, reply.finishReason);
  run.hooks.onEvent?.({ type: 'notice', notice: 'max_iterations' });
  return end(run, { finish: 'max_iterations' });
}

export function tellIfCut({ hooks }: LoopRun, reason: FinishReason | undefined): void {
  const cut = reason === 'length' || reason === 'content_filter' || reason === 'cut_off';
  if (cut) hooks.onEvent?.({ type: 'notice', notice: reason });
}

/** Aborts from outside end as `stopped`, foreign aborts and the loss of the conversation pass through unchanged. */
export function endByThrow(run: LoopRun, thrown: unknown): AgentLoopResult {
  const error = toError(thrown);
  if (error instanceof SupersededError) throw error;
  if (run.signal.reason instanceof SupersededError) throw run.signal.reason;
  if (isStopped(run)) return stopped(run);
  if (error instanceof AbortedError) throw error;
  return end(run, { finish: 'error', error });
}

export function isStopped({ signal, hooks }: LoopRun): boolean {
  return signal.aborted || (hooks.isAborted?.() ?? false);
}

export function stopped(run: LoopRun): AgentLoopResult {
  const { state, signal, draft } = run;
  if (signal.reason instanceof SupersededError) throw signal.reason;
  appendReply(state, draft, []);
  // Among them continued ones, which have a result that only says what they waited for.
  for (const id of state.startedCalls) writeResult(state, id, 'Stopped while this call ran; its outcome is unknown.');
  closeOpenCalls(state, () => 'Stopped before this call ran.');
  return end(run, { finish: 'stopped' });
}

export function end(run: LoopRun, ending: Ending, suspendedCalls: readonly SuspendedCall[] = []): AgentLoopResult {
  const { state, reasoning } = run;
  const text = ending.finish === 'error' && run.draft !== '' ? run.draft : lastText(state);
  return { ...ending, text, reasoning, state, suspendedCalls };
}
