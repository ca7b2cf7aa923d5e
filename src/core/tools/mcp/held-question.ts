import type { TextTable } from '../../ports/texts.js';
import type { ToolContext } from '../tool.js';
import type { CallClock } from './call-clock.js';
import type { ElicitResult } from './connection.js';
import { answered, nextQuestion, startInterview } from './interview.js';
import type { McpServer } from './server.js';

/** Node's fetch ends an answer stream after five minutes of silence, and the call with it. */
const LONGEST_HTTP_SILENCE_MS = 240_000;
const KEY = 'question';

export interface HeldQuestion {
  /** What the server sent. */
  readonly params: unknown;
  readonly server: McpServer;
  readonly context: ToolContext;
  readonly texts: TextTable;
  readonly clock: CallClock;
  /** The call or the server's question is over. */
  readonly signal: AbortSignal;
}

/**
 * Asks a person while the call stays open and its clock stands still: in the protocol before 2026-07-28 a question
 * cannot outlive its call. Nobody to ask is a decline; no answer within `elicitationMinutes` cancels.
 */
export async function askWhileOpen(held: HeldQuestion): Promise<ElicitResult> {
  const { server, context, texts, clock, signal } = held;
  const { ask } = context;
  let state = startInterview({ [KEY]: held.params });
  if (!ask || !state) return { action: 'decline' };
  const { transport, elicitationMinutes } = server.config;
  const limit = elicitationMinutes * 60_000;
  const over = endOf(signal, transport === 'http' ? Math.min(limit, LONGEST_HTTP_SILENCE_MS) : limit);
  const goOn = clock.pause();
  try {
    for (;;) {
      const question = nextQuestion(state, server.name, texts);
      if (!question) break;
      const given = await Promise.race([ask(question, over.signal).catch(() => undefined), over.promise]);
      state = answered(state, given?.answer, texts);
    }
  } finally {
    over.stop();
    goOn();
  }
  return state.responses[KEY] ?? { action: 'cancel' };
}

interface End {
  readonly promise: Promise<undefined>;
  readonly signal: AbortSignal;
  stop(): void;
}

/** Comes when the signal is aborted or the time is over. */
function endOf(signal: AbortSignal, ms: number): End {
  const over = new AbortController();
  let stop = (): void => {};
  const promise = new Promise<undefined>((resolve) => {
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      over.abort('nobody answered in time');
      resolve(undefined);
    }
    stop = end;
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
  return { promise, signal: over.signal, stop: () => stop() };
}
