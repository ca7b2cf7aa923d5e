import { z } from 'zod';
import { parseConversationKey } from '../../core/chat/message.js';
import { type ConversationStore, type ConversationSummary, type Records, RUN_RECORDS } from '../../core/ports/store.js';
import { fromStore, Refusal } from './refusal.js';

export const runsQuery = z.strictObject({
  state: z.enum(['running', 'waiting', 'finished', 'stopped', 'error']).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

/** Latest run of each conversation, newest first. */
export async function listRuns(store: Pick<ConversationStore, 'runs'>, query: z.infer<typeof runsQuery>) {
  const { state, limit } = query;
  const runs = await fromStore(store.runs({ limit, ...(state ? { phase: state } : {}) }));
  return { runs: runs.flatMap(runRow) };
}

function runRow(summary: ConversationSummary) {
  const { key, run, busy, wakeAt } = summary;
  if (!run) return [];
  const { platform, account, space, root } = parseConversationKey(key);
  const { id, phase, agent, model, startedAt, updatedAt } = run;
  return [
    {
      conversation: key,
      platform,
      account,
      space,
      root,
      id,
      state: phase,
      agent,
      model,
      startedAt,
      updatedAt,
      busy,
      wakeAt,
    },
  ];
}

/** Longer ones were never given out. */
const LONGEST_RUN_ID = 400;

/**
 * What an ended run did, as the worker wrote it: JSON with its steps, their cost and the whole tool results. Throws a
 * 404 Refusal for a run that is not known, goes on, or is too long ago.
 */
export async function runDetails(records: Pick<Records, 'get'>, id: string): Promise<string> {
  const details = id.length <= LONGEST_RUN_ID ? await fromStore(records.get(RUN_RECORDS, id)) : undefined;
  if (details !== undefined) return details;
  throw new Refusal(404, {
    code: 'run_not_found',
    message: 'Nothing is kept about a run with this id.',
    hint: 'Details are there when a run has ended, for 30 days. GET /api/runs names the ids; encode them for the URL.',
  });
}
