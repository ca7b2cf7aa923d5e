import { describe, expect, it } from 'vitest';
import {
  createMultiplexer,
  type DatabaseSession,
  type Multiplexer,
  type ServedConnection,
} from '../../../../src/jobs/store/embedded/multiplexer.js';
import { LONGEST_FRAME } from '../../../../src/jobs/store/embedded/wire-frames.js';

function frame(type: string, body: string | Buffer): Buffer {
  const bytes = Buffer.from(body);
  const header = Buffer.alloc(5, type, 'latin1');
  header.writeUInt32BE(bytes.length + 4, 1);
  return Buffer.concat([header, bytes]);
}

const query = (sql: string): Buffer => frame('Q', `${sql}\0`);
const complete = (tag: string): Buffer => frame('C', `${tag}\0`);
const ready = (status: string): Buffer => frame('Z', status);
const notice = (channel: string, payload: string): Buffer => frame('A', `\0\0\0\x07${channel}\0${payload}\0`);
const startup = Buffer.concat([Buffer.from([0, 0, 0, 8]), Buffer.from([0, 3, 0, 0])]);

/** A session that answers each statement when the test says so, and remembers the order it got them in. */
function createScriptedSession(): DatabaseSession & {
  readonly ran: string[];
  answer(bytes: Buffer | Error): Promise<void>;
} {
  const ran: string[] = [];
  const waiting: { resolve: (bytes: Buffer) => void; reject: (error: Error) => void }[] = [];
  return {
    parameters: { server_version: '18.0' },
    ran,
    run(batch) {
      ran.push(batch.toString('latin1', 5, batch.length - 1));
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    async answer(bytes) {
      const next = waiting.shift();
      if (!next) throw new Error('nothing is running');
      if (bytes instanceof Error) next.reject(bytes);
      else next.resolve(bytes);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

interface TestClient extends ServedConnection {
  /** Types of the messages received since the last look, e.g. `CZ`. */
  types(): string;
  readonly ended: () => boolean;
  readonly bytes: () => Buffer;
}

function connect(multiplexer: Multiplexer, start = true): TestClient {
  let received = Buffer.alloc(0);
  let ended = false;
  const connection = multiplexer.attach({
    send: (bytes) => {
      received = Buffer.concat([received, bytes]);
    },
    end: () => {
      ended = true;
    },
  });
  const client: TestClient = {
    ...connection,
    ended: () => ended,
    bytes: () => received,
    types() {
      let types = '';
      for (let at = 0; at < received.length; at += received.readUInt32BE(at + 1) + 1)
        types += String.fromCharCode(received[at] ?? 0);
      received = Buffer.alloc(0);
      return types;
    },
  };
  if (start) {
    client.received(startup);
    client.types();
  }
  return client;
}

function setUp() {
  const session = createScriptedSession();
  const failures: string[] = [];
  const multiplexer = createMultiplexer(session, {
    failed: (error) => failures.push(error.message),
    broken: () => failures.push('broken'),
  });
  return { session, failures, multiplexer };
}

const idle = Buffer.concat([complete('OK'), ready('I')]);

describe('the start of a connection', () => {
  it('is greeted without a password', () => {
    const { multiplexer } = setUp();
    const client = connect(multiplexer, false);
    client.received(startup);
    expect(client.types()).toBe('RSKZ');
  });

  it('may ask for encryption, which is refused', () => {
    const { multiplexer } = setUp();
    const client = connect(multiplexer, false);
    client.received(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
    expect(client.bytes().toString()).toBe('N');
    client.received(startup);
    expect(client.bytes().toString('latin1', 0, 2)).toBe('NR');
  });

  it('understands frames that arrive byte by byte', async () => {
    const { multiplexer, session } = setUp();
    const client = connect(multiplexer, false);
    for (const byte of Buffer.concat([startup, query('SELECT 1')])) client.received(Buffer.from([byte]));
    expect(session.ran).toEqual(['SELECT 1']);
    client.types();
    await session.answer(idle);
    expect(client.types()).toBe('CZ');
  });

  it.each([
    ['an impossible length', Buffer.from([0x51, 0xff, 0xff, 0xff, 0xff])],
    [
      'a length above the limit',
      Buffer.concat([Buffer.from('Q'), Buffer.from(Uint32Array.of(LONGEST_FRAME + 1).buffer).reverse()]),
    ],
  ])('answers %s with an error and ends the connection', (_, bytes) => {
    const { multiplexer } = setUp();
    const client = connect(multiplexer);
    client.received(bytes);
    expect(client.types()).toBe('E');
    expect(client.ended()).toBe(true);
  });

  it('ends a connection that speaks an unknown protocol version', () => {
    const { multiplexer } = setUp();
    const client = connect(multiplexer, false);
    client.received(Buffer.from([0, 0, 0, 8, 0, 2, 0, 0]));
    expect(client.ended()).toBe(true);
  });
});

describe('batches', () => {
  it('are run one after the other, each answered to its own client', async () => {
    const { multiplexer, session } = setUp();
    const [a, b] = [connect(multiplexer), connect(multiplexer)];
    a.received(query('A'));
    b.received(query('B'));
    expect(session.ran).toEqual(['A']);
    await session.answer(idle);
    expect([a.types(), b.types()]).toEqual(['CZ', '']);
    expect(session.ran).toEqual(['A', 'B']);
    await session.answer(idle);
    expect([a.types(), b.types()]).toEqual(['', 'CZ']);
  });

  it('of the extended protocol run as a whole at Sync', async () => {
    const { multiplexer, session } = setUp();
    const client = connect(multiplexer);
    client.received(frame('P', '\0SELECT $1\0\0\0'));
    client.received(frame('B', ''));
    client.received(frame('E', ''));
    expect(session.ran).toEqual([]);
    client.received(frame('S', ''));
    expect(session.ran).toHaveLength(1);
    expect(session.ran[0]).toContain('SELECT $1');
  });
});

describe('a transaction', () => {
  it('keeps the session for its connection until it ends', async () => {
    const { multiplexer, session } = setUp();
    const [a, b] = [connect(multiplexer), connect(multiplexer)];
    a.received(query('BEGIN'));
    b.received(query('B'));
    await session.answer(Buffer.concat([complete('BEGIN'), ready('T')]));
    expect(session.ran).toEqual(['BEGIN']);
    a.received(query('UPDATE'));
    await session.answer(Buffer.concat([frame('E', ''), ready('E')]));
    expect(session.ran).toEqual(['BEGIN', 'UPDATE']);
    a.received(query('ROLLBACK'));
    await session.answer(Buffer.concat([complete('ROLLBACK'), ready('I')]));
    expect(session.ran).toEqual(['BEGIN', 'UPDATE', 'ROLLBACK', 'B']);
  });

  it('is rolled back when its connection goes away, and the others go on', async () => {
    const { multiplexer, session } = setUp();
    const [a, b] = [connect(multiplexer), connect(multiplexer)];
    a.received(query('BEGIN'));
    await session.answer(Buffer.concat([complete('BEGIN'), ready('T')]));
    b.received(query('B'));
    a.closed();
    expect(session.ran).toEqual(['BEGIN', 'ROLLBACK']);
    await session.answer(idle);
    expect(session.ran).toEqual(['BEGIN', 'ROLLBACK', 'B']);
  });

  it('that a client opens while it goes away is rolled back too', async () => {
    const { multiplexer, session } = setUp();
    const [a, b] = [connect(multiplexer), connect(multiplexer)];
    a.received(query('BEGIN'));
    a.closed();
    b.received(query('B'));
    await session.answer(Buffer.concat([complete('BEGIN'), ready('T')]));
    expect(session.ran).toEqual(['BEGIN', 'ROLLBACK']);
    await session.answer(idle);
    expect(session.ran).toEqual(['BEGIN', 'ROLLBACK', 'B']);
  });

  it('of another connection is not touched by a client that goes away', async () => {
    const { multiplexer, session } = setUp();
    const [a, b] = [connect(multiplexer), connect(multiplexer)];
    a.received(query('BEGIN'));
    await session.answer(Buffer.concat([complete('BEGIN'), ready('T')]));
    b.received(query('B'));
    b.received(frame('X', ''));
    expect(b.ended()).toBe(true);
    a.received(query('COMMIT'));
    await session.answer(idle);
    expect(session.ran).toEqual(['BEGIN', 'COMMIT']);
  });
});

describe('notifications', () => {
  it('go to every connection that listens to the channel, and to no other', async () => {
    const { multiplexer, session } = setUp();
    const [listener, other, writer] = [connect(multiplexer), connect(multiplexer), connect(multiplexer)];
    listener.received(query('-- a comment\nLISTEN jobs;'));
    await session.answer(idle);
    other.received(query('LISTEN "relay"'));
    await session.answer(idle);
    for (const client of [listener, other]) client.types();
    writer.received(query('NOTIFY jobs'));
    await session.answer(Buffer.concat([complete('NOTIFY'), notice('jobs', 'run'), ready('I')]));
    expect([listener.types(), other.types(), writer.types()]).toEqual(['A', '', 'CZ']);
  });

  it('stop after UNLISTEN, which the shared session never sees', async () => {
    const { multiplexer, session } = setUp();
    const [a, b] = [connect(multiplexer), connect(multiplexer)];
    for (const client of [a, b]) {
      client.received(query('LISTEN jobs'));
      await session.answer(idle);
    }
    a.received(query('UNLISTEN jobs;'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(a.types()).toBe('CZCZ');
    b.types();
    b.received(query('NOTIFY jobs'));
    await session.answer(Buffer.concat([notice('jobs', ''), idle]));
    expect([a.types(), b.types()]).toEqual(['', 'CZA']);
    expect(session.ran).toEqual(['LISTEN jobs', 'LISTEN jobs', 'NOTIFY jobs']);
  });

  it('do not reach a connection that is gone', async () => {
    const { multiplexer, session } = setUp();
    const [a, b] = [connect(multiplexer), connect(multiplexer)];
    a.received(query('LISTEN jobs'));
    await session.answer(idle);
    a.types();
    a.closed();
    b.received(query('NOTIFY jobs'));
    await session.answer(Buffer.concat([notice('jobs', ''), idle]));
    expect(a.types()).toBe('');
  });
});

describe('a failure of the engine', () => {
  it('is answered with an error and readiness, and the next batch runs', async () => {
    const { multiplexer, session, failures } = setUp();
    const [a, b] = [connect(multiplexer), connect(multiplexer)];
    a.received(query('A'));
    b.received(query('B'));
    await session.answer(new Error('unreachable executed'));
    expect(session.ran).toEqual(['A', 'ROLLBACK']);
    await session.answer(idle);
    expect(a.types()).toBe('EZ');
    expect(session.ran).toEqual(['A', 'ROLLBACK', 'B']);
    await session.answer(idle);
    expect(b.types()).toBe('CZ');
    expect(failures).toEqual(['unreachable executed']);
  });

  it('also when the answer is cut off or says nothing about readiness', async () => {
    const { multiplexer, session, failures } = setUp();
    const client = connect(multiplexer);
    for (const answer of [complete('OK'), idle.subarray(0, idle.length - 2)]) {
      client.received(query('A'));
      await session.answer(answer);
      await session.answer(idle);
      expect(client.types()).toBe('EZ');
    }
    expect(failures).toHaveLength(2);
  });

  it('that it does not recover from is reported', async () => {
    const { multiplexer, session, failures } = setUp();
    const client = connect(multiplexer);
    for (const second of [new Error('unreachable executed'), complete('ROLLBACK')]) {
      client.received(query('A'));
      await session.answer(new Error('stack overflow'));
      await session.answer(second);
    }
    expect(failures).toEqual(['stack overflow', 'broken', 'stack overflow', 'broken']);
  });

  it('inside a transaction also ends the connection, so that its later statements cannot run outside of it', async () => {
    const { multiplexer, session } = setUp();
    const client = connect(multiplexer);
    client.received(query('BEGIN'));
    await session.answer(Buffer.concat([complete('BEGIN'), ready('T')]));
    client.types();
    client.received(query('UPDATE'));
    await session.answer(new Error('out of memory'));
    await session.answer(idle);
    expect(client.types()).toBe('E');
    expect(client.ended()).toBe(true);
  });
});
