import { StoreError } from '../../../core/errors.js';
import type { RunMark } from '../../../core/ports/store.js';
import { storedId } from '../identifiers.js';

/** Part of every key. A later layout gets another number, so that two versions never read each other's keys. */
const LAYOUT_VERSION = 1;

/**
 * Buckets a conversation can lie in. All keys of a conversation and of its bucket carry one hash tag, so that each
 * script touches one slot. Persisted: never change it without a new layout version.
 */
export const BUCKETS = 16;

export const RUN_PHASES = ['running', 'waiting', 'finished', 'stopped', 'error'] as const satisfies RunMark['phase'][];

/** Keys of one conversation, by the name the scripts use. */
const CONVERSATION_PARTS = {
  /** hash: epoch, seq, outn, claims, stop, state, run …, tokens of repeated calls. */
  conv: 'c',
  /** zset number → `number|item`. */
  inbox: 'in',
  /** zset number → `number|body`. */
  outbox: 'out',
  /** zset inbox number → de-duplication key. */
  seen: 'seen',
  /** hash slot → message id, '' = an intent. */
  live: 'live',
  /** hash choice → {allowed, till, by?, closed?}. */
  choices: 'ch',
  /** hash message id → `version|position|removed|body`, and zset version → message id. */
  board: 'b',
  versions: 'bv',
} as const;

/** Keys shared by the conversations of a bucket. */
const BUCKET_PARTS = {
  /** zset last sign of life → conversation. */
  dirty: 'dirty',
  /** zset due time → conversation. */
  wake: 'wake',
  /** zset time → `number|entry`. */
  usage: 'usage',
  /** zsets time of the last change → conversation, one for each phase. */
  running: 'runs:running',
  waiting: 'runs:waiting',
  finished: 'runs:finished',
  stopped: 'runs:stopped',
  error: 'runs:error',
} as const;

export type ConversationPart = keyof typeof CONVERSATION_PARTS;
export type BucketPart = keyof typeof BUCKET_PARTS;
export type KeyName = ConversationPart | BucketPart;

/** FNV-1a over UTF-16 units. Persisted, see {@link BUCKETS}. */
function hash(text: string): number {
  let value = 2_166_136_261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16_777_619);
  return value >>> 0;
}

export interface RedisKeys {
  /** The key behind a script's name for it; `conversation` is already a stored identifier. */
  named(name: KeyName, conversation: string): string;
  bucket(name: BucketPart, bucket: number): string;
  record(space: string, key: string): string;
  lease(name: string): string;
  /** All budgets share one slot: a call may draw from several at once. */
  budget(bucket: string): string;
}

const isBucketPart = (name: KeyName): name is BucketPart => name in BUCKET_PARTS;

/** Names of all keys. `prefix` separates installations that share a server. */
export function createKeys(prefix: string): RedisKeys {
  if (!/^[\w-]+$/.test(prefix)) {
    throw new StoreError(`the key prefix ${JSON.stringify(prefix)} is not usable`, {
      code: 'store_prefix',
      hint: 'use letters, digits, - and _ only',
    });
  }
  const root = `${prefix}${LAYOUT_VERSION}`;
  const bucket = (name: BucketPart, number: number) => `${root}:{b${number}}:${BUCKET_PARTS[name]}`;
  return {
    named(name, conversation) {
      const number = hash(conversation) % BUCKETS;
      if (isBucketPart(name)) return bucket(name, number);
      return `${root}:{b${number}}:${CONVERSATION_PARTS[name]}:${conversation}`;
    },
    bucket,
    // JSON keeps the border between space and key: no two pairs give one text.
    record: (space, key) => `${root}:r:${JSON.stringify([storedId(space), storedId(key)])}`,
    lease: (name) => `${root}:lease:${storedId(name)}`,
    budget: (name) => `${root}:{budget}:${storedId(name)}`,
  };
}
