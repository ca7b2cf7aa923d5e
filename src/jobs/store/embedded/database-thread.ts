/**
 * Entry of a worker thread: opens the database and serves it on a local socket. WebAssembly calls block their thread
 * for a millisecond or more, so they must not run where answers are streamed.
 */
import { createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import type { DatabaseThreadInput, DatabaseThreadMessage } from './database.js';
import { startParams } from './database-settings.js';
import { createMultiplexer, type DatabaseSession, type Multiplexer } from './multiplexer.js';

const input: DatabaseThreadInput = workerData;

function report(message: DatabaseThreadMessage): void {
  parentPort?.postMessage(message);
}

function openSession(database: PGlite, version: string): DatabaseSession {
  return {
    parameters: {
      server_version: version,
      client_encoding: 'UTF8',
      DateStyle: 'ISO, MDY',
      integer_datetimes: 'on',
      standard_conforming_strings: 'on',
      TimeZone: 'UTC',
    },
    async run(batch) {
      const answer: Buffer[] = [];
      // Not `execProtocolRaw`: it also parses every answer and keeps the parsed messages for ever.
      await database.execProtocolRawStream(batch, {
        // The engine's memory is used again after the callback.
        onRawData: (bytes) => answer.push(Buffer.from(bytes)),
      });
      return Buffer.concat(answer);
    },
  };
}

function serve(multiplexer: Multiplexer, sockets: Set<Socket>) {
  return createServer((socket) => {
    const connection = multiplexer.attach({
      send: (bytes) => socket.write(bytes),
      end: () => socket.end(),
    });
    sockets.add(socket);
    socket.on('data', (chunk) => connection.received(chunk));
    // A broken connection also emits `close`.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      connection.closed();
    });
  });
}

const database = await PGlite.create(input.directory, { startParams: startParams() });
const { rows } = await database.query<{ server_version: string }>('SHOW server_version');
const session = openSession(database, rows[0]?.server_version ?? '17.0');
const multiplexer = createMultiplexer(session, {
  failed: (error) => report({ kind: 'failed', message: error.message }),
  // Ends this thread only; the next one starts from what was committed, as after a kill.
  broken: () => process.exit(1),
});
const sockets = new Set<Socket>();
const server = serve(multiplexer, sockets);
server.listen(input.address, () => report({ kind: 'ready' }));

parentPort?.once('message', async () => {
  server.close();
  for (const socket of sockets) socket.destroy();
  await database.close();
  report({ kind: 'closed' });
  parentPort?.close();
});
