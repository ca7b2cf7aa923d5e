import type { Control } from './message.js';

/** Looked up after trimming and lower-casing (phones capitalise the first word); nothing but the exact word counts. */
const CONTROL_WORDS: ReadonlyMap<string, Control> = new Map([
  ['/stop', 'stop'],
  ['stop', 'stop'],
  ['停止', 'stop'],
  ['/new', 'new'],
  ['/status', 'status'],
  ['/help', 'help'],
]);

/** `queue:` in front of a message; Chinese keyboards type the wide colon. */
const QUEUE_PREFIX = /^\s*queue\s*[:：]\s*/i;

/**
 * The control a person's whole message stands for, if any; recognised before anything else is done with a text.
 * Platform decorations (a bot's name in a command or a mention) must be gone already.
 */
export function readControl(text: string): Control | undefined {
  return CONTROL_WORDS.get(text.trim().toLowerCase());
}

/** Takes the `queue:` prefix off: a message with it waits for the end of the run instead of steering it. */
export function readQueuePrefix(text: string): { readonly queue: boolean; readonly text: string } {
  const rest = text.replace(QUEUE_PREFIX, '');
  return { queue: rest.length < text.length, text: rest };
}
