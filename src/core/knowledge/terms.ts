/** How text becomes search terms; the same for what is indexed and for what is asked. */

/** Scripts written without blanks between words, and Hangul, whose words carry their particles. */
const DENSE =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;
const HAS_DENSE = new RegExp(DENSE.source, 'u');
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const CAMEL = /(?<=\p{Ll})(?=\p{Lu})/u;

/** Longer ones are hashes and encoded data: nobody asks for them, and they would fill the index. */
const LONGEST_TERM = 64;

/** A pasted log must not become a query of thousands of terms. */
const MOST_QUERY_TERMS = 64;
const QUERY_CHARACTERS = 20_000;

const STOP_WORDS = new Set(
  (
    'a about an and any are as at be been but by can could d did do does for from get had has have he hello her hey hi his how i if ' +
    'in into is it its ll m may me my no not of ok okay on or our please re s she should so some t tell than that the their ' +
    'thank thanks them then there these they this to us ve was we were what when where which who why will with would yes you your ' +
    '的 了 是 在 和 与 或 有 我 你 您 他 她 它 我们 你们 他们 这 那 这个 那个 什么 怎么 怎样 如何 哪 哪些 哪个 哪里 吗 呢 吧 啊 ' +
    '也 都 就 要 请 请问 可以 能 会 把 被 对 为 为什么 你好 谢谢 好 好的 は が を に の で と も か です ます'
  ).split(' '),
);

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });

/**
 * Terms in order, repeated ones too: words in lower case with English endings taken off, parts of camelCase besides the
 * whole; in scripts without blanks the words a dictionary finds and every pair of characters.
 */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const [word] of text.normalize('NFKC').matchAll(WORD)) {
    if (HAS_DENSE.test(word)) addMixed(terms, word);
    else addWord(terms, word);
  }
  return terms;
}

/**
 * What a question is searched by: each term once, without words that stand everywhere. Of a long text the 64 longest
 * terms: they are the rarest.
 */
export function queryTermsOf(question: string): string[] {
  const terms = [...new Set(termsOf(question.slice(0, QUERY_CHARACTERS)))].filter((term) => !STOP_WORDS.has(term));
  if (terms.length <= MOST_QUERY_TERMS) return terms;
  return terms.sort((a, b) => b.length - a.length).slice(0, MOST_QUERY_TERMS);
}

function addMixed(terms: string[], word: string): void {
  let from = 0;
  for (const { 0: run, index } of word.matchAll(DENSE)) {
    if (index > from) addWord(terms, word.slice(from, index));
    addDense(terms, run);
    from = index + run.length;
  }
  if (from < word.length) addWord(terms, word.slice(from));
}

function addDense(terms: string[], run: string): void {
  for (const { segment } of segmenter.segment(run)) if (segment.length <= LONGEST_TERM) terms.push(segment);
  const characters = [...run];
  for (let at = 0; at + 1 < characters.length; at += 1) terms.push(`${characters[at]}${characters[at + 1]}`);
}

function addWord(terms: string[], word: string): void {
  if (word.length > LONGEST_TERM) return;
  terms.push(stem(word.toLowerCase()));
  if (!CAMEL.test(word)) return;
  for (const part of word.split(CAMEL)) terms.push(stem(part.toLowerCase()));
}

/** Brings the forms of an English word together; what it makes need not be a word. */
function stem(word: string): string {
  if (STOP_WORDS.has(word) || !/^[a-z]{4,}$/.test(word)) return word;
  const singular = word
    .replace(/(?<=[a-z]{2})ies$/, 'y')
    .replace(/(?<=ss|x|z|ch|sh)es$/, '')
    .replace(/(?<![sui])s$/, '');
  const plain = singular.replace(/(?<=[a-z]{4})(ing|ed)$/, '');
  const single = plain === singular ? plain : plain.replace(/([bdfgmnprt])\1$/, '$1');
  return single.replace(/(?<=[a-z]{4})e$/, '');
}
