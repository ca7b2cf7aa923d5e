import type { Model } from '../llm/model.js';
import type { AgentLoopHooks } from './hooks.js';
import { callModel, emptyReplyError, isEmpty } from './model-call.js';
import {
  type AgentLoopResult,
  compressContext,
  end,
  endByThrow,
  isStopped,
  openRun,
  stopped,
  tellIfCut,
} from './run-agent-loop.js';
import type { LoopState } from './run-state.js';
import { appendReply } from './transcript.js';

export interface ChatTurnInput extends Pick<AgentLoopHooks, 'onCompressContext' | 'isAborted' | 'onEvent'> {
  readonly model: Model;
  readonly state: LoopState;
  readonly signal: AbortSignal;
  readonly ownKey?: boolean | undefined;
}

/**
 * Mode `chat`: exactly one request, no tools, no loop, no steering (a text that comes meanwhile is the next turn), no
 * gate (seed 000, 3.1). Ends as `final`, `stopped` or `error`; throws what {@link runAgentLoop} throws. An answer of
 * which the provider withheld everything is `final` with a notice: asking again would not help.
 */
export async function runChatTurn(input: ChatTurnInput): Promise<AgentLoopResult> {
  const { onCompressContext, isAborted, onEvent } = input;
  const run = openRun({
    ...input,
    hooks: {
      ...(onCompressContext && { onCompressContext }),
      ...(isAborted && { isAborted }),
      ...(onEvent && { onEvent }),
      onRunTool: () => Promise.reject(new Error('mode chat has no tools')),
    },
  });
  const { model, state, hooks } = run;
  try {
    if (isStopped(run)) return stopped(run);
    state.round += 1;
    hooks.onEvent?.({ type: 'round.started', round: state.round });
    await compressContext(run);
    const reply = await callModel(run);
    // No tool was offered: calls the model makes up are no answer.
    const empty = isEmpty({ ...reply, toolCalls: [] });
    if (empty && reply.finishReason !== 'content_filter') {
      return end(run, { finish: 'error', error: emptyReplyError(model, reply) });
    }
    appendReply(state, reply.text, []);
    tellIfCut(run, reply.finishReason);
    return end(run, { finish: 'final' });
  } catch (thrown) {
    return endByThrow(run, thrown);
  }
}
