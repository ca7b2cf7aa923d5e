import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { Hono } from 'hono';
import type { AcceptResult, Inbox } from '../../core/chat/adapter.js';
import { toError } from '../../core/errors.js';
import type { Logger } from '../../core/ports/logger.js';
import type { Relay } from '../../core/ports/relay.js';
import type { Board, ConversationStore, Records } from '../../core/ports/store.js';
import { type BoardBody, messageView, plainHtml, readBody, runView } from './board-message.js';
import { type EventFeed, openFeed } from './events.js';
import type { Gate } from './gate.js';
import {
  type Caller,
  checkConversationId,
  checkText,
  choiceItem,
  stopItem,
  textItem,
  userMessageId,
  webConversation,
} from './inbound.js';
import { listRuns, runDetails, runsQuery } from './lists.js';
import { fromStore, Refusal } from './refusal.js';
import { bodies, localeOf, parseBody, parseQuery } from './request.js';
import { listUsage, usageQuery } from './usage.js';

export interface ApiPorts {
  readonly board: Board;
  readonly relay: Relay;
  readonly inbox: Inbox;
  readonly conversations: Pick<ConversationStore, 'summary' | 'runs' | 'usage'>;
  /** Holds the details of ended runs. */
  readonly records: Pick<Records, 'get'>;
  readonly logger: Logger;
}

const LIMITS = {
  /** Newest messages a conversation is opened with. */
  messages: 500,
  /** Open event streams of this process. */
  streams: 1_000,
} as const;

/** The calls under `/api` (design section 8). `close` ends the open event streams. */
export function createApi(ports: ApiPorts, gate: Gate): { app: Hono; close(): void } {
  const { board, relay, inbox, conversations, records, logger } = ports;
  const feeds = new Set<EventFeed>();
  /** Open streams, and those being opened: many may be asked for before the first one stands. */
  let streams = 0;

  async function callerOf(c: Context, user?: { id: string; name: string }): Promise<Caller> {
    const conversation = checkConversationId(c.req.param('id') ?? '');
    return { conversation, person: await gate.person(c, user), locale: localeOf(c) };
  }

  /** Readers look on their own clock too, so a lost hint only costs time. */
  async function hint(conversation: string): Promise<void> {
    await relay.publish(conversation).catch((error: unknown) => {
      logger.debug({ err: toError(error), conversation }, 'web hint not sent');
    });
  }

  async function sendMessage(c: Context): Promise<Response> {
    const body = await parseBody(c, bodies.message);
    const caller = await callerOf(c, body.user);
    const { clientMessageId, attachments } = body;
    const text = checkText(body.text);
    const id = userMessageId(caller, clientMessageId ?? randomUUID());
    const item = textItem(caller, { id, text, attachments });
    const key = webConversation(caller.conversation);
    // On the board before the inbox: an answer never stands above its question, whatever process dies in between.
    const known = readBody(await fromStore(board.get(key, id)));
    if (!known) {
      const shown: BoardBody = {
        role: 'user',
        text,
        html: plainHtml(text),
        state: 'final',
        author: { id: caller.person.id, name: caller.person.name },
        at: Date.now(),
        ...(clientMessageId && { clientMessageId }),
      };
      await fromStore(board.put(key, id, shown));
    }
    const answer = await fromStore(inbox.accept(key, item));
    const refusal = refusalOf(answer, 'stop');
    if (refusal && !known) await fromStore(board.remove(key, id));
    await hint(key);
    if (refusal) throw refusal;
    return c.json({ accepted: true, ...(answer.result === 'duplicate' && { duplicate: true }), messageId: id }, 202);
  }

  async function pressButton(c: Context): Promise<Response> {
    const { user, choiceId, messageId = '' } = await parseBody(c, bodies.choice);
    const caller = await callerOf(c, user);
    return accept(c, caller, choiceItem(caller, { choiceId, messageId, event: randomUUID() }));
  }

  async function stop(c: Context): Promise<Response> {
    const { user, runId } = await parseBody(c, bodies.stop);
    const caller = await callerOf(c, user);
    return accept(c, caller, stopItem(caller, { runId, event: randomUUID() }));
  }

  async function accept(c: Context, caller: Caller, item: Parameters<Inbox['accept']>[1]): Promise<Response> {
    const key = webConversation(caller.conversation);
    const refusal = refusalOf(await fromStore(inbox.accept(key, item)), item.kind === 'choice' ? 'choice' : 'stop');
    if (refusal) throw refusal;
    await hint(key);
    return c.json({ accepted: true }, 202);
  }

  async function showConversation(c: Context): Promise<Response> {
    const caller = await callerOf(c);
    const key = webConversation(caller.conversation);
    const [page, summary] = await fromStore(Promise.all([board.list(key, 0), conversations.summary(key)]));
    const messages = page.messages.slice(-LIMITS.messages).flatMap((message) => messageView(message) ?? []);
    return c.json({ messages, run: runView(summary), version: page.version, you: caller.person });
  }

  async function streamEvents(c: Context): Promise<Response> {
    const conversation = webConversation(checkConversationId(c.req.param('id') ?? ''));
    const headers = { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' };
    // A HEAD answer has no body that could end the stream.
    if (c.req.raw.method === 'HEAD') return c.body(null, 200, headers);
    if (streams >= LIMITS.streams) {
      throw new Refusal(503, {
        code: 'too_many_streams',
        message: `This process has ${LIMITS.streams} event streams open, which is the limit.`,
        hint: 'Close pages that are not needed, or start a further gateway.',
        retryAfterSeconds: 10,
      });
    }
    const after = Number(c.req.header('last-event-id') ?? c.req.query('after') ?? 0);
    streams += 1;
    const opening = openFeed(
      { board, relay, summary: (key) => conversations.summary(key) },
      { conversation, after: Number.isSafeInteger(after) && after > 0 ? after : 0 },
    );
    const feed = await fromStore(opening).catch((refusal: unknown) => {
      streams -= 1;
      void opening.then((late) => late.close()).catch(() => undefined);
      throw refusal;
    });
    feeds.add(feed);
    void feed.ended.then(() => {
      streams -= 1;
      feeds.delete(feed);
    });
    return c.body(feed.stream, 200, headers);
  }

  const app = new Hono();
  app.post('/conversations/:id/messages', sendMessage);
  app.post('/conversations/:id/choices', pressButton);
  app.post('/conversations/:id/stop', stop);
  app.get('/conversations/:id', showConversation);
  app.get('/conversations/:id/events', streamEvents);
  app.get('/runs', async (c) => c.json(await listRuns(conversations, parseQuery(c, runsQuery))));
  app.get('/runs/:id', async (c) => {
    const details = await runDetails(records, c.req.param('id'));
    return c.body(details, 200, { 'Content-Type': 'application/json; charset=utf-8' });
  });
  app.get('/usage', async (c) => c.json(await listUsage(conversations, parseQuery(c, usageQuery))));
  return {
    app,
    close() {
      for (const feed of feeds) feed.close();
    },
  };
}

/** What the durable entrance refused, in the words of HTTP. */
function refusalOf(answer: AcceptResult, kind: 'choice' | 'stop'): Refusal | undefined {
  switch (answer.result) {
    case 'accepted':
    case 'duplicate':
      return undefined;
    case 'foreign':
      return new Refusal(403, {
        code: 'not_yours',
        message: kind === 'choice' ? 'This question was asked to somebody else.' : 'Somebody else started this run.',
        hint: 'The person it belongs to, or an approver, can do this.',
      });
    case 'already':
      return new Refusal(409, {
        code: 'already_answered',
        message: 'This question is already answered.',
        hint: 'Write a message to say something else.',
      });
    case 'expired':
      return new Refusal(410, {
        code: 'expired',
        message: 'This question is no longer open.',
        hint: 'Write a message to go on.',
      });
    case 'closed':
      return new Refusal(kind === 'choice' ? 410 : 409, {
        code: kind === 'choice' ? 'expired' : 'nothing_runs',
        message: kind === 'choice' ? 'This question is no longer open.' : 'This run has already ended.',
        hint: 'Write a message to go on.',
      });
  }
}
