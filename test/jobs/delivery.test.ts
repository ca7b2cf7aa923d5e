import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError, type PlatformErrorKind } from '../../src/core/errors.js';
import { createPlatformAdapter } from '../fakes/platform/adapter.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { asked, createReader, historyOf, isSettled, type Reader, type ReaderOptions } from './reader-fixture.js';

const HOUR = 3_600_000;

describe('the delivery of final texts', () => {
  let server: PlatformServer;
  beforeAll(async () => {
    server = await startPlatformServer();
  });
  afterAll(() => server.close());

  /** A reader whose platform answers posts with `faults`, one each, before it works again. */
  function failing(faults: (PlatformErrorKind | undefined)[], options: ReaderOptions = {}): Reader {
    return createReader(server, {
      ...options,
      adapter: (base) => ({
        async post(place, rendered, opts) {
          const kind = faults.shift();
          if (kind) {
            throw new PlatformError('no', { kind, retryAfterMs: kind === 'rate_limited' ? HOUR : undefined });
          }
          return base.post(place, rendered, opts);
        },
      }),
    });
  }

  const wakeIn = async (reader: Reader) => ((await reader.store.summary(reader.key))?.wakeAt ?? 0) - Date.now();

  it('waits as long as the platform asks for and begins nothing newer', async () => {
    const reader = failing(['rate_limited'], { script: [{ text: 'One.' }, { text: 'Two.' }] });
    await reader.say('first');
    await reader.run();
    expect((await reader.store.summary(reader.key))?.busy).toBe(false);
    expect(await wakeIn(reader)).toBeGreaterThan(HOUR - 10_000);
    expect(await wakeIn(reader)).toBeLessThanOrEqual(HOUR);
    await reader.say('second');
    await reader.run();
    expect(reader.model.requests).toHaveLength(1);
    expect(reader.shown()).toEqual([]);
    reader.advance(HOUR + 1);
    await reader.run();
    expect(reader.shown()).toEqual(['One.', 'Two.']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('backs off further with each temporary failure, then delivers', async () => {
    const reader = failing(['temporary', 'temporary', 'temporary']);
    await reader.say('first');
    await reader.run();
    const waits = [await wakeIn(reader)];
    let moved = 0;
    for (const wait of [2_001, 4_001]) {
      reader.advance(wait);
      moved += wait;
      await reader.run();
      waits.push((await wakeIn(reader)) - moved);
    }
    // Room below for the time the steps themselves take.
    for (const [i, longest] of [2_000, 4_000, 8_000].entries()) {
      expect(waits[i]).toBeLessThanOrEqual(longest);
      expect(waits[i]).toBeGreaterThan(longest - 1_500);
    }
    reader.advance(8_001);
    await reader.run();
    expect(reader.shown()).toEqual(['Hello.']);
    expect(reader.state().hold).toBeNull();
    expect(await isSettled(reader)).toBe(true);
  });

  it('gives up a text the platform refuses for good, but keeps it in the history', async () => {
    const reader = failing(['refused'], { script: [{ text: 'One.' }, { text: 'Two.' }] });
    await reader.say('first');
    await reader.run();
    expect(reader.shown()).toEqual([]);
    expect(reader.metrics.counts.get('undeliverable')).toBe(1);
    expect(historyOf(reader)).toEqual(['user: first', 'assistant: One.']);
    expect(await isSettled(reader)).toBe(true);
    await reader.say('second');
    await reader.run();
    expect(asked(reader, 1)).toEqual(['first', 'second']);
    expect(reader.shown()).toEqual(['Two.']);
  });

  it('sends plain words where the platform rejects the rendering', async () => {
    const reader = failing(['invalid'], { script: [{ text: '**bold** words' }] });
    await reader.say('first');
    await reader.run();
    expect(reader.shown()).toEqual(['\\*\\*bold\\*\\* words']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('posts anew when the message was deleted meanwhile', async () => {
    const text = 'An answer that is shown while it is written';
    const reader: Reader = createReader(server, {
      script: [
        {
          text,
          meanwhile: async () => {
            await reader.until(() => reader.shown()[0] === text);
            const message = server.messages.find((m) => m.text === text && !m.removed);
            if (message) message.removed = true;
          },
          finishReason: 'length',
        },
      ],
    });
    await reader.say('first');
    await reader.run();
    expect(reader.shown()).toEqual([expect.stringContaining(`${text}\n\n`)]);
  });

  it('shows an answer past the limit in several messages, each within it', async () => {
    const words = Array.from({ length: 120 }, (_, i) => `w${i + 1}`);
    const reader = createReader(server, { pageLength: 100, script: [{ text: words.join(' ') }] });
    await reader.say('first');
    await reader.run();
    expect(reader.shown().length).toBeGreaterThan(4);
    expect(Math.max(...reader.shown().map((text) => text.length))).toBeLessThanOrEqual(100);
    expect(reader.shown().flatMap((text) => text.match(/w\d+/g) ?? [])).toEqual(words);
  });

  it('removes pages that the final text no longer fills', async () => {
    const words = Array.from({ length: 60 }, (_, i) => `w${i + 1}`).join(' ');
    const reader: Reader = createReader(server, {
      pageLength: 100,
      script: [
        {
          text: words,
          meanwhile: async () => {
            await reader.until(() => reader.shown().length >= 2, 'two pages');
            await reader.store.claim(reader.key);
          },
        },
        { text: 'Short after all.' },
      ],
    });
    await reader.say('first');
    await reader.run();
    expect(reader.shown().length).toBeGreaterThanOrEqual(2);
    await reader.run();
    expect(reader.shown()).toEqual(['Short after all.']);
    expect(await isSettled(reader)).toBe(true);
  });

  it('ends a long run with a short notifying reply to the asker where edits are silent', async () => {
    for (const [silentEdits, milliseconds, notes] of [
      [true, 61_000, ['Done, the answer is above.']],
      [true, 30_000, []],
      [false, 61_000, []],
    ] as const) {
      const replies: (string | undefined)[] = [];
      const reader: Reader = createReader(server, {
        adapter: (base) => ({
          silentEdits,
          post(place, rendered, options) {
            replies.push(place.replyTo);
            return base.post(place, rendered, options);
          },
        }),
        script: [{ text: 'Slow.', meanwhile: () => reader.advance(milliseconds) }],
      });
      const asking = await reader.say('first');
      await reader.run();
      expect(reader.shown()).toEqual(['Slow.', ...notes]);
      expect(replies).toEqual([undefined, ...notes.map(() => asking)]);
    }
  });

  it('repairs or removes what a superseded worker left, also where the platform refuses', async () => {
    for (const refused of [false, true]) {
      const reader = createReader(server, {
        adapter: (base) => ({
          async remove(place, id) {
            if (refused) throw new PlatformError('no rights', { kind: 'refused' });
            return base.remove(place, id);
          },
        }),
        script: [{ text: 'One.' }, { text: 'Two.' }],
      });
      const { place } = reader.base();
      await reader.say('first');
      await reader.run();
      const late = await createPlatformAdapter({ url: server.url, mode: 'lookup' }).post(
        place,
        { payload: 'left behind', length: 11, digest: 'x' },
        { nonce: `late-${refused}` },
      );
      await reader.accept({ v: 1, kind: 'stray', dedupe: 's1', slot: 'a1.0', messageId: late });
      await reader.say('second');
      await reader.run();
      expect(reader.shown()).toEqual(refused ? ['One.', 'left behind', 'Two.'] : ['One.', 'Two.']);
      expect(await isSettled(reader)).toBe(true);
    }
  });
});
