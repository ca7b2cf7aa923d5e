import { describe, expect, it } from 'vitest';
import { chunksOf } from '../../../src/core/knowledge/chunks.js';
import { sectionsOf } from '../../../src/core/knowledge/sections.js';
import { textTokens } from '../../../src/core/llm/tokens.js';
import { numberedWords } from '../../fakes/model-server.js';

describe('sections of Markdown', () => {
  const headings = (markdown: string) => sectionsOf(markdown).map(({ path, body }) => [path.join(' > '), body]);

  it('carry the headings above them', () => {
    const markdown = 'intro\n# Guide\ntext\n## Install\nnpm\n### Linux ###\napt\n## Use\r\nrun\n# Other\nend';
    expect(headings(markdown)).toEqual([
      ['', 'intro'],
      ['Guide', 'text'],
      ['Guide > Install', 'npm'],
      ['Guide > Install > Linux', 'apt'],
      ['Guide > Use', 'run'],
      ['Other', 'end'],
    ]);
  });

  it('survive a skipped level and headings without a text', () => {
    expect(headings('### Deep\na\n# Top\n#\nb')).toEqual([
      ['Deep', 'a'],
      ['', 'b'],
    ]);
  });

  it('are not cut at lines that only look like headings', () => {
    const code = '```sh\n# comment\n~~~\n# more\n```';
    expect(headings(`# A\n${code}\n#hashtag\n- item\n---\n| a |\n---`)).toEqual([
      ['A', `${code}\n#hashtag\n- item\n---\n| a |\n---`],
    ]);
  });

  it('know underlined headings and leave front matter whole', () => {
    expect(headings('---\ntitle: T\n---\nTop\n===\n\na\n\nSub\n---\nb')).toEqual([
      ['', 'title: T'],
      ['Top', 'a'],
      ['Top > Sub', 'b'],
    ]);
  });

  it('have plain headings', () => {
    expect(headings('# The `x` of [us](http://u/) **now** {#id}\na')).toEqual([['The x of us now', 'a']]);
    expect(headings(`# ${'x'.repeat(500)}\na`)[0]?.[0]).toHaveLength(120);
  });
});

describe('chunks', () => {
  const bounded = (chunks: readonly string[]) => {
    expect(chunks.length).toBeGreaterThan(1);
    for (const chunk of chunks) expect(textTokens(chunk)).toBeLessThanOrEqual(300);
  };

  it('leave a short text whole and an empty one out', () => {
    expect(chunksOf('one\n\ntwo\n')).toEqual(['one\n\ntwo']);
    expect(chunksOf(' \n ')).toEqual([]);
  });

  it('end between paragraphs', () => {
    const paragraphs = Array.from({ length: 30 }, (_, at) => `Paragraph ${at}. ${numberedWords(20)}.`);
    const chunks = chunksOf(paragraphs.join('\n\n'));
    bounded(chunks);
    for (const chunk of chunks) expect(chunk).toMatch(/\.$/);
    for (const paragraph of paragraphs) expect(chunks.some((chunk) => chunk.includes(paragraph))).toBe(true);
  });

  it('repeat the last sentences of the chunk before', () => {
    const sentences = Array.from({ length: 120 }, (_, at) => `Sentence number ${at} says this.`);
    const chunks = chunksOf(sentences.join(' '));
    bounded(chunks);
    for (const [at, chunk] of chunks.entries()) {
      const before = chunks[at - 1];
      if (before !== undefined) expect(before).toContain(chunk.slice(0, 20));
    }
    for (const sentence of sentences) expect(chunks.join('\n')).toContain(sentence);
  });

  it('cut Chinese at its sentences', () => {
    const chunks = chunksOf('知识库的引用会放进系统消息里。'.repeat(80));
    bounded(chunks);
    for (const chunk of chunks) expect(chunk).toMatch(/。$/);
  });

  it('keep a code block together while it fits', () => {
    const code = `\`\`\`\n${'a = 1\n\n'.repeat(30)}\`\`\``;
    expect(chunksOf(`${numberedWords(100)}\n\n${code}\n\n${numberedWords(100)}`)).toContain(code);
  });

  it('lose nothing of a text without any place to cut, nor a half of a character', () => {
    const text = '😀'.repeat(1_500);
    const chunks = chunksOf(text);
    bounded(chunks);
    expect(chunks.join('')).toBe(text);
    for (const chunk of chunks) expect(chunk.length % 2).toBe(0);
  });
});
