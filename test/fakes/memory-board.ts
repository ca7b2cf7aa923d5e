import type { Relay } from '../../src/core/ports/relay.js';
import type { Board, BoardMessage } from '../../src/core/ports/store.js';

/** The web board in memory: one version counter per conversation, positions of the first put are kept. */
export function createMemoryBoard(): Board {
  const conversations = new Map<string, { version: number; position: number; rows: Map<string, BoardMessage> }>();

  function open(name: string) {
    const known = conversations.get(name) ?? { version: 0, position: 0, rows: new Map<string, BoardMessage>() };
    conversations.set(name, known);
    return known;
  }

  return {
    async put(conversation, id, body) {
      const c = open(conversation);
      const known = c.rows.get(id);
      c.version += 1;
      if (!known) c.position += 1;
      const position = known?.position ?? c.position;
      const stored: unknown = JSON.parse(JSON.stringify(body));
      c.rows.set(id, { id, version: c.version, position, body: stored, removed: false });
      return c.version;
    },
    async remove(conversation, id) {
      const c = open(conversation);
      const known = c.rows.get(id);
      if (!known || known.removed) return false;
      c.version += 1;
      c.rows.set(id, { ...known, version: c.version, body: null, removed: true });
      return true;
    },
    async get(conversation, id) {
      return open(conversation).rows.get(id);
    },
    async list(conversation, after) {
      const c = open(conversation);
      const messages = [...c.rows.values()]
        .filter((row) => row.version > after && !(after === 0 && row.removed))
        .sort((a, b) => a.position - b.position);
      return { version: c.version, messages };
    },
  };
}

/** Hints within one process. `subscribers` counts who listens, so that leaks can be seen. */
export function createMemoryRelay(): Relay & { readonly subscribers: () => number } {
  const listeners = new Set<{ topic: string; listener: () => void }>();
  return {
    subscribers: () => listeners.size,
    async publish(topic) {
      for (const entry of listeners) if (entry.topic === topic) entry.listener();
    },
    async subscribe(topic, listener) {
      const entry = { topic, listener };
      listeners.add(entry);
      return async () => void listeners.delete(entry);
    },
  };
}
