import type { Relay } from '../../core/ports/relay.js';
import type { Board, ConversationSummary } from '../../core/ports/store.js';
import { messageView, runView } from './board-message.js';

/** Ports a feed reads from. */
export interface FeedPorts {
  readonly board: Board;
  readonly relay: Relay;
  readonly summary: (conversation: string) => Promise<ConversationSummary | undefined>;
}

const TIMES = {
  /** Hints may be lost, so the board is looked at anyway: soon after a change, then ever more rarely. */
  firstLookMs: 250,
  lastLookMs: 2_000,
  heartbeatMs: 15_000,
  /** A reader that takes nothing for this long is disconnected. */
  stalledReaderMs: 60_000,
  /** How long a browser waits before it reconnects. */
  retryMs: 1_000,
} as const;

export interface EventFeed {
  readonly stream: ReadableStream<Uint8Array>;
  /** Resolves when the stream is over, for whatever reason. */
  readonly ended: Promise<void>;
  /** Ends the stream; the client reconnects where it stopped. */
  close(): void;
}

/**
 * The server-sent events of one conversation:
 * - `message`: one whole message as the API shows it, on every edit
 * - `removed`: `{ id }`, the message was taken back
 * - `run`: what the conversation is doing, first and on every change
 * - `reset`: `{}`, the board is younger than the client: forget everything, all messages follow
 *
 * The id of an event is the board version up to which everything was sent; in a batch only the last event has one, so
 * a client that loses the connection in between gets the batch again. Nothing is queued per reader: it is asked for
 * when the reader has room, so a slow one gets only the newest version of each message.
 *
 * Rejects when the store does not answer; later failures end the stream.
 */
export async function openFeed(ports: FeedPorts, options: { conversation: string; after: number }): Promise<EventFeed> {
  const { conversation } = options;
  const encoder = new TextEncoder();
  const bell = createBell();
  let after = options.after;
  let shownRun = '';
  let lookMs: number = TIMES.firstLookMs;
  let ended = false;
  let unsubscribe: (() => Promise<void>) | undefined;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let stalled: NodeJS.Timeout | undefined;
  let tellEnded = (): void => undefined;
  const whenEnded = new Promise<void>((resolve) => {
    tellEnded = resolve;
  });

  /** Everything new since the last call as event-stream text; '' when there is nothing. */
  async function news(): Promise<string> {
    let prefix = '';
    let page = await ports.board.list(conversation, after);
    if (page.version < after) {
      after = 0;
      page = await ports.board.list(conversation, 0);
      prefix = event('reset', {});
    }
    const events = page.messages.map((message) => {
      const view = messageView(message);
      return view ? { name: 'message', data: view } : { name: 'removed', data: { id: message.id } };
    });
    const text = events.map((e, i) => event(e.name, e.data, i === events.length - 1 ? page.version : undefined));
    after = page.version;
    const run = JSON.stringify(runView(await ports.summary(conversation)));
    if (run !== shownRun) text.push(event('run', run));
    shownRun = run;
    return prefix + text.join('');
  }

  /** Waits until there is something to send, at the latest until the heartbeat is due. */
  async function next(): Promise<string> {
    const heartbeatAt = Date.now() + TIMES.heartbeatMs;
    while (!ended) {
      const text = await news();
      lookMs = text ? TIMES.firstLookMs : Math.min(lookMs * 2, TIMES.lastLookMs);
      if (text) return text;
      if (Date.now() >= heartbeatAt) return ': still here\n\n';
      await bell.wait(Math.min(lookMs, Math.max(0, heartbeatAt - Date.now())));
    }
    return '';
  }

  function end(error?: Error): void {
    if (ended) return;
    ended = true;
    clearTimeout(stalled);
    bell.ring();
    if (error) controller?.error(error);
    else controller?.close();
    unsubscribe?.().catch(() => undefined);
    tellEnded();
  }

  function watchReader(): void {
    clearTimeout(stalled);
    stalled = setTimeout(() => end(new Error('the reader takes nothing')), TIMES.stalledReaderMs);
  }

  unsubscribe = await ports.relay.subscribe(conversation, bell.ring);
  let pending: string | undefined;
  try {
    pending = `retry: ${TIMES.retryMs}\n\n${await news()}`;
  } catch (error) {
    await unsubscribe();
    throw error;
  }

  const stream = new ReadableStream<Uint8Array>(
    {
      start(c) {
        controller = c;
      },
      async pull() {
        clearTimeout(stalled);
        try {
          const text = pending ?? (await next());
          pending = undefined;
          if (ended) return;
          controller?.enqueue(encoder.encode(text));
          watchReader();
        } catch {
          end();
        }
      },
      cancel() {
        controller = undefined;
        end();
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, ended: whenEnded, close: () => end() };
}

function event(name: string, data: unknown, id?: number): string {
  const json = typeof data === 'string' ? data : JSON.stringify(data);
  return `event: ${name}\ndata: ${json}\n${id === undefined ? '' : `id: ${id}\n`}\n`;
}

/** A bell rung before anybody waits is heard by the next who does. */
function createBell() {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring(): void {
      rung = true;
      wake?.();
    },
    async wait(ms: number): Promise<void> {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      rung = false;
      wake = undefined;
    },
  };
}
