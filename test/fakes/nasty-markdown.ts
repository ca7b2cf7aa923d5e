/** What models and people write that breaks renderers: snippets by class, and texts made to hurt. */

const FENCE = '```';
const TICKS = '`'.repeat(4);

/** Short enough to render every prefix. */
export const SNIPPETS = {
  paragraphs: 'First line\nsecond line  \nthird\\\nfourth\n\nNext *paragraph* with __bold__ and _it_.',
  nestedList: '- a\n  - b\n    1. c\n       - d **bold**\n  - e\n\n3. three\n4. four\n   - x\n\n   later in four',
  looseList: '1. one\n\n   more of one\n\n2. two\n\n   > quoted in two\n\n- [x] done\n- [ ] open **now**\n- [X]\n',
  innerFence: `${TICKS}md\n${FENCE}js\ncode with ${FENCE} inside\n${FENCE}\n${TICKS}\nafter`,
  fenceInList: `1. step\n   ${FENCE}sh\n   rm -rf *\n   ${FENCE}\n2. next\n   - deeper\n     ~~~\n     tilde\n     ~~~`,
  fenceInQuote: `> ${FENCE}py\n> def f():\n>     return "a*b_c"\n> ${FENCE}\n> after`,
  fenceInfo: `${FENCE}<script>"x" {.line-numbers}\n  indented first\n\n\n${FENCE}\n\n${FENCE}\n${FENCE}`,
  indentedCode: 'text\n\n    code here\n      **not bold**\n\ntext',
  inlineCode: 'use `` a`b `` and `*not bold*` and `\\` and ` ` and `**` end',
  table: '| a | b |\n|---|:-:|\n| 1 \\| x | **2** |\n| `c|d` | [l](http://x.y) |\n| 表格 | 👍 |\nafter?',
  tableRagged: 'intro\n\na | b | c\n--: | :--- | :-:\n1\n1 | 2 | 3 | 4\n\n> | q | r |\n> |---|---|\n> | s | t |',
  links: 'see [wiki](https://en.wikipedia.org/wiki/Foo_(bar)) and [q](<http://a b.c/x> "t") [](http://e.f) end.',
  evilLinks:
    '[click](javascript:alert(1)) [t](tg://user?id=1) [d](data:text/html,x) [v](vbscript:x) [f](file:///etc) [s](http://a.b/|x>y"\'<z) [r](/rel) [e](JaVaScRiPt:alert(1)) <javascript:x>',
  autolinks: 'go to https://a.b/c_d_e?x=1&y=2. or <https://z.z> or a@b.co, [m](mailto:a@b.co) (http://x.y/z) www.q.r',
  linkedImage:
    '[![build](https://i.mg/b.svg)](https://ci.x) ![](https://i.mg/x.png) ![alt *text*](https://i.mg/y.png "t")',
  emoji: '👍🏽 **👨‍👩‍👧‍👦 family** :smile: _é_ 🇩🇪 **🇩🇪**~~👩🏿‍🚀~~',
  cjkBold: '这是**重点。**后面继续,**“引号”**也要粗体。~~删除~~了,**全角括号(注)**的问题。*斜体*和`代码`。',
  cjkTable: '| 名称 | 说明 |\n|---|---|\n| 甲 | 第一项 |\n| 乙方公司 | x |',
  unclosedBold: 'This is **bold tex',
  unclosedAll: '> - 1. **a *b ~~c `d [e](http://f',
  unclosedFence: `text\n${FENCE}python\nprint("a*b_c")\n`,
  unclosedLink: 'see [label](https://exa',
  unclosedImage: 'see ![label](https://exa',
  halfTable: 'intro\n\n| a | b |\n|--',
  html: '<b>x</b> <script>alert(1)</script><br>line <img src=x onerror=alert(1)>\n\n<div onclick="x">\nblock\n</div>\n\n<!-- c --> after & <T> generic List<String> &lt;i&gt; &amp;amp; &#60;u&#62; &#0;',
  mentions:
    '@everyone @here <!channel> <!here> <@U123456> <#C123> <@&99> <!subteam^S1> a@b.c (@durov) **@**durov @`durov` [@durov](http://x.y) /start@bot',
  reserved: '1. cost = $5.00 (50%) - a+b=c {x} |y| #tag! a_b_c 2*3*4 ~ok~ C:\\dir\\_x 5 * 3 * 2 __init__',
  nestedMarks:
    '***bold italic* bold** and **a *b ~~c `d` c~~ b* a** and **`code`** and *[**l**](http://x.y)* **a**b**c**',
  quotes: '> q1\n> > q2 **b**\n> > > q3\n> - li\n>   - li2\n\nplain\n> lazy\ncont\n\n> `c` [l](http://x.y)',
  headings: '# H *1* #\n## [L](http://a.b) `c`\n#nospace\n####### seven\nSetext\n===\nText\n---\n***\n- - -\n###### h6',
  footnotes: 'a[^1] b [ref][r] c [r]\n\n[^1]: note *x*\n\n[r]: http://evil.x "t"',
  control:
    '\u202Eevil\u202C a\u200Bb \u0000nul \u0007bell\r\nnext\rold \u2066iso\u2069 \ud83d lone \ude00 x\u2028y\ttab',
  invisible: '\u200b\u2060 \u00a0\n\n&nbsp;',
  empty: '',
  blank: '   \n\n  \t\n',
  entities: '&copy; &#x1F600; &notanentity; &amp;lt; A&B &',
  escapes: '\\*not\\* \\[x\\](y) \\`c\\` \\\\ \\# \\> 1\\. \\| \\<b>',
  markersOnly: '**\n\n__\n\n~~\n\n``\n\n-\n\n1.\n\n#\n\n>\n\n|\n\n![](\n\n[]()',
  spaces: '  leading\n\n\n\n\nfar   apart   \n',
} as const satisfies Record<string, string>;

/** Well-formed texts in which no mark is shown once it is complete. */
export const TIDY = [
  'A **bold word**, *italic*, ~~gone~~ and `code span` here.',
  'See [the label](https://e.com/a_b?c=d) and **[bold link](https://e.com)** now.',
  '## Title with **bold**\n\nText\n\n---\n\n- item *one*\n- item two\n  - nested `x`\n\n> quoted **text**\n> more',
  '- [ ] open\n- [x] done',
  `Before\n\n${FENCE}ts\nconst a = 1;\n${FENCE}\n\nafter ***both*** end`,
  '这是**重点。**后面继续,*斜体*。',
] as const;

/** Texts that make a parser slow, deep or large; `size` is about the number of characters. */
export const STRESS: Readonly<Record<string, (size: number) => string>> = {
  quotes: (size) => `${'>'.repeat(size)}a`,
  spacedQuotes: (size) => `${'> '.repeat(size / 2)}a`,
  brackets: (size) => '['.repeat(size),
  halfLinks: (size) => '[a]('.repeat(size / 4),
  nestedLinks: (size) => '['.repeat(size / 5) + '](u)'.repeat(size / 5),
  images: (size) => '![a]('.repeat(size / 5),
  openBold: (size) => '**a '.repeat(size / 4),
  underscores: (size) => '_a_b'.repeat(size / 4),
  strikes: (size) => '~~a '.repeat(size / 4),
  mixedMarks: (size) => '*_~~'.repeat(size / 4),
  deepBold: (size) => `${'**'.repeat(size / 4)}x${'**'.repeat(size / 4)}`,
  growingTicks: (size) => Array.from({ length: Math.sqrt(size * 2) }, (_, i) => '`'.repeat(i + 1)).join('a'),
  ticks: (size) => '`a'.repeat(size / 2),
  angles: (size) => '<'.repeat(size),
  tags: (size) => '<a '.repeat(size / 3),
  longTable: (size) => `|a|b|\n|-|-|\n${'|x|y|\n'.repeat(size / 6)}`,
  wideTable: (size) => `${'|a'.repeat(size / 8)}|\n${'|-'.repeat(size / 8)}|\n${'|x|\n'.repeat(size / 8)}`,
  nestedLists: (size) => Array.from({ length: Math.sqrt(size) }, (_, i) => `${' '.repeat(i * 2)}- x`).join('\n'),
  sameLineLists: (size) => `${'- '.repeat(size / 2)}a`,
  longList: (size) => '- a\n'.repeat(size / 4),
  alternatingLists: (size) => '- a\n+ b\n'.repeat(size / 8),
  word: (size) => 'x'.repeat(size),
  line: (size) => 'word '.repeat(size / 5),
  cjk: (size) => '这是一个没有空格的很长的段落'.repeat(size / 14),
  families: (size) => '👨‍👩‍👧‍👦'.repeat(size / 11),
  flags: (size) => '🇩🇪'.repeat(size / 4),
  zalgo: (size) => `a${'\u0301'.repeat(size)}`,
  digits: (size) => '1234567890'.repeat(size / 10),
  dashes: (size) => '-'.repeat(size),
  stars: (size) => '*'.repeat(size),
  lineEnds: (size) => '\n'.repeat(size),
  spaces: (size) => `${' '.repeat(size)}x`,
  backslashes: (size) => '\\'.repeat(size),
  entities: (size) => '&amp;'.repeat(size / 5),
  gluedLinks: (size) => 'http://a.b/'.repeat(size / 11),
  spacedLinks: (size) => 'http://a.b/ '.repeat(size / 12),
  longLink: (size) => `[a](http://a.b/${'x'.repeat(size)})`,
  mentions: (size) => '@a '.repeat(size / 3),
  definitions: (size) => '[a]: /u\n'.repeat(size / 8),
  code: (size) => `${FENCE}js\n${'let x = 1;\n'.repeat(size / 11)}`,
  codeLine: (size) => `${FENCE}js\n${'x'.repeat(size)}\n${FENCE}`,
  hugeCell: (size) => `|a|b|\n|-|-|\n|${'word '.repeat(size / 5)}|x|`,
  heading: (size) => `# ${'word '.repeat(size / 5)}`,
};
