import { toError } from '../../../core/errors.js';
import {
  commandComplete,
  createFrameReader,
  errorResponse,
  greeting,
  NO_ENCRYPTION,
  ROLLBACK,
  readyForQuery,
  type ServerNotification,
  splitAnswer,
  sqlOf,
} from './wire-frames.js';

/** A database session that carries out one batch of client messages (everything up to Sync, or one Query). */
export interface DatabaseSession {
  /** Values for ParameterStatus, e.g. `server_version`. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Resolves with the server's bytes. Rejects only when the engine itself failed, not on an SQL error. */
  run(batch: Buffer): Promise<Buffer>;
}

/** The client side of one connection. */
export interface ClientLink {
  send(bytes: Buffer): void;
  end(): void;
}

/** What the transport of one connection reports. */
export interface ServedConnection {
  received(chunk: Buffer): void;
  closed(): void;
}

export interface EngineEvents {
  /** A call failed; its client was told. */
  failed(error: Error): void;
  /** The engine answers nothing any more; only a new one helps. */
  broken(): void;
}

export interface Multiplexer {
  attach(link: ClientLink): ServedConnection;
}

interface Connection {
  readonly link: ClientLink;
  readonly channels: Set<string>;
  open: boolean;
}

interface Batch {
  readonly connection: Connection;
  run(): Promise<Buffer>;
}

// A command may stand behind comment lines. A wrong hit only sends notifications nobody asked for.
const LISTEN = /^\s*LISTEN\s+"?([\w$]+)"?/im;
const UNLISTEN = /^\s*UNLISTEN\s+(?:\*|"?([\w$]+)"?)\s*;?\s*$/i;

/**
 * Lets many PostgreSQL clients share one database session.
 *
 * - Batches of different connections never mix: each runs alone, in the order of arrival.
 * - A connection whose batch ended inside a transaction owns the session until a batch of its own ends outside one.
 * - A connection that goes away inside a transaction is rolled back.
 * - Notifications go to every connection that listens to the channel, whoever caused them.
 * - A failure of the engine is answered with an error, so that no client waits for ever.
 *
 * Not separate per connection, because the session is one: settings, advisory locks, named prepared statements.
 * Flush and COPY are not supported.
 */
export function createMultiplexer(session: DatabaseSession, events: EngineEvents): Multiplexer {
  const connections = new Set<Connection>();
  let queue: Batch[] = [];
  let owner: Connection | undefined;
  let running: Connection | undefined;
  let attached = 0;

  function nextBatch(): Batch | undefined {
    const index = owner ? queue.findIndex((batch) => batch.connection === owner) : 0;
    return index < 0 ? undefined : queue.splice(index, 1)[0];
  }

  async function pump(): Promise<void> {
    if (running) return;
    for (let batch = nextBatch(); batch; batch = nextBatch()) {
      running = batch.connection;
      await carryOut(batch);
      running = undefined;
    }
  }

  async function carryOut({ connection, run }: Batch): Promise<void> {
    try {
      const { reply, notifications, status } = splitAnswer(await run());
      if (!status) throw new Error('the database did not say that it is ready');
      owner = status === 'I' ? undefined : connection;
      reach(connection, reply);
      notify(notifications);
    } catch (thrown) {
      await giveUp(connection, toError(thrown));
    }
  }

  /** The client learns of the failure; one that was inside a transaction must not go on as if it still were. */
  async function giveUp(connection: Connection, error: Error): Promise<void> {
    events.failed(error);
    const inTransaction = owner === connection;
    owner = undefined;
    if (!(await rollsBack())) events.broken();
    reach(connection, errorResponse(`the embedded database failed: ${error.message}`));
    if (inTransaction) connection.link.end();
    else reach(connection, readyForQuery('I'));
  }

  async function rollsBack(): Promise<boolean> {
    try {
      return splitAnswer(await session.run(ROLLBACK)).status === 'I';
    } catch {
      return false;
    }
  }

  function reach(connection: Connection, bytes: Buffer): void {
    if (connection.open && bytes.length > 0) connection.link.send(bytes);
  }

  function notify(notifications: readonly ServerNotification[]): void {
    for (const { channel, bytes } of notifications) {
      for (const connection of connections) if (connection.channels.has(channel)) reach(connection, bytes);
    }
  }

  function submit(connection: Connection, run: () => Promise<Buffer>): void {
    queue.push({ connection, run });
    void pump();
  }

  function close(connection: Connection): void {
    if (!connection.open) return;
    connection.open = false;
    connections.delete(connection);
    queue = queue.filter((batch) => batch.connection !== connection);
    // Also while its batch is running: that batch may be the one that opens the transaction.
    if (owner === connection || running === connection) submit(connection, () => session.run(ROLLBACK));
  }

  /** UNLISTEN does not reach the session, which must go on listening for the other connections. */
  async function unlisten(connection: Connection, channel: string | undefined): Promise<Buffer> {
    if (channel === undefined) connection.channels.clear();
    else connection.channels.delete(channel);
    return Buffer.concat([commandComplete('UNLISTEN'), readyForQuery(owner === connection ? 'T' : 'I')]);
  }

  function submitBatch(connection: Connection, bytes: Buffer, sql: string | undefined): void {
    const leave = sql === undefined ? undefined : UNLISTEN.exec(sql);
    submit(connection, leave ? () => unlisten(connection, leave[1]) : () => session.run(bytes));
  }

  return {
    attach(link) {
      const connection: Connection = { link, channels: new Set(), open: true };
      const id = ++attached;
      const read = createFrameReader();
      let batch: Buffer[] = [];
      connections.add(connection);

      function accept(type: string, bytes: Buffer): void {
        if (type === 'X') {
          close(connection);
          link.end();
          return;
        }
        const sql = sqlOf(type, bytes);
        const channel = sql === undefined ? undefined : LISTEN.exec(sql)?.[1];
        if (channel) connection.channels.add(channel);
        batch.push(bytes);
        if (type !== 'S' && type !== 'Q') return;
        submitBatch(connection, Buffer.concat(batch), type === 'Q' ? sql : undefined);
        batch = [];
      }

      return {
        received(chunk) {
          try {
            for (const frame of read(chunk)) {
              if (frame.kind === 'message') accept(frame.type, frame.bytes);
              else if (frame.kind === 'startup') reach(connection, greeting(id, session.parameters));
              else if (frame.kind === 'encryption-request') reach(connection, NO_ENCRYPTION);
              else link.end();
            }
          } catch (thrown) {
            // What follows on this connection cannot be understood any more.
            reach(connection, errorResponse(`protocol error: ${toError(thrown).message}`));
            close(connection);
            link.end();
          }
        },
        closed: () => close(connection),
      };
    },
  };
}
