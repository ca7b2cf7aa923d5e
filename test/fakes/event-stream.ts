import { waitFor } from './wait-for.js';

export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
  readonly id: string | undefined;
}

/** A client of a server-sent event stream that keeps everything it gets. */
export async function openEventStream(url: string, headers: Record<string, string> = {}) {
  const abort = new AbortController();
  const response = await fetch(url, { headers, signal: abort.signal });
  const events: StreamEvent[] = [];
  let comments = 0;
  let ended = false;

  async function read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body ?? []) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) parse(block);
    }
  }

  function parse(block: string): void {
    const fields = new Map(
      block.split('\n').map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    );
    if (fields.has('')) comments += 1;
    const data = fields.get('data');
    if (data !== undefined)
      events.push({ event: fields.get('event') ?? 'message', data: JSON.parse(data), id: fields.get('id') });
  }

  const done = response.ok
    ? read()
        .catch(() => undefined)
        .finally(() => {
          ended = true;
        })
    : Promise.resolve();

  return {
    response,
    events,
    comments: () => comments,
    ended: () => ended,
    /** The first event after index `from` with this name that `accepts` takes. */
    next(name: string, accepts: (data: never) => boolean = () => true, from = 0): Promise<StreamEvent> {
      return waitFor(() => events.slice(from).find((e) => e.event === name && accepts(e.data as never)), {
        what: () => `event ${name}; got ${JSON.stringify(events)}`,
      });
    },
    async close(): Promise<void> {
      abort.abort();
      await done;
    },
  };
}
