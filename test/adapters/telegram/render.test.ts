import type { MessageEntity } from 'grammy/types';
import { describe, expect, it } from 'vitest';
import { TELEGRAM_LIMITS } from '../../../src/adapters/telegram/limits.js';
import { renderTelegram, type TelegramPayload } from '../../../src/adapters/telegram/render.js';
import type { Button, MessageBody } from '../../../src/core/chat/adapter.js';
import { paginate } from '../../../src/core/chat/split.js';
import { displayWidth } from '../../../src/core/chat/text-table.js';
import { PlatformError } from '../../../src/core/errors.js';
import { SNIPPETS, STRESS } from '../../fakes/nasty-markdown.js';
import { createRandom } from '../../fakes/random.js';
import { randomMarkdown } from '../../fakes/random-markdown.js';
import { formattedText, foundEntities } from '../../fakes/telegram/formatted-text.js';

const FENCE = '```';

function payloadOf(markdown: string, body: Partial<MessageBody> = {}): TelegramPayload {
  return renderTelegram({ state: 'final', markdown, ...body }).payload;
}

/** Entities with the text they cover, as `type: text`. */
function formats(markdown: string): string[] {
  const { text, entities } = payloadOf(markdown);
  return entities.map((entity) => `${entity.type}: ${coveredBy(text, entity)}`);
}

function coveredBy(text: string, { offset, length }: MessageEntity): string {
  return text.slice(offset, offset + length);
}

/** What the Bot API accepts, without anything it would repair, and what we promise on top. */
function check({ text, entities }: TelegramPayload): void {
  // Telegram turns a tab into a space.
  const accepted = formattedText(text.replaceAll('\t', ' '), entities);
  expect(accepted.text.replace(/\s/g, '')).toBe(text.replace(/\s/g, ''));
  expect(entities.length).toBeLessThanOrEqual(TELEGRAM_LIMITS.entities);
  for (const entity of entities) {
    const covered = coveredBy(text, entity);
    if (entity.type === 'pre') expect(covered).toMatch(/^.*\S/);
    else expect(covered).toBe(covered.trim());
    if (entity.type === 'text_link') expect(entity.url).toMatch(/^https?:\/\/\S+$/);
  }
}

/** Mentions Telegram would find outside code. */
function mentions({ text, entities }: TelegramPayload): string[] {
  const inCode = (at: number): boolean =>
    entities.some(
      ({ type, offset, length }) => (type === 'code' || type === 'pre') && offset <= at && at < offset + length,
    );
  return foundEntities(text.replace(/https?:\S+/g, ''))
    .filter(({ type, offset }) => type === 'mention' && !inCode(offset))
    .map((entity) => coveredBy(text, entity));
}

describe('a rendered text', () => {
  it.each(Object.entries(SNIPPETS))('is accepted for every prefix of %s, final and streaming', (_, snippet) => {
    for (let end = 0; end <= snippet.length; end++) {
      check(payloadOf(snippet.slice(0, end)));
      check(payloadOf(snippet.slice(0, end), { state: 'streaming' }));
    }
  });

  it.each(Object.entries(STRESS))('is accepted for %s', (_, make) => {
    check(payloadOf(make(3_000)));
    check(payloadOf(make(3_000), { state: 'streaming' }));
  });

  it('is accepted for all pages of random markdown', () => {
    const random = createRandom(7);
    for (let round = 0; round < 40; round++) {
      const source = randomMarkdown(random, 12);
      const limit = random.pick([300, 900, TELEGRAM_LIMITS.page]);
      const pages = paginate(source, (markdown) => renderTelegram({ state: 'final', markdown }).length <= limit);
      let words = '';
      for (const page of pages) {
        const { payload, length } = renderTelegram({ state: 'final', markdown: page });
        check(payload);
        expect(length).toBe(payload.text.length);
        expect(length).toBeLessThanOrEqual(limit);
        words += ` ${payload.text}`;
      }
      const numbers = Array.from(words.matchAll(/\bw(\d+)/g), ([, number]) => Number(number));
      expect(numbers).toEqual(Array.from(numbers, (_, index) => index));
      expect(numbers.length).toBe(source.match(/\bw\d+/g)?.length);
    }
  });

  it('can be far longer than the limit, which the caller is told', () => {
    expect(renderTelegram({ state: 'final', markdown: '**b** '.repeat(50_000) }).length).toBe(99_999);
    expect(renderTelegram({ state: 'final', markdown: '- a\n'.repeat(50_000) }).length).toBe(199_999);
  });

  it('is never empty', () => {
    for (const markdown of ['', ' \n ', '\u200b\u2060', '&nbsp;', '```\n```', '- ', '#']) {
      expect(payloadOf(markdown).text.trim()).not.toBe('');
    }
    expect(payloadOf('')).toEqual({ text: '…', entities: [] });
  });
});

describe('formats', () => {
  it('are entities of their words', () => {
    expect(formats('a **b** *c* ~~d~~ `e` [f](http://g.h)')).toEqual([
      'bold: b',
      'italic: c',
      'strikethrough: d',
      'code: e',
      'text_link: f',
    ]);
  });

  it('nest, but let nothing overlap code', () => {
    expect(formats('**a *b* `c` d**')).toEqual(['bold: a b', 'italic: b', 'code: c', 'bold: d']);
    expect(formats('[a `b` c](http://d.e)')).toEqual(['text_link: a b c']);
    expect(formats('## T **b** `c`')).toEqual(['bold: T b', 'code: c']);
  });

  it('make one quote of nested quotes, interrupted by code', () => {
    expect(formats('> a\n> > b **c**')).toEqual(['blockquote: a\n\nb c', 'bold: c']);
    expect(formats(`> a\n> ${FENCE}\n> code\n> ${FENCE}\n> b`)).toEqual([
      'blockquote: a',
      'pre: code',
      'blockquote: b',
    ]);
  });

  it('tell the language of code', () => {
    expect(payloadOf(`${FENCE}ts\nlet a;\n${FENCE}`).entities).toEqual([
      { type: 'pre', language: 'ts', offset: 0, length: 6 },
    ]);
  });

  it('link http and https; an address of mail is written out', () => {
    const { text, entities } = payloadOf(SNIPPETS.evilLinks);
    expect(text).toContain('[click](javascript:alert(1)) [t](tg://user?id=1)');
    expect(entities).toMatchObject([{ type: 'text_link', url: "http://a.b/%7Cx%3Ey%22'%3Cz" }]);
    expect(payloadOf('[mail](mailto:a@b.co) or <a@b.co>')).toEqual({ text: 'mail (a@b.co) or a@b.co', entities: [] });
  });

  it('leave bare addresses to Telegram', () => {
    expect(payloadOf('see https://a.b/@c.')).toEqual({ text: 'see https://a.b/@c.', entities: [] });
  });

  it('beyond the limit are dropped by importance: links stay', () => {
    const markdown = `${'*i* '.repeat(90)}${'**b** '.repeat(20)}${'[l](http://x.y) '.repeat(40)}`;
    const { entities } = payloadOf(markdown);
    const count = (type: string): number => entities.filter((entity) => entity.type === type).length;
    expect([entities.length, count('text_link'), count('bold'), count('italic')]).toEqual([100, 40, 20, 40]);
  });
});

describe('blocks', () => {
  it('show lists with bullets, numbers and boxes', () => {
    expect(payloadOf('- a\n  - b\n    - c\n\n1. d\n2. e\n   more\n\n- [x] f\n- [ ] g').text).toBe(
      '• a\n  ◦ b\n    ▪ c\n\n1. d\n2. e\n  more\n\n☑ f\n☐ g',
    );
  });

  it('show a table as aligned text, Chinese characters two columns wide', () => {
    const { text, entities } = payloadOf('| 名称 | N |\n|---|--:|\n| 甲 | 1 |\n| long | 200 |');
    expect(text.split('\n')).toEqual(['名称 │   N', '─────┼────', '甲   │   1', 'long │ 200']);
    expect(new Set(text.split('\n').map(displayWidth))).toEqual(new Set([10]));
    expect(entities).toEqual([{ type: 'pre', offset: 0, length: text.length }]);
  });

  it('do not multiply one long cell by the number of rows', () => {
    const table = `| a | b |\n|---|---|\n| ${'x'.repeat(2_000)} | y |\n${'| 1 | 2 |\n'.repeat(100)}`;
    expect(payloadOf(table).text.length).toBeLessThan(7_000);
  });

  it('show a rule as a line and headings apart from their text', () => {
    expect(payloadOf('# A\nb\n\n---\n\nc').text).toBe('A\n\nb\n\n──────────\n\nc');
  });
});

describe('mentions', () => {
  it('reach nobody, wherever they are written', () => {
    const parts = { status: ['asking @durov'], footer: '@durov', reasoning: 'as @durov said' };
    expect(mentions(payloadOf(`${SNIPPETS.mentions} @durov`, parts))).toEqual([]);
    expect(mentions(payloadOf('**@**durov *@*`durov` [@](http://x.y)durov'))).toEqual([]);
  });

  it('stay as written in code and in mail addresses', () => {
    expect(payloadOf('`@durov` a@b.co').text).toBe('@durov a@b.co');
  });

  it('do not change commands', () => {
    expect(payloadOf('/start').text).toBe('/start');
  });
});

describe('a body', () => {
  it('is status, folded reasoning, answer and footer below each other', () => {
    const { text, entities } = payloadOf('the **answer**', {
      status: ['searching\nnow', 'reading'],
      reasoning: 'hm',
      footer: '3 s',
    });
    expect(text).toBe('searching now\nreading\n\nhm\n\nthe answer\n\n3 s');
    expect(entities.map((entity) => `${entity.type}: ${coveredBy(text, entity)}`)).toEqual([
      'expandable_blockquote: hm',
      'bold: answer',
      'italic: 3 s',
    ]);
  });

  it('heals an answer that is still growing or was stopped', () => {
    for (const state of ['streaming', 'stopped', 'error'] as const) {
      expect(payloadOf('a **b', { state }).entities).toEqual([{ type: 'bold', offset: 2, length: 1 }]);
    }
    expect(payloadOf('a **b', { state: 'final' }).text).toBe('a **b');
  });

  it('stays within the limit by cutting reasoning and status, never the answer', () => {
    const answer = 'word '.repeat(TELEGRAM_LIMITS.page / 5).trim();
    const { payload, length } = renderTelegram({
      state: 'streaming',
      markdown: answer,
      status: Array.from({ length: 30 }, (_, index) => `step ${index} of @someone ${'x'.repeat(300)}`),
      reasoning: '👍 thought '.repeat(2_000),
      footer: 'f '.repeat(300),
    });
    expect(length).toBeLessThanOrEqual(TELEGRAM_LIMITS.text);
    expect(payload.text).toContain(answer);
    check(payload);
    const short = payloadOf('answer', { status: ['last step'], reasoning: '👍 thought '.repeat(2_000) });
    expect(short.text).toMatch(/^last step\n\n….* thought\n\nanswer$/u);
    check(short);
  });

  describe('with a plan', () => {
    const steps = ['done', 'skipped', 'in_progress', 'pending', 'blocked'] as const;
    const plan = {
      title: 'Compare **three** things',
      steps: steps.map((status, index) => ({ title: `step ${index} of @durov`, status })),
      hidden: 2,
    };
    const lines = (text: string): string[] => text.replaceAll('\u2060', '').split('\n');
    const checklist = [
      ...['Compare **three** things', '☑ step 0 of @durov', '⊘ step 1 of @durov', '▶ step 2 of @durov'],
      ...['☐ step 3 of @durov', '⚠ step 4 of @durov', '… +2'],
    ];

    it('shows it above everything else, as it is written, and folds it when it grows no more', () => {
      const streaming = payloadOf('the answer', { state: 'streaming', plan, status: ['reading'], footer: 'f' });
      expect(lines(streaming.text)).toEqual([...checklist, '', 'reading', '', 'the answer', '', 'f']);
      expect(streaming.entities.map(({ type }) => type)).toEqual(['italic']);
      expect(mentions(streaming)).toEqual([]);
      check(streaming);
      for (const state of ['final', 'stopped', 'error'] as const) {
        const { text, entities } = payloadOf('the answer', { state, plan });
        expect(lines(text)).toEqual([...checklist, '', 'the answer']);
        expect(entities.map((entity) => [entity.type, lines(coveredBy(text, entity))])).toEqual([
          ['expandable_blockquote', checklist],
        ]);
      }
      expect(lines(payloadOf('', { plan }).text)).toEqual(checklist);
    });

    it('gives way after the reasoning and before status and footer, down to one line that stays', () => {
      const room = (length: number) => 'w'.repeat(TELEGRAM_LIMITS.text - length);
      const body = {
        state: 'streaming',
        plan,
        status: ['reading'],
        reasoning: '👍 thought '.repeat(2_000),
        footer: 'f',
      };
      const shown = (markdown: string) => {
        const payload = payloadOf(markdown, body as Partial<MessageBody>);
        check(payload);
        expect(payload.text.length).toBeLessThanOrEqual(TELEGRAM_LIMITS.text);
        expect(payload.text).toContain(markdown);
        return lines(payload.text.replace(markdown, 'ANSWER'));
      };
      const summary = '▶ 2/5 +2 step 2 of @durov';
      expect(shown(room(900))).toContain('▶ step 2 of @durov');
      expect(shown(room(900)).join()).toContain('thought');
      expect(shown(room(148))).toEqual([...checklist, '', 'reading', '', 'ANSWER', '', 'f']);
      expect(shown(room(45))).toEqual([summary, '', 'reading', '', 'ANSWER', '', 'f']);
      expect(shown(room(32))).toEqual([summary, '', 'ANSWER', '', 'f']);
      expect(shown(room(29))).toEqual([summary, '', 'ANSWER']);
    });

    it('keeps the one line beside the longest page', () => {
      const page = 'word '.repeat(TELEGRAM_LIMITS.page / 5).trim();
      const long = { ...plan, steps: plan.steps.map((step) => ({ ...step, title: `@${step.title} `.repeat(300) })) };
      const payload = payloadOf(page, { state: 'streaming', plan: long, footer: 'f '.repeat(300) });
      expect(payload.text.length).toBeLessThanOrEqual(TELEGRAM_LIMITS.text);
      expect(payload.text).toContain(page);
      expect(lines(payload.text)[0]).toMatch(/^▶ 2\/5 \+2 @step 2 .*…$/);
      check(payload);
    });

    it('is bounded in lines and their length, whatever a model calls its steps', () => {
      const many = Array.from({ length: 60 }, () => ({
        title: `a\nb ${'x'.repeat(5_000)}`,
        status: 'pending' as const,
      }));
      const { text } = payloadOf('a', { state: 'streaming', plan: { title: '', steps: many, hidden: 1 } });
      expect(lines(text).slice(19, 23)).toEqual([expect.stringMatching(/^☐ a b x{95}…$/), '… +41', '', 'a']);
    });
  });

  it('has an equal digest exactly when the payload is equal', () => {
    const digest = (body: Partial<MessageBody>): string =>
      renderTelegram({ state: 'final', markdown: 'a', ...body }).digest;
    expect(digest({})).toBe(digest({ state: 'streaming' }));
    expect(digest({ markdown: '**a**' })).not.toBe(digest({}));
    expect(digest({ buttons: [{ id: 'x.y', label: 'l' }] })).not.toBe(digest({}));
  });
});

describe('buttons', () => {
  const keyboard = (...buttons: Button[]) => payloadOf('a', { buttons }).reply_markup?.inline_keyboard;
  const labelled = (...labels: string[]) =>
    keyboard(...labels.map((label, index) => ({ id: `c.${index}`, label })))?.map((row) => row.map(({ text }) => text));

  it('carry their id and style', () => {
    expect(keyboard({ id: 'c.0', label: 'Stop', style: 'danger' })).toEqual([
      [{ text: 'Stop', callback_data: 'c.0', style: 'danger' }],
    ]);
    expect(payloadOf('a')).not.toHaveProperty('reply_markup');
  });

  it('stand up to three in a row when short, alone when long', () => {
    expect(labelled('Yes', 'No', 'Maybe', 'Later', 'a rather long label', '中文按钮', 'No')).toEqual([
      ['Yes', 'No', 'Maybe'],
      ['Later'],
      ['a rather long label'],
      ['中文按钮', 'No'],
    ]);
  });

  it('have labels of bounded length that are never empty', () => {
    const [[long = ''] = [], [blank = ''] = []] = labelled('👨‍👩‍👧‍👦'.repeat(60), '\n \u0000') ?? [];
    expect(long).toBe(`${'👨‍👩‍👧‍👦'.repeat(39)}…`);
    expect(blank).toBe('·');
  });

  it('are refused when the id does not fit', () => {
    expect(keyboard({ id: 'x'.repeat(64), label: 'a' })).toBeDefined();
    expect(() => keyboard({ id: '中'.repeat(22), label: 'a' })).toThrow(PlatformError);
  });
});
