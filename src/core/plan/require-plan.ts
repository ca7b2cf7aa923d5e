import { asksInChinese } from './require-plan-chinese.js';
import { asksInEnglish } from './require-plan-english.js';

/** Characters looked at, from both ends of the text: a request stands at one of them. */
const MAX_END = 4_000;

const CODE = /(```|~~~)[\s\S]*?(?:\1|$)|`[^`\n]*`/g;
const CITED_LINE = /^[ \t]*>.*$/gm;
const ADDRESS = /https?:\/\/\S+/gi;
/** A mode's name may stand in quotes and still be meant: use "plan mode". */
const QUOTED_NAME = /["“「『'](plan(?:ning)?[ -]mode|[计規规][劃畫划]?模式)["”」』']/gi;
const QUOTED =
  /"[^"\n]{1,400}"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』|(?<![\p{L}\p{N}])'[^'\n]{1,400}'(?![\p{L}\p{N}])/gu;

/** What is to be translated is quoted too. */
const TRANSLATED = /(?:翻译|翻譯|译成|譯成|translate)[^:\n]{0,40}:[^\n]*/gi;

/**
 * Does this text explicitly ask for a plan (seed 000, 3.3.3)? A promise of the interface, no test of complexity: who
 * asked for a plan gets one, even when the model could answer directly. English and Chinese. Code, quotations and
 * addresses do not count; a negated request, a question about plans and a plan that is the product itself
 * ("a business plan", "the pricing plan page") are none.
 */
export function requiresPlan(text: string): boolean {
  return sentencesOf(spokenText(text)).some((sentence) => asksInEnglish(sentence) || asksInChinese(sentence));
}

/** What the person says in their own words. */
function spokenText(text: string): string {
  const own = text.replace(CODE, ' … ');
  const ends = own.length > 2 * MAX_END ? `${own.slice(0, MAX_END)}\n${own.slice(-MAX_END)}` : own;
  return ends
    .replace(CITED_LINE, ' ')
    .normalize('NFKC')
    .replace(/[‘’]/g, "'")
    .replace(ADDRESS, ' … ')
    .replace(QUOTED_NAME, ' $1 ')
    .replace(QUOTED, ' … ')
    .replace(TRANSLATED, ' … ')
    .toLowerCase();
}

function sentencesOf(text: string): string[] {
  return text.split(/[.!?](?=\s|$|[^\w])|[。;\n]/).filter((sentence) => sentence.trim() !== '');
}
