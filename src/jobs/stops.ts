import type { AgentSpec } from '../core/agent/run-turn.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import type { Reading } from '../core/ports/store.js';
import type { Texts } from '../core/ports/texts.js';
import { shownText } from './answer-text.js';
import { type ControlMessage, noteFor } from './controls.js';
import { type ConversationState, runMark, type Turn, turnHistory } from './conversation-state.js';
import type { Desk } from './desk.js';
import { viewInbox } from './session.js';
import type { UnfinishedTurn } from './turn-runner.js';

/** Marks a stopped answer in the history, so that the model knows it was cut by the person. */
const STOPPED_MARK = '[stopped by the user]';

/**
 * The newest stop: what was sent before it and not delivered is dropped and counted, the run ends, partial text and
 * history stay, marked stopped; what came after the stop stays in the inbox (design 3, row stop).
 */
export async function handleStop(
  desk: Desk,
  reading: Reading,
  options: { texts: Texts; unfinished: UnfinishedTurn | undefined; agent: AgentSpec | undefined },
): Promise<void> {
  const { texts, unfinished, agent } = options;
  const before = reading.items.filter((item) => item.seq <= reading.stop);
  const taken = new Set(unfinished?.acks);
  const dropped = viewInbox(before).texts.filter((text) => !text.seqs.every((seq) => taken.has(seq))).length;
  const stop = before.find((item): item is ControlMessage => item.seq === reading.stop && item.kind === 'control');
  const turn = desk.state.turn;
  const table = texts.for(stop?.locale ?? turn?.locale);
  const line = dropped > 0 ? table.stoppedDropped(dropped) : table.stopped;
  const outbox: OutboxEntryBody[] = [...(unfinished?.closed ?? [])];
  if (turn) outbox.push(stoppedAnswer(turn, line, { unfinished, agent }));
  else if (stop) outbox.push(noteFor(stop, dropped > 0 ? line : table.nothingRuns));
  await desk.commit(
    (state) => ({
      ...state,
      answers: unfinished?.answer ?? state.answers,
      turn: null,
      history: turn ? stoppedHistory(state, turn, unfinished) : state.history,
    }),
    {
      ack: before.map((item) => item.seq),
      outbox,
      stopUpTo: reading.stop,
      ...(turn ? { run: runMark(turn, 'stopped', unfinished?.model ?? '', reading.now) } : {}),
      ...(unfinished ? { usage: unfinished.usage } : {}),
    },
  );
}

function stoppedAnswer(
  turn: Turn,
  line: string,
  { unfinished, agent }: { unfinished: UnfinishedTurn | undefined; agent: AgentSpec | undefined },
): OutboxEntryBody {
  return {
    v: 1,
    kind: 'answer',
    slot: `a${unfinished?.answer ?? turn.answer}`,
    place: { ...turn.place },
    state: 'stopped',
    markdown: unfinished ? unfinished.text : shownText(turn, agent),
    footer: line,
  };
}

function stoppedHistory(
  state: ConversationState,
  turn: Turn,
  unfinished: UnfinishedTurn | undefined,
): ConversationState['history'] {
  const produced = turnHistory(turn, unfinished?.loop ?? turn.loop);
  const last = produced.at(-1);
  const marked =
    last?.role === 'assistant' && !last.toolCalls?.length
      ? [...produced.slice(0, -1), { ...last, content: `${last.content}\n\n${STOPPED_MARK}` }]
      : [...produced, { role: 'assistant' as const, content: STOPPED_MARK }];
  return [...state.history, ...marked];
}
