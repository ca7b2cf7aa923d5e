import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Deployment } from '../../src/jobs/deployment.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { everyWord, sweep, wordsIn } from './faulty-conversation.js';
import { describeOnTargets, open, type Target } from './targets.js';

/** As in take-over.test.ts, which uses the store in memory: the fault strikes at each step of a run. */
describeOnTargets('a run whose process is lost', (make) => {
  let target: Target;
  let server: PlatformServer;
  let deployment: Deployment;
  beforeAll(async () => {
    server = await startPlatformServer();
    target = await make();
    deployment = await open(target);
  });
  afterAll(async () => {
    await deployment.close();
    await target.remove();
    await server.close();
  });

  for (const fault of ['kill', 'pause'] as const) {
    it(`is continued in the same messages after a ${fault} between store and platform`, {
      timeout: 240_000,
    }, async () => {
      const store = deployment.store.conversations;
      const outcomes = await sweep({ server, mode: 'lookup', store, name: fault }, fault);
      const struck = outcomes.filter(({ fired }) => fired !== undefined);
      expect(struck.length).toBeGreaterThan(40);
      for (const outcome of outcomes) {
        expect(outcome.answered, `${fault} at ${outcome.fired}`).toEqual(['#1', '#2']);
        expect(wordsIn(outcome.visible), `${fault} at ${outcome.fired}`).toEqual(everyWord);
      }
    });
  }
});
