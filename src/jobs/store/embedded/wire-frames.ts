/**
 * The parts of the PostgreSQL wire protocol (version 3) the multiplexer has to understand: where a message ends, which
 * messages end a batch, and the few answers it gives itself. Everything else passes through as bytes.
 * Source: PostgreSQL documentation, "Frontend/Backend Protocol", message formats.
 */

/** Longest message a client may send; the gateway's own messages stay far below it. */
export const LONGEST_FRAME = 64 * 1024 * 1024;

/** Transaction status of a ReadyForQuery: idle, in a transaction, in a failed transaction. */
export type TransactionStatus = 'I' | 'T' | 'E';

export type ClientFrame =
  | { readonly kind: 'startup' | 'encryption-request' | 'cancel-request' }
  | { readonly kind: 'message'; readonly type: string; readonly bytes: Buffer };

const PROTOCOL_3 = 196_608;
const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;
const GSS_REQUEST = 80_877_104;
const STARTUP_HEADER = 8;
const MESSAGE_HEADER = 5;

/**
 * Cuts one connection's byte stream into frames. Before the startup packet frames carry no type byte, after it they do.
 *
 * @throws Error on a length or protocol version that cannot be right; the connection is lost then.
 */
export function createFrameReader(): (chunk: Buffer) => ClientFrame[] {
  let pending: Buffer = Buffer.alloc(0);
  let started = false;

  function take(): ClientFrame | undefined {
    const header = started ? MESSAGE_HEADER : STARTUP_HEADER;
    if (pending.length < header) return undefined;
    const length = started ? pending.readUInt32BE(1) + 1 : pending.readUInt32BE(0);
    if (length < header || length > LONGEST_FRAME) throw new Error(`a message of ${length} bytes`);
    if (pending.length < length) return undefined;
    const bytes = pending.subarray(0, length);
    pending = pending.subarray(length);
    if (started) return { kind: 'message', type: String.fromCharCode(bytes.readUInt8(0)), bytes };
    const kind = startupKind(bytes.readUInt32BE(4));
    started = kind === 'startup';
    return { kind };
  }

  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const frames: ClientFrame[] = [];
    for (let frame = take(); frame; frame = take()) frames.push(frame);
    return frames;
  };
}

function startupKind(code: number): 'startup' | 'encryption-request' | 'cancel-request' {
  if (code === SSL_REQUEST || code === GSS_REQUEST) return 'encryption-request';
  if (code === CANCEL_REQUEST) return 'cancel-request';
  if (code === PROTOCOL_3) return 'startup';
  throw new Error(`protocol version ${code}`);
}

/** The SQL text of a Query or Parse message, undefined for other messages. */
export function sqlOf(type: string, bytes: Buffer): string | undefined {
  if (type === 'Q') return bytes.toString('utf8', MESSAGE_HEADER, bytes.length - 1);
  if (type !== 'P') return undefined;
  const start = bytes.indexOf(0, MESSAGE_HEADER) + 1;
  const end = bytes.indexOf(0, start);
  return bytes.toString('utf8', start, end < 0 ? bytes.length : end);
}

export interface ServerNotification {
  readonly channel: string;
  readonly bytes: Buffer;
}

/** What one batch answered: the asker's own bytes, notifications for whoever listens, the status it ended in. */
export interface ServerAnswer {
  readonly reply: Buffer;
  readonly notifications: readonly ServerNotification[];
  /** Undefined when the answer holds no ReadyForQuery. */
  readonly status: TransactionStatus | undefined;
}

/**
 * Takes the notifications out of an answer and reads its last transaction status.
 *
 * @throws Error when the bytes end inside a message.
 */
export function splitAnswer(answer: Buffer): ServerAnswer {
  const reply: Buffer[] = [];
  const notifications: ServerNotification[] = [];
  let status: TransactionStatus | undefined;
  let copied = 0;
  let at = 0;
  while (at < answer.length) {
    const next = answer.length - at < MESSAGE_HEADER ? Number.POSITIVE_INFINITY : at + answer.readUInt32BE(at + 1) + 1;
    if (next > answer.length) throw new Error('the answer ends inside a message');
    const type = answer[at];
    if (type === 0x41) {
      reply.push(answer.subarray(copied, at));
      notifications.push(notification(answer.subarray(at, next)));
      copied = next;
    } else if (type === 0x5a) {
      status = transactionStatus(answer[at + MESSAGE_HEADER]);
    }
    at = next;
  }
  reply.push(answer.subarray(copied));
  return { reply: reply.length === 1 ? answer : Buffer.concat(reply), notifications, status };
}

function notification(bytes: Buffer): ServerNotification {
  // Type, length and the notifying process id stand before the channel name.
  const start = MESSAGE_HEADER + 4;
  return { channel: bytes.toString('utf8', start, bytes.indexOf(0, start)), bytes };
}

function transactionStatus(byte: number | undefined): TransactionStatus {
  if (byte === 0x54) return 'T';
  return byte === 0x45 ? 'E' : 'I';
}

function message(type: string, ...fields: (string | number | Buffer)[]): Buffer {
  const body = Buffer.concat(fields.map((field) => (Buffer.isBuffer(field) ? field : encodeField(field))));
  const header = Buffer.alloc(MESSAGE_HEADER, type, 'latin1');
  header.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
}

/** Numbers are 32-bit, texts are zero-terminated. */
function encodeField(field: string | number): Buffer {
  if (typeof field === 'string') return Buffer.from(`${field.replaceAll('\0', ' ')}\0`, 'utf8');
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(field);
  return bytes;
}

/** Refuses encryption; the socket is local and private. */
export const NO_ENCRYPTION = Buffer.from('N', 'latin1');
export const ROLLBACK = message('Q', 'ROLLBACK');

export function readyForQuery(status: TransactionStatus): Buffer {
  return message('Z', Buffer.from(status, 'latin1'));
}

/** Everything a server says after a startup packet. No password is asked for: only the owner can open the socket. */
export function greeting(connection: number, parameters: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat([
    message('R', 0),
    ...Object.entries(parameters).map(([name, value]) => message('S', name, value)),
    message('K', connection, 0),
    readyForQuery('I'),
  ]);
}

export function commandComplete(tag: string): Buffer {
  return message('C', tag);
}

/** An ErrorResponse with SQLSTATE XX000 (internal error). */
export function errorResponse(text: string): Buffer {
  return message('E', 'SERROR', 'VERROR', 'CXX000', `M${text}`, Buffer.alloc(1));
}
