import type { KeyName } from './keys.js';

/** The server's clock in ms, first line of scripts that need it. */
export const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** A script over keys of one conversation and its bucket; in Lua each key goes by its name. */
export interface ScriptSource {
  readonly keys: readonly KeyName[];
  readonly lua: string;
}
