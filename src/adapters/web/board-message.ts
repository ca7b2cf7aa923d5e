import { z } from 'zod';
import { planView } from '../../core/chat/plan-view.js';
import type { BoardMessage, ConversationSummary } from '../../core/ports/store.js';

/**
 * What lies on the board for each message, written as JSON by the adapter (bot) and the API (user). The API shows it
 * as it is, with the id in front.
 */
const boardBody = z.object({
  role: z.enum(['user', 'bot']),
  text: z.string(),
  /** Sanitised; safe to put into a page. */
  html: z.string(),
  state: z.enum(['streaming', 'final', 'stopped', 'error']),
  status: z.array(z.string()).optional(),
  plan: planView.optional(),
  reasoning: z.string().optional(),
  buttons: z
    .array(z.object({ id: z.string(), label: z.string(), style: z.enum(['primary', 'danger']).optional() }))
    .optional(),
  footer: z.string().optional(),
  /** A later page of the answer in the message before. */
  continues: z.literal(true).optional(),
  /** How a text written during a run was taken: into the run, or for after it. */
  mark: z.enum(['seen', 'queued']).optional(),
  author: z.object({ id: z.string(), name: z.string() }).optional(),
  clientMessageId: z.string().optional(),
  /** Time of the first post, ms. */
  at: z.number(),
});

export type BoardBody = z.infer<typeof boardBody>;
export type MessageView = { readonly id: string } & BoardBody;

/** The body of a board message; undefined for one that was removed or has another shape. */
export function readBody(message: BoardMessage | undefined): BoardBody | undefined {
  if (!message || message.removed) return undefined;
  return boardBody.safeParse(message.body).data;
}

/** A board message as the API shows it. */
export function messageView(message: BoardMessage): MessageView | undefined {
  const body = readBody(message);
  return body && { id: message.id, ...body };
}

/** Escapes a person's text for a page, keeping its lines. */
export function plainHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '').replaceAll('\n', '<br>');
}

/** What a conversation is doing. `id` names the run for the stop button. */
export interface RunView {
  readonly state: 'idle' | 'running' | 'waiting';
  readonly id?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly startedAt?: number;
}

/**
 * Accepted input that no worker has claimed yet counts as running: the person waits for an answer either way.
 */
export function runView(summary: ConversationSummary | undefined): RunView {
  const run = summary?.run;
  if (run && (run.phase === 'running' || run.phase === 'waiting')) {
    return { state: run.phase, id: run.id, agent: run.agent, model: run.model, startedAt: run.startedAt };
  }
  return { state: summary?.busy ? 'running' : 'idle' };
}
