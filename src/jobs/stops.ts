import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { OutboxEntryBody } from '../core/chat/outbox-entry.js';
import { planView } from '../core/plan/checklist.js';
import type { Reading } from '../core/ports/store.js';
import type { Texts } from '../core/ports/texts.js';
import { shownText } from './answer-text.js';
import { cardEntry } from './cards.js';
import { type ControlMessage, noteFor } from './controls.js';
import { type ConversationState, endTurn, runMark, type Turn } from './conversation-state.js';
import type { Desk } from './desk.js';
import { viewInbox } from './session.js';
import { cancelledTurn, closedCards } from './suspension.js';
import type { UnfinishedTurn } from './turn-runner.js';
import { openCards } from './waiting.js';

/** Marks a stopped answer in the history, so that the model knows it was cut by the person. */
const STOPPED_MARK = '[stopped by the user]';

/**
 * The newest stop: what was sent before it and not delivered is dropped and counted, the run ends, partial text and
 * history stay, marked stopped; what came after the stop stays in the inbox (design 3, row stop). Returns the run that
 * was stopped, if one was.
 */
export async function handleStop(
  desk: Desk,
  reading: Reading,
  options: { texts: Texts; unfinished: UnfinishedTurn | undefined; agent: AgentSpec | undefined },
): Promise<Turn | undefined> {
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
  const asked = turn?.waiting ?? turn?.held;
  if (turn && asked) outbox.push(cardEntry(closedCards(asked, table), turn, table));
  await desk.commit((state) => (turn ? stoppedState(state, unfinished?.turn ?? turn) : state), {
    ack: before.map((item) => item.seq),
    outbox,
    stopUpTo: reading.stop,
    // A press that came just before is among what the stop drops.
    ...(asked ? { closeChoices: openCards(asked).map(({ choice }) => choice), knowsTaken: true } : {}),
    ...(turn ? { run: runMark(turn, 'stopped', unfinished?.model ?? turn.model ?? '', reading.now) } : {}),
    ...(unfinished ? { usage: unfinished.usage } : {}),
  });
  return unfinished?.turn ?? turn ?? undefined;
}

function stoppedAnswer(
  turn: Turn,
  line: string,
  { unfinished, agent }: { unfinished: UnfinishedTurn | undefined; agent: AgentSpec | undefined },
): OutboxEntryBody {
  const plan = (unfinished?.turn ?? turn).state?.plan?.plan;
  return {
    v: 1,
    kind: 'answer',
    slot: `a${unfinished?.answer ?? turn.answer}`,
    place: { ...turn.place },
    state: 'stopped',
    markdown: unfinished ? unfinished.text : shownText(turn, agent),
    ...(plan ? { plan: planView(plan) } : {}),
    footer: line,
  };
}

/** History and partial text stay, marked stopped; a question that waited got a result that says it was cancelled. */
function stoppedState(state: ConversationState, turn: Turn): ConversationState {
  const cancelled = cancelledTurn(turn);
  const ended = endTurn({ ...state, answers: turn.answer, turn: cancelled }, cancelled, cancelled.state?.loop);
  const last = ended.history.at(-1);
  const history =
    last?.role === 'assistant' && !last.toolCalls?.length
      ? [...ended.history.slice(0, -1), { ...last, content: `${last.content}\n\n${STOPPED_MARK}` }]
      : [...ended.history, { role: 'assistant' as const, content: STOPPED_MARK }];
  return { ...ended, history };
}
