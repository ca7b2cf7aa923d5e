import { describe, expect, it } from 'vitest';
import { queryTermsOf, termsOf } from '../../../src/core/knowledge/terms.js';

describe('search terms', () => {
  it.each([
    [
      'forms of an English word',
      'Databases database, stopped stopping stops STOP',
      ['databas', 'databas', ...Array(4).fill('stop')],
    ],
    ['plurals', 'policies boxes classes keys status this', ['policy', 'box', 'class', 'key', 'status', 'this']],
    ['short and irregular words', 'string speed need using', ['string', 'speed', 'need', 'using']],
    ['identifiers', 'current_time maxTokens v2 4012', ['current', 'time', 'maxtoken', 'max', 'token', 'v2', '4012']],
    ['full-width letters', 'ＡＰＩ', ['api']],
    ['other alphabets', 'Настройка Größe', ['настройка', 'größe']],
    ['nothing', ' …!? \n', []],
  ])('of %s', (_, text, terms) => {
    expect(termsOf(text)).toEqual(terms);
  });

  it('of Chinese are the words of a dictionary and every pair of characters', () => {
    expect(termsOf('启动数据库')).toEqual(expect.arrayContaining(['启动', '数据', '动数', '据库']));
    expect(termsOf('猫')).toEqual(['猫']);
  });

  it('of mixed scripts are kept apart', () => {
    expect(termsOf('用GPT5模型')).toEqual(['用', 'gpt5', '模型', '模型']);
  });

  it('of Japanese, Korean and Thai are found without blanks', () => {
    expect(termsOf('東京都に住む')).toContain('東京');
    expect(termsOf('안녕하세요')).toContain('안녕');
    expect(termsOf('สวัสดีชาวโลก')).toContain('โลก');
  });

  it('leave out encoded data', () => {
    expect(termsOf(`a ${'x1'.repeat(40)} b`)).toEqual(['a', 'b']);
  });
});

describe('terms of a question', () => {
  it('are each there once, without what stands everywhere', () => {
    expect(queryTermsOf('What is the price of the price list?')).toEqual(['pric', 'list']);
    expect(queryTermsOf('请问什么是引用')).toEqual(expect.arrayContaining(['引用']));
    expect(queryTermsOf('请问什么是引用')).not.toContain('什么');
    expect(queryTermsOf('Hello, how are you? 谢谢')).toEqual([]);
  });

  it('of a long text are the 64 longest', () => {
    const text = Array.from({ length: 500 }, (_, at) => `word${'x'.repeat(at % 20)}${at}`).join(' ');
    const terms = queryTermsOf(text);
    expect(terms).toHaveLength(64);
    expect(Math.min(...terms.map(({ length }) => length))).toBeGreaterThan(20);
  });
});
