import { describe, expect, it } from 'vitest';
import { currentTime } from '../../../src/core/tools/builtin/current-time.js';

const context = { signal: new AbortController().signal, now: () => Date.UTC(2026, 2, 29, 0, 5, 9) };

describe('current_time', () => {
  it.each([
    ['', '2026-03-29T00:05:09+00:00 (Sunday, UTC)'],
    ['{"timeZone":"Asia/Shanghai"}', '2026-03-29T08:05:09+08:00 (Sunday, Asia/Shanghai)'],
    ['{"timeZone":"America/Los_Angeles"}', '2026-03-28T17:05:09-07:00 (Saturday, America/Los_Angeles)'],
    ['{"timeZone":"Asia/Kolkata"}', '2026-03-29T05:35:09+05:30 (Sunday, Asia/Kolkata)'],
    ['{"timeZone":""}', '2026-03-29T00:05:09+00:00 (Sunday, UTC)'],
    ['{"timeZone":null}', '2026-03-29T00:05:09+00:00 (Sunday, UTC)'],
  ])('for %s says %s', async (json, expected) => {
    expect(await currentTime.run(json, context)).toBe(expected);
  });

  it('names a zone it does not know and what to use instead', async () => {
    await expect(currentTime.run('{"timeZone":"Beijing"}', context)).rejects.toMatchObject({
      code: 'tool_arguments',
      message: expect.stringMatching(/"Beijing".*IANA/),
    });
  });
});
