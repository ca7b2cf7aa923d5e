import type { Control } from './message.js';

/** Looked up after trimming and lower-casing (phones capitalise the first word); nothing but the exact word counts. */
const CONTROL_WORDS: ReadonlyMap<string, Control> = new Map([
  ['/stop', 'stop'],
  ['stop', 'stop'],
  ['停止', 'stop'],
  ['/new', 'new'],
  ['/status', 'status'],
  ['/queue', 'queue'],
  ['/usage', 'usage'],
  ['/model', 'model'],
  ['/mcp', 'mcp'],
  ['/help', 'help'],
]);

/** The words that may have one name behind them. */
const WITH_ARGUMENT = /^\/(model|mcp)\s+(\S{1,64})$/i;

/** `queue:` or `/queue` in front of a message; Chinese keyboards type the wide colon. */
const QUEUE_PREFIX = /^\s*(?:queue\s*[:：]\s*|\/queue\s+(?=\S))/i;

export interface ReadControl {
  readonly control: Control;
  readonly argument?: string | undefined;
}

/**
 * The control a person's whole message stands for, if any; recognised before anything else is done with a text.
 * Platform decorations (a bot's name in a command or a mention) must be gone already.
 */
export function readControl(text: string): ReadControl | undefined {
  const trimmed = text.trim();
  const control = CONTROL_WORDS.get(trimmed.toLowerCase());
  if (control) return { control };
  const [, word, argument] = WITH_ARGUMENT.exec(trimmed) ?? [];
  const named = word && CONTROL_WORDS.get(`/${word.toLowerCase()}`);
  return named ? { control: named, argument } : undefined;
}

/** Takes the `queue:` prefix off: a message with it waits for the end of the run instead of steering it. */
export function readQueuePrefix(text: string): { readonly queue: boolean; readonly text: string } {
  const rest = text.replace(QUEUE_PREFIX, '');
  return { queue: rest.length < text.length, text: rest };
}
