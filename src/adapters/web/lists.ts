import { z } from 'zod';
import { parseConversationKey } from '../../core/chat/message.js';
import type { ConversationStore, ConversationSummary, UsageEntry } from '../../core/ports/store.js';
import { fromStore, Refusal } from './refusal.js';

export const runsQuery = z.strictObject({
  state: z.enum(['running', 'waiting', 'finished', 'stopped', 'error']).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export const usageQuery = z.strictObject({
  by: z.enum(['user', 'agent', 'conversation', 'model']).default('model'),
  since: z.string().max(20).default('7d'),
});

export type UsageGrouping = z.infer<typeof usageQuery>['by'];

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

export interface UsageRow {
  readonly key: string;
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In the currency of the configured prices. */
  readonly cost: number;
}

/** Sums of the priced requests since a time, dearest first. */
export async function listUsage(store: Pick<ConversationStore, 'usage'>, query: z.infer<typeof usageQuery>) {
  const since = Date.now() - durationMs(query.since);
  const entries = await fromStore(store.usage(since));
  const rows = sumUsage(entries, query.by);
  return { by: query.by, since, rows, total: total('total', rows) };
}

/** Groups usage entries; costs were computed per request and are only added here. */
export function sumUsage(entries: readonly (UsageEntry & { key: string })[], by: UsageGrouping): UsageRow[] {
  const groups = new Map<string, UsageRow[]>();
  for (const entry of entries) {
    const key = by === 'user' ? entry.person : by === 'conversation' ? entry.key : entry[by];
    const { inputTokens, outputTokens, cost } = entry;
    const group = groups.get(key) ?? [];
    group.push({ key, requests: 1, inputTokens, outputTokens, cost });
    groups.set(key, group);
  }
  return [...groups].map(([key, rows]) => total(key, rows)).sort((a, b) => b.cost - a.cost || b.requests - a.requests);
}

function total(key: string, rows: readonly UsageRow[]): UsageRow {
  const sum = (field: 'requests' | 'inputTokens' | 'outputTokens' | 'cost') =>
    rows.reduce((all, row) => all + row[field], 0);
  return {
    key,
    requests: sum('requests'),
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cost: sum('cost'),
  };
}

/** `90s`, `30m`, `24h`, `7d`, `4w` in milliseconds. */
export function durationMs(text: string): number {
  const units: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
  const [, count, unit] = /^(\d{1,5})([smhdw])$/.exec(text) ?? [];
  const factor = units[unit ?? ''];
  if (count === undefined || factor === undefined) {
    throw new Refusal(400, {
      code: 'invalid_since',
      message: '"since" is not a length of time.',
      hint: 'Write a number and s, m, h, d or w, for example 7d.',
    });
  }
  return Number(count) * factor;
}
