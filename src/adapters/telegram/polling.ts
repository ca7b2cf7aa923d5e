import type { Update } from 'grammy/types';
import { toError } from '../../core/errors.js';
import type { TelegramApi } from './api.js';
import { IntakeError, isConflict, type PersistOptions, persist } from './persistence.js';
import type { Receiver } from './receiver.js';

/** What the gateway understands; Telegram keeps the list until it is told another one. */
export const ALLOWED_UPDATES = ['message', 'edited_message', 'callback_query', 'my_chat_member'] as const;
const BATCH = 100;
const LAST_CONFIRM_MS = 2_000;

export interface PollingOptions extends PersistOptions {
  readonly api: TelegramApi;
  /** Called before the first poll, again if it failed; gives what takes updates in. */
  readonly prepare: (signal: AbortSignal) => Promise<Receiver>;
  /** How long Telegram holds an empty answer back, seconds. */
  readonly pollSeconds: number;
  /** After a conflict: a poll that waits undisturbed for so long shows that the other program is gone. */
  readonly conflictSeconds: number;
}

/**
 * Poll → accept everything durably → only then confirm, by the offset of the next poll. Nothing else happens in
 * here, so answers of the model can never hold it up; and no failure loses anything, because Telegram repeats what was
 * not confirmed. Returns when `signal` is aborted, with the offset not yet told to Telegram (0: none). Throws
 * PlatformError `unauthorized` when the token is wrong.
 */
export async function poll(options: PollingOptions, signal: AbortSignal): Promise<number> {
  let receiver: Receiver | undefined;
  let offset = 0;
  let first = true;
  await persist(options, signal, async (failure) => {
    receiver ??= await options.prepare(signal);
    // At first and after a failure Telegram is asked without waiting: the answer tells at once whether things work.
    const usual = first || failure !== undefined ? 0 : options.pollSeconds;
    const timeout = isConflict(failure) ? options.conflictSeconds : usual;
    const updates = await getUpdates(options.api, { offset, timeout, limit: BATCH }, signal);
    await takeIn(updates, receiver);
    // Confirmed by the poll above unless this batch moved it. An idle bot goes on with 0, "all that is unconfirmed":
    // after a quiet week Telegram may begin again with smaller ids.
    offset = updates.reduce((next, update) => Math.max(next, update.update_id + 1), 0);
    first = false;
    return 'again';
  });
  return offset;
}

/** Tells Telegram about the last batch, so that a restart does not get it again. Best effort: it would be duplicates. */
export async function confirm(api: TelegramApi, offset: number): Promise<void> {
  if (offset === 0) return;
  const signal = AbortSignal.timeout(LAST_CONFIRM_MS);
  await getUpdates(api, { offset, timeout: 0, limit: 1 }, signal).catch(() => {});
}

function getUpdates(
  api: TelegramApi,
  query: { readonly offset: number; readonly timeout: number; readonly limit: number },
  signal: AbortSignal,
): Promise<readonly Update[]> {
  const { offset, ...rest } = query;
  const payload = { ...rest, ...(offset > 0 && { offset }), allowed_updates: [...ALLOWED_UPDATES] };
  return api.call((raw, grammySignal) => raw.getUpdates(payload, grammySignal), { signal });
}

/** In order within a chat, chats side by side: a slow conversation delays its own chat only. */
async function takeIn(updates: readonly Update[], receiver: Receiver): Promise<void> {
  const chats = new Map<number | string, Update[]>();
  for (const update of updates) {
    const chat = chatOf(update);
    const list = chats.get(chat);
    if (list) list.push(update);
    else chats.set(chat, [update]);
  }
  const chains = [...chats.values()].map(async (list) => {
    for (const update of list) await receiver(update);
  });
  const results = await Promise.allSettled(chains);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw new IntakeError('an update could not be stored', { cause: toError(failed.reason) });
}

/** An update of an unknown shape must not stop the others; the receiver says what is wrong with it. */
function chatOf(update: Update): number | string {
  const message = update.message ?? update.edited_message ?? update.callback_query?.message ?? update.my_chat_member;
  return message?.chat?.id ?? `update ${update.update_id}`;
}
