import { setTimeout as sleep } from 'node:timers/promises';

export interface WebMessage {
  readonly id: string;
  readonly role: 'user' | 'bot';
  readonly text: string;
  readonly html: string;
  readonly state: 'streaming' | 'final' | 'stopped' | 'error';
  readonly footer?: string;
  readonly mark?: string;
  readonly buttons?: readonly { readonly id: string; readonly label: string }[];
  readonly plan?: {
    readonly title: string;
    readonly steps: readonly { readonly title: string; readonly status: string }[];
  };
}

export interface WebConversation {
  readonly messages: readonly WebMessage[];
  readonly run: { readonly state: 'idle' | 'running' | 'waiting' };
}

/** A person in one web conversation, over HTTP. */
export function createWebClient(url: string, conversation: string, cookie?: string) {
  const base = `${url}/api/conversations/${conversation}`;
  let session = cookie;

  async function call(path: string, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(`${base}${path}`, {
      ...init,
      headers: { 'content-type': 'application/json', ...(session && { cookie: session }) },
    });
    session ??= response.headers.get('set-cookie')?.split(';')[0];
    return response;
  }

  async function look(): Promise<WebConversation> {
    return (await (await call('')).json()) as WebConversation;
  }

  return {
    conversation,
    look,
    get cookie() {
      return session;
    },
    say: (text: string, clientMessageId?: string) =>
      call('/messages', { method: 'POST', body: JSON.stringify({ text, clientMessageId }) }),
    press: (choiceId: string, messageId: string) =>
      call('/choices', { method: 'POST', body: JSON.stringify({ choiceId, messageId }) }),
    stop: () => call('/stop', { method: 'POST', body: '{}' }),
    /** Looks until `condition` holds; throws with what was seen last. */
    async until(condition: (seen: WebConversation) => boolean, timeoutMs = 20_000): Promise<WebConversation> {
      const end = Date.now() + timeoutMs;
      for (;;) {
        const seen = await look();
        if (condition(seen)) return seen;
        if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms; last seen: ${JSON.stringify(seen)}`);
        await sleep(50);
      }
    },
  };
}

/** The bot's messages. */
export function answers(seen: WebConversation): readonly WebMessage[] {
  return seen.messages.filter((message) => message.role === 'bot');
}

/** `w1 w2 …` found in texts, in order. */
export function numbered(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.match(/\bw\d+\b/g) ?? []);
}
