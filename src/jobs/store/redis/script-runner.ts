import type { RedisConnection } from './connection.js';
import { CONVERSATION_SCRIPTS } from './conversation-scripts.js';
import type { KeyName, RedisKeys } from './keys.js';
import { BOARD_SCRIPTS, KEYED_SCRIPTS } from './side-scripts.js';

const CONVERSATION = { ...CONVERSATION_SCRIPTS, ...BOARD_SCRIPTS };

type NumberedTexts = readonly string[];

/** What each script answers; the only place where replies get a type. */
interface Replies {
  accept: [result: 'accepted' | 'duplicate', seq: number] | [result: 'foreign' | 'already' | 'expired' | 'closed'];
  claim: [epoch: string, claims: string, state: string | null];
  read:
    | [items: NumberedTexts, outbox: NumberedTexts, live: readonly string[], stop: number, seen: number, now: number]
    | 'superseded';
  commit: 'ok' | 'taken' | 'superseded';
  settle: 'ok' | 'busy' | 'superseded';
  check: 'ok' | 'stop' | 'superseded';
  liveIntent: ['fresh' | 'again'] | ['known', string] | 'superseded';
  liveId: 'ok' | 'superseded';
  summary: [exists: number, run: string | null, dirty: string | null, wake: string | null];
  boardPut: number;
  boardRemove: number;
  boardGet: string | null;
  boardList: [newest: number, rows: readonly (readonly [id: string, row: string])[]];
  leaseAcquire: number;
  leaseRelease: number;
  budgetTake: number;
}

type Arguments = readonly (string | number)[];

export interface ScriptRunner {
  /** Runs a script on one conversation; `args` follow the conversation in ARGV. */
  run<Name extends keyof typeof CONVERSATION>(name: Name, key: string, ...args: Arguments): Promise<Replies[Name]>;
  /** Runs a script on keys of its own. */
  runOn<Name extends keyof typeof KEYED_SCRIPTS>(
    name: Name,
    keys: readonly string[],
    ...args: Arguments
  ): Promise<Replies[Name]>;
}

type DefinedCommands = Record<string, (...args: Arguments) => Promise<unknown>>;

/** Defines the scripts on a connection; ioredis sends their text once per connection and their digest afterwards. */
export function createScriptRunner(connection: RedisConnection, keys: RedisKeys): ScriptRunner {
  const { redis } = connection;
  for (const [name, script] of Object.entries(CONVERSATION)) {
    const names = `local ${script.keys.join(', ')} = unpack(KEYS)`;
    redis.defineCommand(`tl_${name}`, { numberOfKeys: script.keys.length, lua: names + script.lua });
  }
  for (const [name, lua] of Object.entries(KEYED_SCRIPTS)) redis.defineCommand(`tl_${name}`, { lua });
  // defineCommand adds methods the type of a client cannot know.
  const commands = redis as unknown as DefinedCommands;
  const call = (name: string, args: Arguments) => connection.run(async () => commands[`tl_${name}`]?.(...args));
  return {
    run: async <Name extends keyof typeof CONVERSATION>(name: Name, key: string, ...args: Arguments) => {
      const names: readonly KeyName[] = CONVERSATION[name].keys;
      return (await call(name, [...names.map((part) => keys.named(part, key)), key, ...args])) as Replies[Name];
    },
    runOn: async <Name extends keyof typeof KEYED_SCRIPTS>(name: Name, own: readonly string[], ...args: Arguments) =>
      (await call(name, [own.length, ...own, ...args])) as Replies[Name],
  };
}
