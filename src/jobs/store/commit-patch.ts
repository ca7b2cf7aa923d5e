import type { ConversationKey } from '../../core/chat/message.js';
import type { Commit, RunMark } from '../../core/ports/store.js';
import { storedId, storedMs } from './identifiers.js';

/**
 * A commit without its state as the stores' functions read it: JSON with every list there and no null. Bodies are JSON
 * text inside it, so that no store looks into them.
 */
export function commitPatch(key: ConversationKey, commit: Commit): string {
  const { run, wakeAt } = commit;
  return JSON.stringify({
    ack: commit.ack ?? [],
    delivered: commit.delivered ?? [],
    outbox: (commit.outbox ?? []).map((body) => JSON.stringify(body ?? null)),
    open: (commit.openChoices ?? []).map((choice) => ({
      id: storedId(choice.id),
      allowed: choice.allowed.map(storedId),
      till: storedMs(choice.till),
    })),
    close: (commit.closeChoices ?? []).map(storedId),
    knowsTaken: commit.knowsTaken ?? false,
    stopUpTo: commit.stopUpTo ?? 0,
    // Without a mark the run is forgotten; 'none' clears the wake-up; absent leaves either as it is.
    run: run === null ? {} : run && runFields(run),
    wakeAt: wakeAt === null ? 'none' : wakeAt && storedMs(wakeAt),
    usage: (commit.usage ?? []).map((entry) => ({ at: entry.at, text: JSON.stringify({ ...entry, key }) })),
    forget: (commit.forgetLive ?? []).map(storedId),
  });
}

function runFields(run: RunMark): object {
  return {
    mark: JSON.stringify(run),
    id: storedId(run.id),
    phase: run.phase,
    allowed: run.allowed.map(storedId),
    updatedAt: storedMs(run.updatedAt),
  };
}
