import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ChoiceItem, ControlItem, MessageItem, Person, Place, StrayItem } from '../../../src/core/chat/message.js';
import type { Claim, ConversationStore, Reading, RunMark } from '../../../src/core/ports/store.js';

const place: Place = { platform: 'test', account: 'account', space: 'space' };

export const person = (name: string): Person => ({ id: `test:${name}`, name });

export function message(text: string, by = 'ann'): MessageItem {
  return { v: 1, kind: 'message', dedupe: randomUUID(), person: person(by), place, messageId: '1', text };
}

export function press(choice: string, by: string): ChoiceItem {
  const base = { dedupe: randomUUID(), person: person(by), place, messageId: '1' };
  return { v: 1, kind: 'choice', ...base, choice, option: 'yes' };
}

export function stop(by: string, runId?: string): ControlItem {
  const base = { dedupe: randomUUID(), person: person(by), place, messageId: '1' };
  return { v: 1, kind: 'control', ...base, control: 'stop', ...(runId !== undefined && { runId }) };
}

export function stray(slot: string): StrayItem {
  return { v: 1, kind: 'stray', dedupe: randomUUID(), slot, messageId: '7' };
}

export function run(id: string, phase: RunMark['phase'], changes: Partial<RunMark> = {}): RunMark {
  const times = { startedAt: 1_000, updatedAt: 2_000 };
  return { id, phase, allowed: ['test:ann'], agent: 'assistant', model: 'default', ...times, ...changes };
}

/** Reads as the holder of `epoch`. */
export async function look(conversations: ConversationStore, key: string, epoch: number): Promise<Reading> {
  const reading = await conversations.read(key, epoch);
  if (reading === 'superseded') throw new Error('superseded');
  return reading;
}

/** A conversation with one accepted text, claimed. */
export async function begun(conversations: ConversationStore, key: string): Promise<Claim> {
  await conversations.accept(key, message('hello'));
  return await conversations.claim(key);
}

/** Numbers of the items that wait. */
export async function waiting(conversations: ConversationStore, key: string, epoch: number): Promise<number[]> {
  return (await look(conversations, key, epoch)).items.map((item) => item.seq);
}

/** Waits until the store's own clock has passed `time`. */
export async function clockPasses(conversations: ConversationStore, key: string, epoch: number, time: number) {
  await expect.poll(async () => (await look(conversations, key, epoch)).now, { interval: 5 }).toBeGreaterThan(time);
}

/** Four senders of 50 texts each, one after the other; `halfway` resolves when 60 texts were accepted. */
export function startSenders(conversations: ConversationStore, key: string) {
  const accepted: string[] = [];
  let reached: () => void = () => undefined;
  const halfway = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const sending = Promise.all(
    ['a', 'b', 'c', 'd'].map(async (sender) => {
      for (let i = 0; i < 50; i++) {
        await conversations.accept(key, message(`${sender}${i}`));
        if (accepted.push(`${sender}${i}`) === 60) reached();
      }
    }),
  );
  return { accepted, halfway, sending };
}
