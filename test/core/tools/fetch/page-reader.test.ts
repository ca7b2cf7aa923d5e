import { describe, expect, it } from 'vitest';
import { AbortedError } from '../../../../src/core/errors.js';
import { createPageReader } from '../../../../src/core/tools/fetch/page-reader.js';

const url = 'https://site.example/';
const never = new AbortController().signal;
/** Takes the parser minutes. */
const endless = '<div>'.repeat(400_000);

describe('the reader of pages', () => {
  it('reads several at a time, one after the other in the same threads', async () => {
    const reader = createPageReader();
    const pages = await Promise.all(
      Array.from({ length: 6 }, (_, at) => reader.read({ html: `<title>${at}</title>text ${at}`, url }, never)),
    );
    expect(pages.map(({ title, text }) => [title, text])).toEqual(
      Array.from({ length: 6 }, (_, at) => [`${at}`, `text ${at}`]),
    );
  });

  it('gives up a page that takes too long, and reads the next one', async () => {
    const reader = createPageReader({ limitMs: 1_500 });
    await reader.read({ html: 'warm', url }, never);
    const hostile = Array.from({ length: 2 }, () => reader.read({ html: endless, url }, never));
    const waiting = reader.read({ html: 'fine', url }, never);
    for (const page of hostile) {
      await expect(page).rejects.toMatchObject({
        code: 'web_fetch_failed',
        message: expect.stringContaining('complex'),
      });
    }
    expect((await waiting).text).toBe('fine');
  }, 60_000);

  it('stops at once when its signal says so, while it reads and while it waits', async () => {
    const reader = createPageReader();
    const controllers = Array.from({ length: 3 }, () => new AbortController());
    const pages = controllers.map(({ signal }) => reader.read({ html: endless, url }, signal));
    const began = performance.now();
    for (const controller of controllers) controller.abort();
    for (const page of pages) await expect(page).rejects.toBeInstanceOf(AbortedError);
    expect(performance.now() - began).toBeLessThan(1_000);
    expect((await reader.read({ html: 'fine', url }, never)).text).toBe('fine');
    await expect(reader.read({ html: 'fine', url }, AbortSignal.abort())).rejects.toBeInstanceOf(AbortedError);
  });
});
