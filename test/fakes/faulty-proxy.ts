import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy on loopback that loses answers and goes silent when told to. */
export interface FaultyProxy {
  readonly port: number;
  /** Lets the next request that holds `text` through, and breaks its connection when the answer comes. */
  loseAnswerTo(text: string): Promise<void>;
  /** Nothing passes on the connections that stand now, and none of them is closed. */
  silence(): void;
  /** With true, also new connections stay without an answer. */
  deaf(value: boolean): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of a server on 127.0.0.1. */
export async function startFaultyProxy(targetPort: number): Promise<FaultyProxy> {
  const links = new Set<{ client: Socket; target: Socket; silent: boolean }>();
  let needle: { text: string; lost: () => void } | undefined;
  let deaf = false;

  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    const link = { client, target, silent: deaf };
    links.add(link);
    let losing: (() => void) | undefined;
    const end = () => {
      links.delete(link);
      client.destroy();
      target.destroy();
    };
    client.on('data', (chunk) => {
      if (link.silent) return;
      if (needle && chunk.includes(needle.text)) {
        losing = needle.lost;
        needle = undefined;
      }
      target.write(chunk);
    });
    target.on('data', (chunk) => {
      if (link.silent) return;
      if (losing === undefined) return void client.write(chunk);
      end();
      losing();
    });
    for (const socket of [client, target]) socket.on('close', end).on('error', end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    loseAnswerTo: (text) =>
      new Promise((resolve) => {
        needle = { text, lost: resolve };
      }),
    silence() {
      for (const link of links) link.silent = true;
    },
    deaf(value) {
      deaf = value;
      if (!value) for (const { client } of links) client.destroy();
    },
    async close() {
      for (const { client, target } of links) {
        client.destroy();
        target.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
}
