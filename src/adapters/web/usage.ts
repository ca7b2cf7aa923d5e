import { z } from 'zod';
import type { ConversationStore, UsageEntry } from '../../core/ports/store.js';
import { fromStore, Refusal } from './refusal.js';

export const USAGE_GROUPINGS = ['user', 'agent', 'conversation', 'model', 'tool'] as const;

export const usageQuery = z.strictObject({
  by: z.enum(USAGE_GROUPINGS).default('model'),
  since: z.string().max(20).default('7d'),
});

export type UsageGrouping = z.infer<typeof usageQuery>['by'];

const usageRow = z.object({
  key: z.string(),
  /** Requests to models. */
  requests: z.number(),
  /** Tool calls that had a price of their own. */
  toolCalls: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  /** In the currency of the configured prices; models and tools. */
  cost: z.number(),
  /** The same cost by what caused it: the agent, compression, or tools with the requests made inside them. */
  sources: z.object({ agent: z.number(), compression: z.number(), tool: z.number() }),
});

/** What `GET /api/usage` answers; also read by the command line. */
export const usageAnswer = z.object({
  by: z.enum(USAGE_GROUPINGS),
  /** Time of the store's clock, ms. */
  since: z.number(),
  rows: z.array(usageRow),
  total: usageRow,
  /** False when there were more entries than one answer reads: the newest are missing. */
  complete: z.boolean(),
});

export type UsageRow = z.infer<typeof usageRow>;
export type UsageAnswer = z.infer<typeof usageAnswer>;

/** The most entries a store hands out at once. */
const MOST_ENTRIES = 100_000;

/**
 * Sums of what was spent since a time, dearest first. Requests of sub-agents and of compression, and what tools cost
 * themselves, belong to the run, person and conversation that caused them.
 */
export async function listUsage(
  store: Pick<ConversationStore, 'usage'>,
  query: z.infer<typeof usageQuery>,
): Promise<UsageAnswer> {
  const since = Date.now() - durationMs(query.since);
  const entries = await fromStore(store.usage(since));
  const rows = sumUsage(entries, query.by);
  return { by: query.by, since, rows, total: sum('total', rows), complete: entries.length < MOST_ENTRIES };
}

type KeyedEntry = UsageEntry & { readonly key: string };

/** Groups usage entries; costs were computed per request and are only added here. */
function sumUsage(entries: readonly KeyedEntry[], by: UsageGrouping): UsageRow[] {
  const groups = new Map<string, UsageRow[]>();
  for (const entry of entries) {
    const key = groupOf(entry, by);
    const group = groups.get(key) ?? [];
    if (group.length === 0) groups.set(key, group);
    group.push(rowOf(entry, key));
  }
  return [...groups].map(([key, rows]) => sum(key, rows)).sort((a, b) => b.cost - a.cost || b.requests - a.requests);
}

/**
 * `''` is what has no such owner: for `model` what tools themselves cost, for `tool` what no tool caused. A request
 * made inside a tool whose name was not noted stands under the agent that made it.
 */
function groupOf(entry: KeyedEntry, by: UsageGrouping): string {
  switch (by) {
    case 'user':
      return entry.person;
    case 'conversation':
      return entry.key;
    case 'agent':
    case 'model':
      return entry[by];
    case 'tool':
      return entry.tool ?? (entry.source === 'tool' ? entry.agent : '');
  }
}

/** An entry without a model is the price of a tool call itself. */
function rowOf({ model, inputTokens, outputTokens, cost, source = 'agent' }: UsageEntry, key: string): UsageRow {
  const isRequest = model !== '';
  const sources = { agent: 0, compression: 0, tool: 0, [source]: cost };
  return { key, requests: isRequest ? 1 : 0, toolCalls: isRequest ? 0 : 1, inputTokens, outputTokens, cost, sources };
}

function sum(key: string, rows: readonly UsageRow[]): UsageRow {
  const add = (figure: (row: UsageRow) => number): number => rows.reduce((all, row) => all + figure(row), 0);
  return {
    key,
    requests: add((row) => row.requests),
    toolCalls: add((row) => row.toolCalls),
    inputTokens: add((row) => row.inputTokens),
    outputTokens: add((row) => row.outputTokens),
    cost: add((row) => row.cost),
    sources: {
      agent: add((row) => row.sources.agent),
      compression: add((row) => row.sources.compression),
      tool: add((row) => row.sources.tool),
    },
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
