import { describe, expect, it } from 'vitest';
import { readPage } from '../../../../src/core/tools/fetch/readable-page.js';

const URL_OF_PAGE = 'https://site.example/docs/guide.html?x=1';
const sentence = 'The tides follow the moon, and the moon follows nobody, as every sailor knows well enough. ';

describe('a page', () => {
  it('gives its article, without what stands around it, and links of the article first', () => {
    const page = readPage(
      `<!doctype html><html><head><title>Tides &amp; moons</title><style>p{}</style></head><body>
      <nav><a href="/">Home</a><a href="/login">Log in</a></nav>
      <article><h1>Tides</h1>${`<p>${sentence.repeat(3)}See <a href="moon.html#top">the <b>moon</b></a>.</p>`.repeat(4)}
      <h2>Parts</h2><ul><li>Ebb<ul><li>slow</li></ul></li><li><p>Flow</p></li></ul></article>
      <script>alert(1)</script><footer>Imprint of the site</footer></body></html>`,
      URL_OF_PAGE,
    );
    expect(page.title).toBe('Tides & moons');
    expect(page.text).toContain('follows nobody');
    expect(page.text).toContain('## Parts\n\n- Ebb\n  - slow\n- Flow');
    expect(page.text).not.toMatch(/Log in|alert|Imprint|p\{\}/);
    expect(page.links[0]).toEqual({ text: 'the moon', url: 'https://site.example/docs/moon.html' });
    expect(page.links).toContainEqual({ text: 'Home', url: 'https://site.example/' });
    expect(page.links).toHaveLength(3);
  });

  it('without an article gives all of its text', () => {
    const page = readPage(
      `<html><body><h3>Offers</h3><table><tr><th>Thing</th><th>Price</th></tr><tr><td>Tea</td><td>3 €</td></tr></table>
      <pre>a  b\n  c</pre><blockquote>Said so</blockquote>one<br>two <img alt="a boat" src=x><hr>
      <div hidden>secret</div><span aria-hidden="true">x</span><noscript>no</noscript></body></html>`,
      URL_OF_PAGE,
    );
    expect(page.text).toBe(
      [
        '### Offers',
        'Thing | Price |\nTea | 3 € |',
        '```\na  b\n  c\n```',
        '> Said so',
        'one\ntwo [image: a boat]',
        '---',
      ].join('\n\n'),
    );
  });

  it.each([
    ['no html or body', '<!doctype html><title>T</title><p>Hello <i>you</i>'],
    ['no body', '<html><head><title>T</title></head><p>Hello you</html>'],
    ['no head', '<body class="a>b"><title>T</title>Hello you</body>'],
    ['a comment first', '<!-- <body> --><title>T</title><div>Hello you</div>'],
  ])('with %s is read all the same', (_, html) => {
    expect(readPage(html, URL_OF_PAGE)).toMatchObject({ title: 'T', text: expect.stringContaining('Hello you') });
  });

  it.each(['', '<', '<html>', '<body></body>', '<title></title>'])('that is %j is empty', (html) => {
    expect(readPage(html, URL_OF_PAGE)).toMatchObject({ title: '', links: [] });
  });

  it('has absolute links to the web alone, each once, with the first text that says something', () => {
    const { links } = readPage(
      `<base href="/base/"><a href="a"></a><a href="a#x">A</a><a href="a">again</a><a href="javascript:x()">j</a>
      <a href="mailto:x@y">m</a><a href="#here">h</a><a href="//other.example/b?c=d&amp;e">B</a><a>none</a>
      <a href="http://[">broken</a><a href="i"><img alt="picture"></a><a href="/${'x'.repeat(600)}">long</a>
      <a href="t">${'word '.repeat(50)}</a>`,
      URL_OF_PAGE,
    );
    expect(links).toEqual([
      { text: 'A', url: 'https://site.example/base/a' },
      { text: 'B', url: 'https://other.example/b?c=d&e' },
      { text: 'picture', url: 'https://site.example/base/i' },
      { text: expect.stringMatching(/^[word ]{70,80}…$/), url: 'https://site.example/base/t' },
    ]);
  });

  it('gives at most fifty links', () => {
    const html = Array.from({ length: 2_000 }, (_, at) => `<a href="/${at}">${at}</a>`).join('');
    expect(readPage(html, URL_OF_PAGE).links).toHaveLength(50);
  });

  it('nested deeply is read without its article being looked for', () => {
    const { text } = readPage(`<div>${'<div>'.repeat(3_000)}deep down`, URL_OF_PAGE);
    expect(text).toBe('deep down');
  });
});
