import type { Steering } from './hooks.js';

/** The seed's fixed prefix: the model recognises that the person changed direction in mid-run (seed 001). */
export const STEERING_PREFIX = '【运行中引导，请立即结合它调整当前工作】';

const LIMITS = { texts: 20, characters: 8_000 } as const;

export interface SteeringText {
  readonly author: string;
  readonly text: string;
}

/**
 * Merges waiting texts into one user message, oldest first; authors are named when `named` (several people write in
 * the conversation). Above 20 texts or 8,000 characters the rest waits for the next round; the first is always taken,
 * so nothing is dropped and nothing blocks. Returns how many were taken in `count`.
 */
export function mergeSteering(texts: readonly SteeringText[], named: boolean): Steering | undefined {
  const taken: string[] = [];
  let characters = 0;
  for (const { author, text } of texts.slice(0, LIMITS.texts)) {
    const line = named ? `${author}: ${text}` : text;
    if (taken.length > 0 && characters + line.length > LIMITS.characters) break;
    characters += line.length;
    taken.push(line);
  }
  if (taken.length === 0) return undefined;
  return { message: `${STEERING_PREFIX}\n${taken.join('\n')}`, count: taken.length };
}
