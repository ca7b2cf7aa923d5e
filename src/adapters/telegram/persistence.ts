import type { AdapterHealth } from '../../core/chat/adapter.js';
import { PlatformError, ThreadloopError, toError } from '../../core/errors.js';
import type { Logger } from '../../core/ports/logger.js';
import { refusalOf } from './api.js';
import { pause } from './lease.js';

export const STORE_HINT = 'look at the store: its own line in /readyz says what is wrong';

/** The store said no to an update: it must not be confirmed to Telegram. */
export class IntakeError extends Error {}

export interface PersistOptions {
  /** Told after every try. */
  readonly onHealth: (health: AdapterHealth) => void;
  readonly logger: Logger;
  readonly backoffMs: { readonly least: number; readonly most: number };
}

/**
 * Repeats `step` until it is `done` or the signal is aborted; after a failure with a growing pause. Its argument is
 * the failure just before, undefined after a success. Throws only PlatformError `unauthorized`: no repetition mends a wrong token.
 */
export async function persist(
  { onHealth, logger, backoffMs }: PersistOptions,
  signal: AbortSignal,
  step: (failure: unknown) => Promise<'again' | 'done'>,
): Promise<void> {
  let failures = 0;
  let failure: unknown;
  while (!signal.aborted) {
    try {
      const next = await step(failure);
      if (failures > 0) logger.info({ failures }, 'telegram: works again');
      failures = 0;
      failure = undefined;
      onHealth({ ready: true });
      if (next === 'done') return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof PlatformError && error.kind === 'unauthorized') throw error;
      failures += 1;
      failure = error;
      const health = describe(error);
      onHealth(health);
      const fields = { ...health, failures, err: toError(error) };
      if (failures === 1) logger.warn(fields, 'telegram: not connected, trying again');
      else logger.debug(fields, 'telegram: still not connected');
      await pause(delay(failures, error, backoffMs), signal);
    }
  }
}

/** Somebody else polls with this token, or a webhook is set. */
export function isConflict(failure: unknown): boolean {
  return refusalOf(failure)?.status === 409;
}

function delay(failures: number, error: unknown, { least, most }: PersistOptions['backoffMs']): number {
  const asked = error instanceof PlatformError ? (error.retryAfterMs ?? 0) : 0;
  const grown = Math.min(least * 2 ** (failures - 1), most);
  // Jitter, so that gateways which lost the same network do not come back in step.
  return Math.max(asked, grown * (0.75 + Math.random() / 2));
}

function describe(error: unknown): AdapterHealth {
  if (error instanceof IntakeError) {
    return {
      ready: false,
      reason: 'messages cannot be stored; Telegram keeps them until they can',
      hint: STORE_HINT,
    };
  }
  const refusal = refusalOf(error);
  if (refusal?.status === 409 && refusal.description.includes('webhook')) {
    return {
      ready: false,
      reason: 'a webhook is set for this bot, so it cannot be polled (409)',
      hint: 'stop whatever set the webhook and restart, or use adapters.telegram.mode: webhook',
    };
  }
  if (refusal?.status === 409) {
    return {
      ready: false,
      reason: 'another program polls with the same bot token (409)',
      hint: 'stop the other program, or make a second bot with @BotFather and use its token here',
    };
  }
  const { message } = toError(error);
  const hint = error instanceof ThreadloopError ? error.hint : undefined;
  return { ready: false, reason: message, ...(hint !== undefined && { hint }) };
}
