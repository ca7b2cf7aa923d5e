import type { AgentSpec } from '../core/agent/agent-spec.js';
import type { NumberedItem } from '../core/chat/message.js';
import { type OutboxEntryBody, outboxEntry } from '../core/chat/outbox-entry.js';
import type { Logger } from '../core/ports/logger.js';
import type { OutboxEntry, Reading } from '../core/ports/store.js';
import type { Texts } from '../core/ports/texts.js';
import { shownText } from './answer-text.js';
import { cardEntry } from './cards.js';
import { endTurn, runMark } from './conversation-state.js';
import type { Desk } from './desk.js';
import { cancelledTurn, closedCards } from './suspension.js';
import { openCards } from './waiting.js';

/**
 * Poison: something about the work at hand kills every worker that touches it. The final text being delivered, or else
 * the open run, or else the first waiting item, is set aside with a visible line; the rest of the conversation goes on
 * (design 3.5).
 */
export async function setHeadAside(
  desk: Desk,
  reading: Reading,
  { texts, logger, agent }: { texts: Texts; logger: Logger; agent: AgentSpec | undefined },
): Promise<void> {
  const entry = reading.outbox[0];
  if (entry && (desk.state.hold?.until ?? 0) <= reading.now) {
    logger.error({ claims: desk.session.claims, outbox: entry.n }, 'a final text set aside: every delivery died');
    await desk.commit((state) => state, { delivered: [entry.n], outbox: lostNote(entry, texts) });
    return;
  }
  const turn = desk.state.turn;
  const head = reading.items.find((item): item is Exclude<NumberedItem, { kind: 'stray' }> => item.kind !== 'stray');
  logger.error({ claims: desk.session.claims, seq: head?.seq, run: turn?.id }, 'set aside: every try to do it died');
  if (turn) {
    const table = texts.for(turn.locale);
    const markdown = [shownText(turn, agent), table.poison].filter(Boolean).join('\n\n');
    const asked = turn.waiting ?? turn.held;
    const ended = cancelledTurn(turn);
    await desk.commit((state) => endTurn({ ...state, turn: ended }, ended, ended.state?.loop), {
      outbox: [
        { v: 1, kind: 'answer', slot: `a${turn.answer}`, place: { ...turn.place }, state: 'error', markdown },
        ...(asked ? [cardEntry(closedCards(asked, table), turn, table)] : []),
      ] satisfies OutboxEntryBody[],
      ...(asked ? { closeChoices: openCards(asked).map(({ choice }) => choice), knowsTaken: true } : {}),
      run: runMark(turn, 'error', '', reading.now),
    });
  } else if (head) {
    const note: OutboxEntryBody = {
      ...{ v: 1, kind: 'note', slot: `dead${head.seq}`, place: { ...head.place }, state: 'error' },
      markdown: texts.for(head.locale).poison,
    };
    await desk.commit((state) => state, { ack: [head.seq], outbox: [note] });
  }
}

/** Stands where the lost text would; a line that is itself what cannot be shown has no successor. */
function lostNote({ n, body }: OutboxEntry, texts: Texts): OutboxEntryBody[] {
  const { data } = outboxEntry.safeParse(body);
  if (!data || data.slot.startsWith('dead')) return [];
  const { place } = data;
  return [{ v: 1, kind: 'note', slot: `dead-out${n}`, place, state: 'error', markdown: texts.for(undefined).poison }];
}
