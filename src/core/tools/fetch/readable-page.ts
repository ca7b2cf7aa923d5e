import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { type PageNode, pageText, shortText } from './page-text.js';

export interface PageLink {
  readonly text: string;
  /** Absolute, http or https. */
  readonly url: string;
}

/** What a person would read of a page. */
export interface ReadablePage {
  readonly title: string;
  readonly text: string;
  readonly links: readonly PageLink[];
}

/** The part of a DOM that is used here; the compiler has no DOM types. */
interface PageElement extends PageNode {
  readonly textContent: string | null;
}

interface PageDocument extends PageElement {
  readonly body: PageElement;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): ArrayLike<PageElement>;
}

/** Beyond these the search for the article takes seconds and finds nothing better than the whole text. */
const MOST_NODES = 40_000;
const MOST_DEPTH = 300;

/** A find that is this short and a small part of the page is a caption or a teaser, not the article. */
const SHORT_ARTICLE = 400;
const SMALL_PART = 0.3;

const MOST_LINKS = 50;
const MOST_LINKS_SEEN = 5_000;
const LINK_TEXT = 80;
const LONGEST_URL = 500;

/**
 * The readable part of an HTML page: the article where there is one, the whole text otherwise; the links of the article
 * before the others. The time it takes is not bounded by the size of the page: run it where it can be stopped.
 */
export function readPage(html: string, url: string): ReadablePage {
  const document = parse(html);
  const base = baseOf(document, url);
  const title = oneLine(document.querySelector('title')?.textContent ?? '');
  const whole = pageText(document.body);
  const pageLinks = linksIn(document.querySelectorAll('a'), base);
  const article = whole.nodes > MOST_NODES || whole.depth > MOST_DEPTH ? undefined : articleOf(document);
  const text = article ? pageText(article.content).text : '';
  const useful = text.length >= SHORT_ARTICLE || text.length >= whole.text.length * SMALL_PART;
  if (!article || text === '' || !useful) return { title, text: whole.text, links: unique(pageLinks) };
  const own = linksIn(article.content.querySelectorAll('a'), base);
  return { title: oneLine(article.title) || title, text, links: unique([...own, ...pageLinks]) };
}

/**
 * The parser adds no html, head and body where a page leaves them out, as HTML allows. So the page's own are taken away
 * and everything stands in a body.
 */
function parse(html: string): PageDocument {
  const inside = html.replace(/<(?:\/?(?:html|head|body)|!doctype)(?:\s[^>]{0,1000})?>/gi, '');
  return parseHTML(`<html><head></head><body>${inside}</body></html>`).document as unknown as PageDocument;
}

function articleOf(document: PageDocument): { title: string; content: PageDocument } | undefined {
  try {
    const article = new Readability<PageDocument>(document as never, {
      serializer: (node) => node as unknown as PageDocument,
    }).parse();
    return article?.content ? { title: article.title ?? '', content: article.content } : undefined;
  } catch {
    // Some pages are too strange for it; their whole text remains.
    return undefined;
  }
}

function baseOf(document: PageDocument, url: string): string {
  const base = document.querySelector('base[href]')?.getAttribute?.('href') ?? '';
  return URL.canParse(base, url) ? new URL(base, url).href : url;
}

function linksIn(anchors: ArrayLike<PageElement>, base: string): PageLink[] {
  return Array.from({ length: Math.min(anchors.length, MOST_LINKS_SEEN) }, (_, at) => anchors[at]).flatMap((anchor) => {
    const href = anchor?.getAttribute?.('href')?.trim() ?? '';
    if (!anchor || href === '' || href.startsWith('#') || !URL.canParse(href, base)) return [];
    const target = new URL(href, base);
    target.hash = '';
    const isWeb = target.protocol === 'https:' || target.protocol === 'http:';
    if (!isWeb || target.href.length > LONGEST_URL) return [];
    return [{ text: shortText(anchor, LINK_TEXT), url: target.href }];
  });
}

/** One entry per address, with the first text that says something. */
function unique(links: readonly PageLink[]): readonly PageLink[] {
  const byUrl = new Map<string, PageLink>();
  for (const link of links) if (!byUrl.get(link.url)?.text) byUrl.set(link.url, link);
  return [...byUrl.values()].slice(0, MOST_LINKS);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 300);
}
