import { describe, expect, it } from 'vitest';
import { renderWeb } from '../../../src/adapters/web/render.js';
import type { MessageBody } from '../../../src/core/chat/adapter.js';
import { SNIPPETS, STRESS } from '../../fakes/nasty-markdown.js';

const FENCE = '```';
const VOID = new Set(['br', 'hr']);
/** Every element that may appear, with the attributes it may have. */
const ALLOWED: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  p: {},
  br: {},
  hr: {},
  h1: {},
  h2: {},
  h3: {},
  h4: {},
  h5: {},
  h6: {},
  blockquote: {},
  ul: {},
  ol: { start: /^\d{1,9}$/ },
  li: { class: /^task$/ },
  pre: {},
  code: { class: /^language-[^\s"'<>]{1,200}$/ },
  div: { class: /^table$/ },
  table: {},
  thead: {},
  tbody: {},
  tr: {},
  th: { align: /^(?:center|right)$/ },
  td: { align: /^(?:center|right)$/ },
  strong: {},
  em: {},
  s: {},
  a: {
    href: /^(?:https?:\/\/|mailto:)[^\s"'<>]+$/i,
    rel: /^noopener noreferrer nofollow$/,
    target: /^_blank$/,
  },
};

/** Reads HTML the strict way: whatever is not a known element, an escaped text or a known entity is an error. */
function checkHtml(html: string): void {
  const open: string[] = [];
  const token = /<(\/?)([a-z][a-z0-9]*)((?: [a-z]+="[^"<>]*")*)>|([^<>]+)|[<>]/g;
  for (const match of html.matchAll(token)) {
    const [whole, slash, name, attributes = '', text] = match;
    if (text !== undefined) {
      expect(text.replace(/&(?:amp|lt|gt|quot|#39);/g, '')).not.toMatch(/[&"']/);
      continue;
    }
    if (name === undefined) throw new Error(`a bare ${whole} in ${html}`);
    const allowed = ALLOWED[name];
    if (!allowed) throw new Error(`<${name}> is not allowed`);
    if (slash === '/') {
      expect(open.pop()).toBe(name);
      continue;
    }
    for (const [, attribute = '', value = ''] of attributes.matchAll(/ ([a-z]+)="([^"]*)"/g)) {
      expect(value.replaceAll('&amp;', '&').replaceAll('&#39;', '')).toMatch(allowed[attribute] ?? /^never$/);
    }
    if (name === 'a') expect(attributes).toMatch(/ href=.* rel=.* target=/);
    if (!VOID.has(name)) open.push(name);
  }
  expect(open).toEqual([]);
}

function htmlOf(markdown: string, state: MessageBody['state'] = 'final'): string {
  return renderWeb({ state, markdown }).payload.html;
}

describe('the HTML of an answer', () => {
  it.each(Object.entries(SNIPPETS))('is safe for every prefix of %s, final and streaming', (_, snippet) => {
    for (let end = 0; end <= snippet.length; end++) {
      checkHtml(htmlOf(snippet.slice(0, end)));
      checkHtml(htmlOf(snippet.slice(0, end), 'streaming'));
    }
  });

  it.each(Object.entries(STRESS))('is safe for %s', (_, make) => {
    checkHtml(htmlOf(make(16_000)));
  });

  it('shows what looks like HTML as text', () => {
    expect(htmlOf('<img src=x onerror=alert(1)> & "\'')).toBe(
      '<p>&lt;img src=x onerror=alert(1)&gt; &amp; &quot;&#39;</p>',
    );
    expect(htmlOf('`<b>`')).toBe('<p><code>&lt;b&gt;</code></p>');
    expect(htmlOf(`${FENCE}x"y\n</code><script>\n${FENCE}`)).toBe(
      '<pre><code class="language-xy">&lt;/code&gt;&lt;script&gt;</code></pre>',
    );
  });

  it('links safely and loads nothing', () => {
    expect(htmlOf('[a](https://b.c/?d=1&e="f)')).toBe(
      '<p><a href="https://b.c/?d=1&amp;e=%22f" rel="noopener noreferrer nofollow" target="_blank">a</a></p>',
    );
    expect(htmlOf('![a](https://b.c/d.png)')).toMatch(/^<p><a href="https:\/\/b\.c\/d\.png" [^>]*>a<\/a><\/p>$/);
    expect(htmlOf('[a](javascript:alert(1))')).toBe('<p>[a](javascript:alert(1))</p>');
  });

  it('has the blocks of markdown', () => {
    expect(htmlOf('## T\n\na  \nb\nc **d** *e* ~~f~~')).toBe(
      '<h2>T</h2><p>a<br>b<br>c <strong>d</strong> <em>e</em> <s>f</s></p>',
    );
    expect(htmlOf('3. a\n4. b\n\n> c\n\n---')).toBe(
      '<ol start="3"><li>a</li><li>b</li></ol><blockquote><p>c</p></blockquote><hr>',
    );
    expect(htmlOf('- [x] a\n- [ ] b\n  - c')).toBe(
      '<ul><li class="task">☑ a</li><li class="task">☐ b<ul><li>c</li></ul></li></ul>',
    );
    expect(htmlOf('- a\n\n- b')).toBe('<ul><li><p>a</p></li><li><p>b</p></li></ul>');
    expect(htmlOf('| a | b |\n|---|--:|\n| c | d |')).toBe(
      '<div class="table"><table><thead><tr><th>a</th><th align="right">b</th></tr></thead>' +
        '<tbody><tr><td>c</td><td align="right">d</td></tr></tbody></table></div>',
    );
  });

  it('is healed while the answer grows and when it was stopped', () => {
    expect(htmlOf('a **b', 'streaming')).toBe('<p>a <strong>b</strong></p>');
    expect(htmlOf('a **b', 'stopped')).toBe('<p>a <strong>b</strong></p>');
    expect(htmlOf('a **b', 'final')).toBe('<p>a **b</p>');
  });
});

describe('the payload', () => {
  it('has the parts of the body, cleaned, and the markdown', () => {
    const { payload, length } = renderWeb({
      state: 'final',
      markdown: 'a\u0000 **b**',
      status: ['s\u202e'],
      plan: { title: 'p\u0000', steps: [{ title: '<b>\u202e', status: 'in_progress' }], hidden: 2 },
      reasoning: 'r\u0007',
      buttons: [{ id: 'c.0', label: 'l\u0000', style: 'primary' }],
      footer: 'f\u0000',
    });
    expect(payload).toEqual({
      state: 'final',
      text: 'a **b**',
      html: '<p>a <strong>b</strong></p>',
      status: ['s'],
      plan: { title: 'p', steps: [{ title: '<b>', status: 'in_progress' }], hidden: 2 },
      reasoning: 'r',
      buttons: [{ id: 'c.0', label: 'l', style: 'primary' }],
      footer: 'f',
    });
    expect(length).toBe(7);
    expect(renderWeb({ state: 'streaming', markdown: '' }).payload).toEqual({ state: 'streaming', text: '', html: '' });
  });

  it('has an equal digest exactly when it is equal', () => {
    const digest = (body: Partial<MessageBody>): string => renderWeb({ state: 'final', markdown: 'a', ...body }).digest;
    expect(digest({})).toBe(digest({}));
    expect(digest({ state: 'stopped' })).not.toBe(digest({}));
    expect(digest({ footer: 'f' })).not.toBe(digest({}));
    const plan = (status: 'pending' | 'done') => ({ title: 'p', steps: [{ title: 's', status }], hidden: 0 });
    expect(digest({ plan: plan('pending') })).not.toBe(digest({ plan: plan('done') }));
    // A card whose questions are all answered has no buttons left.
    expect(digest({ buttons: [] })).toBe(digest({}));
  });
});
