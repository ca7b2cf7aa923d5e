import type { Tool } from '../tool.js';
import { currentTime } from './current-time.js';
import { webFetch } from './web-fetch.js';

/** Every built-in tool; the config names them under `tools`. */
export const builtinTools: readonly Tool[] = [currentTime, webFetch];
