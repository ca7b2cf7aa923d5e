import { describe, expect, it } from 'vitest';
import { ModelError } from '../src/core/errors.js';
import { createLogger, type LoggerOptions } from '../src/logger.js';

function logInto(options: LoggerOptions = {}) {
  const lines: string[] = [];
  return { lines, logger: createLogger({ ...options, write: (line) => lines.push(line) }) };
}

describe('createLogger', () => {
  it('writes one JSON object per line with level, time and fields', () => {
    const { lines, logger } = logInto();
    logger.child({ conversation: 'web:a' }).info({ round: 2 }, 'round started');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'info',
      msg: 'round started',
      conversation: 'web:a',
      round: 2,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
  });

  it('leaves out what is below the level', () => {
    const { lines, logger } = logInto({ level: 'warn' });
    logger.info({}, 'no');
    logger.warn({}, 'yes');
    expect(lines).toHaveLength(1);
  });

  it('writes short lines for people, with hint and stack of an error', () => {
    const { lines, logger } = logInto({ format: 'lines' });
    logger.info({ port: 1, name: 'two words' }, 'listening');
    logger.error({ error: new ModelError('no answer', { kind: 'stalled', model: 'm', hint: 'try again' }) }, 'failed');
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}listening {2}port=1 {2}name="two words"\n$/);
    expect(lines[1]).toMatch(/ERROR failed\n.*ModelError: no answer\n.*at .*logger\.test\.ts[\s\S]*hint: try again\n$/);
  });

  it('keeps untrusted text on its own line', () => {
    const { lines, logger } = logInto({ format: 'lines' });
    logger.info({ text: 'a\nb\u001b[2Jc' }, 'one\ntwo\u001b[31m');
    expect(lines[0]?.trimEnd().split('\n')).toHaveLength(1);
    expect(lines[0]).not.toContain('\u001b');
  });

  it('removes fields that hold secrets by name, also nested', () => {
    const { lines, logger } = logInto();
    logger.info({ token: 'abc-1', a: { apiKey: 'abc-2', b: { password: 'abc-3' } } }, 'x');
    expect(lines[0]).not.toContain('abc-');
  });

  it.each(['json', 'lines'] as const)('removes a registered secret wherever it stands (%s)', (format) => {
    const { lines, logger } = logInto({ format });
    const secret = 'pa"ss/word';
    logger.registerSecret(secret);
    logger.warn(
      { url: `https://h/${encodeURIComponent(secret)}`, error: new Error(`bad ${secret}`) },
      `sent ${secret}`,
    );
    expect(lines[0]?.match(/\[secret\]/g)?.length).toBeGreaterThanOrEqual(3);
    expect(lines[0]).not.toMatch(/ss(\/|%2F)word/);
    expect(logger.redact(`x ${secret}`)).toBe('x [secret]');
  });

  it('does not blank out ordinary words for the sake of a short value', () => {
    const { lines, logger } = logInto();
    logger.registerSecret('true');
    logger.info({ ok: true }, 'fine');
    expect(lines[0]).toContain('"ok":true');
  });
});
