import { describe, expect, it } from 'vitest';
import { createTexts } from '../../../src/core/chat/texts/index.js';

const languages = { en: createTexts('en').for(undefined), zh: createTexts('zh').for(undefined) };

describe('createTexts', () => {
  it.each([
    ['auto', undefined, 'en'],
    ['auto', 'de-DE', 'en'],
    ['auto', 'zh', 'zh'],
    ['auto', 'zh-hans', 'zh'],
    ['auto', 'ZH_tw', 'zh'],
    ['auto', 'zhx', 'en'],
    ['en', 'zh', 'en'],
    ['zh', 'en-US', 'zh'],
  ] as const)('with %s speaks to %s in %s', (locale, person, expected) => {
    expect(createTexts(locale).for(person)).toBe(languages[expected]);
  });

  it('has the same keys in both languages, none of them blank', () => {
    expect(Object.keys(languages.zh)).toEqual(Object.keys(languages.en));
    const plain = Object.values(languages).flatMap((table) =>
      Object.values(table).filter((text) => typeof text === 'string'),
    );
    expect(plain.filter((text) => text.trim() === '')).toEqual([]);
  });

  it.each(['en', 'zh'] as const)('lists every command and the queue prefix in the help of %s', (language) => {
    for (const word of ['/stop', '/new', '/status', '/help', 'queue:'])
      expect(languages[language].help).toContain(word);
  });

  it.each(['en', 'zh'] as const)('shows what it is given in %s', (language) => {
    const table = languages[language];
    const shown = [
      [table.notAllowed('telegram:42'), 'telegram:42'],
      [table.tooLong(1234), '1234'],
      [table.stoppedDropped(7), '7'],
      [table.statusRunning(65, 3), '65'],
      [table.usingTool('current_time'), 'current_time'],
      [table.maxIterations(50), '50'],
      [table.modelFailed('fast'), 'fast'],
      [table.modelUnreachable('fast'), 'fast'],
      [table.modelUnauthorized('fast'), 'fast'],
      [table.modelBusy('fast'), 'fast'],
      [table.modelStalled('fast'), 'fast'],
      [table.modelEmpty('fast'), 'fast'],
    ];
    for (const [text, value] of shown) expect(text).toContain(value);
  });

  it('counts a single dropped message in the singular', () => {
    expect(languages.en.stoppedDropped(1)).toMatch(/One message .* was dropped/);
  });
});
