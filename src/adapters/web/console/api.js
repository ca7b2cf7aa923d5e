// Calls to the gateway and the event stream of one conversation.

import { t } from './strings.js';

/** An answer that is not a success: `code`, `message` and `hint` as the server sent them. */
export class CallError extends Error {
  constructor(status, { code, message, hint }) {
    super(message);
    Object.assign(this, { status, code, hint });
  }
}

/** One call; resolves with the JSON answer, throws a CallError otherwise. */
export async function call(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch {
    throw new CallError(0, { code: 'unreachable', message: t('unreachable'), hint: t('unreachableHint') });
  }
  if (response.status === 204) return undefined;
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  throw new CallError(response.status, answer.error ?? { code: 'unknown', message: response.statusText, hint: '' });
}

/** A random id nobody can guess; works on plain http too. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

export function conversationPath(id) {
  return `/api/conversations/${encodeURIComponent(id)}`;
}

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;

/**
 * Follows a conversation from board version `after` on. The browser resumes broken streams by itself; refused ones are
 * tried again here. A page nobody looks at holds no connection: browsers allow only six to one server.
 */
export function followEvents(id, after, handlers) {
  let source;
  let timer;
  let version = after;
  let retryMs = FIRST_RETRY_MS;
  let closed = false;

  function connect() {
    if (closed || source || document.hidden) return;
    source = new EventSource(`${conversationPath(id)}/events?after=${version}`);
    source.addEventListener('open', () => {
      retryMs = FIRST_RETRY_MS;
      handlers.online();
    });
    for (const name of ['message', 'removed', 'run', 'reset']) {
      source.addEventListener(name, (event) => {
        version = Number(event.lastEventId) || version;
        handlers[name](JSON.parse(event.data));
      });
    }
    source.addEventListener('error', () => {
      handlers.offline();
      if (source?.readyState !== EventSource.CLOSED) return;
      disconnect();
      timer = setTimeout(checkAndConnect, retryMs);
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    });
  }

  /** A refused stream tells no reason; a session that ended is one that waiting does not mend. */
  async function checkAndConnect() {
    try {
      await call('GET', conversationPath(id));
    } catch (error) {
      if (error.status === 401) handlers.signedOut();
    }
    connect();
  }

  function disconnect() {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  }

  function visibilityChanged() {
    if (document.hidden) disconnect();
    else connect();
  }

  document.addEventListener('visibilitychange', visibilityChanged);
  connect();
  return function close() {
    closed = true;
    document.removeEventListener('visibilitychange', visibilityChanged);
    disconnect();
  };
}
