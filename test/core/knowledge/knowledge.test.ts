import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AbortedError } from '../../../src/core/errors.js';
import { listFolder } from '../../../src/core/knowledge/folder.js';
import {
  checkKnowledge,
  createKnowledge,
  joinKnowledge,
  type KnowledgeOptions,
} from '../../../src/core/knowledge/knowledge.js';
import { renderQuotes } from '../../../src/core/knowledge/quote-text.js';
import { createSearchIndex } from '../../../src/core/knowledge/search-index.js';
import { textTokens } from '../../../src/core/llm/tokens.js';
import { numberedWords } from '../../fakes/model-server.js';
import { createRecordingLogger } from '../../fakes/recording-logger.js';

let folder: string;
let outside: string;
let clock: number;
let logger: ReturnType<typeof createRecordingLogger>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'threadloop-knowledge-'));
  outside = mkdtempSync(join(tmpdir(), 'threadloop-outside-'));
  clock = 0;
  logger = createRecordingLogger();
});

afterEach(() => {
  rmSync(folder, { recursive: true });
  rmSync(outside, { recursive: true });
});

function write(name: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), content);
}

function knowledge(options: Partial<KnowledgeOptions> = {}) {
  return createKnowledge({ name: 'handbook', path: folder, logger, now: () => clock, ...options });
}

const warnings = () =>
  logger.lines
    .filter(({ level }) => level === 'warn')
    .flatMap(({ fields }) => (fields as { problems: string[] }).problems);

describe('a search', () => {
  it('finds the passage with its file and heading', async () => {
    write('people/leave.md', '# Handbook\n## Vacation\nEveryone has 30 days.\n## Sickness\nCall in before nine.');
    write('notes.txt', '# not a heading\nThe canteen opens at noon.');
    const { search } = knowledge();
    expect(await search('How many vacation days do I have?')).toEqual([
      {
        id: 'people/leave.md#1',
        source: 'people/leave.md > Handbook > Vacation',
        text: 'Everyone has 30 days.',
        score: 1,
        index: 1,
      },
    ]);
    expect(await search('canteen')).toMatchObject([
      { source: 'notes.txt', text: expect.stringContaining('# not a heading') },
    ]);
    expect(await search('unicorns')).toEqual([]);
  });

  it.each([
    ['年假有多少天？', '假期'],
    ['报销流程', '报销'],
    ['how is a refund paid', 'Refunds'],
    ['reimbursment', 'Reimbursement'],
    ['reimb', 'Reimbursement'],
    ['有給休暇', '休暇'],
  ])('understands %s', async (question, heading) => {
    write(
      'zh.md',
      '# 假期\n员工每年享有十五天年假。\n# 报销\n请在系统里提交发票，财务会审核报销。\n# 食堂\n中午十二点开门。',
    );
    write(
      'en.md',
      '# Refunds\nRefunded within a week.\n# Reimbursement\nHand in your bill.\n# 休暇\n有給休暇は二十日です。',
    );
    const [best] = await knowledge().search(question);
    expect(best?.source).toContain(heading);
  });

  it('keeps what scores at least the similarity times the best', async () => {
    write(
      'a.md',
      '# Red apples\nred apples and more red apples\n# Cars\nSome cars are red. Others are blue, green, white, black.',
    );
    const all = await knowledge({ similarity: 0 }).search('red apples');
    expect(all.map(({ index }) => index)).toEqual([1, 2]);
    const [best, second] = all;
    expect(best?.score).toBe(1);
    const between = ((second?.score ?? 0) + 1) / 2;
    expect(second?.score).toBeLessThan(0.4);
    expect(await knowledge({ similarity: between }).search('red apples')).toHaveLength(1);
    expect(await knowledge().search('red apples')).toHaveLength(1);
  });

  it('stays within its tokens and cuts the best quote rather than giving none', async () => {
    write('a.md', Array.from({ length: 40 }, (_, at) => `# Part ${at}\ntopic ${numberedWords(150)}`).join('\n'));
    for (const maxTokens of [60, 300, 1_000, 5_000]) {
      const quotes = await knowledge({ maxTokens }).search('topic');
      expect(quotes.length).toBeGreaterThan(0);
      expect(textTokens(renderQuotes(quotes))).toBeLessThanOrEqual(maxTokens);
    }
    expect(await knowledge({ maxTokens: 60 }).search('topic')).toMatchObject([
      { text: expect.stringMatching(/^topic.*…$/) },
    ]);
  });

  it('over several bodies numbers the quotes through', async () => {
    write('a/x.md', 'apples are red');
    write('b/y.md', 'apples are green');
    const part = (name: string) => knowledge({ name, path: join(folder, name) });
    const quotes = await joinKnowledge([part('a'), part('b')]).search('apples');
    expect(quotes.map(({ source, index }) => [source, index])).toEqual([
      ['x.md', 1],
      ['y.md', 2],
    ]);
  });
});

/** Longest time in which no timer had its turn while `work` went on, and all of its time, ms. */
async function pauses(work: () => Promise<unknown>): Promise<{ longest: number; total: number }> {
  const began = performance.now();
  let last = began;
  let longest = 0;
  const tick = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  };
  const timer = setInterval(tick, 1);
  await work();
  clearInterval(timer);
  tick();
  return { longest, total: performance.now() - began };
}

it('a question of many common words lets others go on', async () => {
  const index = createSearchIndex();
  const text = numberedWords(60);
  for (let at = 0; at < 3_000; at += 1) index.add({ id: String(at), file: 'a.md', heading: '', text });
  const { longest, total } = await pauses(() => index.search(text, 0.4));
  expect(longest).toBeLessThan(total / 2);
});

describe('the folder', () => {
  it('is read at the first search, looked at again after ten seconds, and only what changed is read', async () => {
    const { search } = knowledge();
    write('a.md', 'apples');
    write('b.md', 'bananas');
    expect(await search('apples')).toHaveLength(1);
    write('a.md', 'cherries');
    write('c.md', 'dates');
    rmSync(join(folder, 'b.md'));
    clock = 9_999;
    expect(await search('apples')).toHaveLength(1);
    clock = 10_000;
    expect(await search('apples')).toEqual([]);
    expect(await search('bananas')).toEqual([]);
    expect(await search('cherries')).toHaveLength(1);
    expect(await search('dates')).toHaveLength(1);
    clock = 20_000;
    await search('dates');
    const read = logger.lines.filter(({ message }) => message === 'knowledge read');
    expect(read.map(({ fields }) => fields)).toMatchObject([
      { knowledge: 'handbook', files: 2, passages: 2 },
      { files: 2, passages: 2 },
    ]);
  });

  it('is read once for searches at the same time', async () => {
    write('a.md', 'apples');
    const { search } = knowledge();
    const found = await Promise.all(Array.from({ length: 5 }, () => search('apples')));
    expect(found.every(({ length }) => length === 1)).toBe(true);
    expect(logger.lines).toHaveLength(1);
  });

  it('gives nothing from outside, from hidden places, or from files that are no text', async () => {
    writeFileSync(join(outside, 'secret.md'), 'apples');
    mkdirSync(join(outside, 'more'));
    writeFileSync(join(outside, 'more/secret.md'), 'apples');
    symlinkSync(join(outside, 'secret.md'), join(folder, 'link.md'));
    symlinkSync(join(outside, 'more'), join(folder, 'more'));
    symlinkSync(join(folder, 'loop'), join(folder, 'loop'));
    symlinkSync(join(folder, 'nowhere.md'), join(folder, 'dangling.md'));
    for (const name of ['.git/a.md', '.hidden.md', 'node_modules/a.md', 'a.html', 'a']) write(name, 'apples');
    write('binary.md', Buffer.from('apples\0apples'));
    write('latin1.txt', Buffer.from('apples caf\xe9 ', 'latin1'));
    write('big.md', 'apples');
    truncateSync(join(folder, 'big.md'), 2 * 1024 * 1024 + 1);
    expect(await knowledge().search('apples')).toEqual([]);
    expect(warnings().sort()).toEqual([
      'big.md is larger than 2 MB',
      'binary.md is binary',
      'latin1.txt is not UTF-8 text; save it as UTF-8',
      'link.md is a link out of the folder',
    ]);
  });

  it('is read up to 16 MB of text and 5,000 files, in a fixed order', async () => {
    for (let at = 0; at < 10; at += 1) {
      write(`${at}.md`, 'x');
      truncateSync(join(folder, `${at}.md`), 1_900_000);
    }
    const large = await listFolder(folder);
    expect(large.files.map(({ name }) => name)).toEqual(Array.from({ length: 8 }, (_, at) => `${at}.md`));
    expect(large.warnings).toEqual([expect.stringContaining('only the first 8 files')]);
    for (let at = 0; at <= 5_000; at += 1) writeFileSync(join(outside, `${at}.txt`), '');
    const many = await listFolder(outside);
    expect(many.files).toHaveLength(5_000);
    expect(many.warnings).toEqual([expect.stringContaining('only 5000 text files')]);
  });

  it('warns once of what it leaves out', async () => {
    write('binary.md', Buffer.from([0]));
    symlinkSync(outside, join(folder, 'out.md'));
    const { search } = knowledge();
    await search('apples');
    clock = 10_000;
    await search('apples');
    expect(warnings().sort()).toEqual(['binary.md is binary', 'out.md is a link out of the folder']);
  });

  it('may hold links to its own files, once each, and UTF-16', async () => {
    write('..data/real.md', 'apples');
    write('own.md', 'bananas');
    write('wide.txt', Buffer.from('\ufeffcherries', 'utf16le'));
    symlinkSync(join('..data', 'real.md'), join(folder, 'a.md'));
    symlinkSync('own.md', join(folder, 'again.md'));
    const { search } = knowledge();
    expect(await search('apples')).toMatchObject([{ source: 'a.md' }]);
    expect(await search('bananas')).toMatchObject([{ source: 'own.md' }]);
    expect(await search('cherries')).toMatchObject([{ source: 'wide.txt' }]);
  });

  it('lets others go on while it is read', async () => {
    const { search } = knowledge();
    write('a.md', Array.from({ length: 100 }, (_, at) => `# Part ${at}\n\n${numberedWords(300)}`).join('\n'));
    const { longest, total } = await pauses(() => search('w17'));
    expect(longest).toBeLessThan(total / 2);
  });

  it('that is missing is a clear error naming the setting, and is found when it comes', async () => {
    const path = join(folder, 'later');
    const { search } = knowledge({ path });
    for (let time = 0; time < 2; time += 1) {
      await expect(search('apples')).rejects.toMatchObject({
        code: 'knowledge_unreadable',
        message: expect.stringContaining('later" does not exist'),
        hint: 'check knowledge.handbook.path',
      });
    }
    write('later/a.md', 'apples');
    expect(await search('apples')).toHaveLength(1);
  });

  it('that vanishes leaves its last state and a line in the log', async () => {
    const path = join(folder, 'docs');
    write('docs/a.md', 'apples');
    const { search } = knowledge({ path });
    await search('apples');
    rmSync(path, { recursive: true });
    clock = 10_000;
    expect(await search('apples')).toHaveLength(1);
    expect(logger.lines.at(-1)).toMatchObject({ level: 'error', fields: { knowledge: 'handbook' } });
  });

  it('being read is no reason to wait after an abort, and is read on for others', async () => {
    for (let at = 0; at < 5; at += 1) write(`${at}.md`, numberedWords(3_000));
    const { search } = knowledge();
    const stop = new AbortController();
    const aborted = search('w17', stop.signal);
    const other = search('w17');
    stop.abort();
    await expect(aborted).rejects.toBeInstanceOf(AbortedError);
    expect((await other).length).toBeGreaterThan(0);
    await expect(search('w17', AbortSignal.abort())).rejects.toBeInstanceOf(AbortedError);
  });
});

describe('the check at the start', () => {
  it('is content with a folder and says what is wrong with anything else', async () => {
    write('a.md', 'x');
    expect(await checkKnowledge(folder)).toBeUndefined();
    expect(await checkKnowledge(join(folder, 'none'))).toContain('does not exist');
    expect(await checkKnowledge(join(folder, 'a.md'))).toContain('is no folder');
    expect(await checkKnowledge(join(folder, 'a.md', 'b'))).toContain('does not exist');
    symlinkSync(join(folder, 'loop'), join(folder, 'loop'));
    expect(await checkKnowledge(join(folder, 'loop'))).toContain('cannot be read (ELOOP)');
  });
});

describe('rendered quotes', () => {
  const quote = { id: 'a.md#1', source: 'a.md > A', text: 'one', score: 1, index: 1 };

  it('stand one below the other with number and source', () => {
    expect(renderQuotes([])).toBe('');
    expect(renderQuotes([quote, { ...quote, index: 2, text: 'two' }])).toBe(
      '[1] a.md > A\none\n------\n[2] a.md > A\ntwo',
    );
  });

  it('follow a template and never fill in what a quote says', () => {
    const text = "{{source}} $& $1 $' {{text}}";
    expect(renderQuotes([{ ...quote, text }], '{{ id }}|{{index}}|{{text}}|{{other}}')).toBe(
      `a.md#1|1|${text}|{{other}}`,
    );
  });
});
