import { textTokens } from '../llm/tokens.js';

/** Estimated tokens of a chunk, and of what it repeats from the one before. */
const CHUNK = { tokens: 300, overlap: 40 } as const;

const FENCE = /^ {0,3}(```|~~~)/;
const SENTENCE_END = /(?<=[.!?][)"'”’]?\s)|(?<=[。！？；…])/u;

/**
 * Cuts a text into chunks of about 300 tokens: between paragraphs where possible, else between lines, sentences, and in
 * the worst case anywhere but inside a character. A chunk begins with the last sentences of the one before it, so that
 * what stands at a border is found with its context.
 */
export function chunksOf(text: string): readonly string[] {
  if (textTokens(text) <= CHUNK.tokens) return text.trim() === '' ? [] : [text.trim()];
  const chunks: string[] = [];
  let open = '';
  let tokens = 0;
  for (const slice of slicesOf(text)) {
    const more = textTokens(slice);
    if (tokens > 0 && tokens + more > CHUNK.tokens) {
      chunks.push(open.trim());
      open = tailOf(open);
      tokens = textTokens(open);
      // A slice that fills a chunk of its own leaves no room for a repetition.
      if (tokens + more > CHUNK.tokens) {
        open = '';
        tokens = 0;
      }
    }
    open += slice;
    tokens += more;
  }
  if (open.trim() !== '') chunks.push(open.trim());
  return chunks;
}

/** Consecutive parts of the text, together the whole text, each at most a chunk long. */
function slicesOf(text: string): readonly string[] {
  return blocksOf(text)
    .flatMap((block) => splitLong(block, linesOf))
    .flatMap((line) => splitLong(line, (long) => long.split(SENTENCE_END)))
    .flatMap((sentence) => splitLong(sentence, hardCuts));
}

function splitLong(text: string, split: (text: string) => readonly string[]): readonly string[] {
  return textTokens(text) <= CHUNK.tokens ? [text] : split(text);
}

/** Paragraphs with the blank lines behind them; a code block is one. */
function blocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  let block = '';
  let fenced = false;
  for (const line of linesOf(text)) {
    if (FENCE.test(line)) fenced = !fenced;
    block += line;
    if (fenced || line.trim() !== '') continue;
    blocks.push(block);
    block = '';
  }
  return block === '' ? blocks : [...blocks, block];
}

function linesOf(text: string): readonly string[] {
  return text.split(/(?<=\n)/);
}

function hardCuts(text: string): readonly string[] {
  const size = Math.max(1, Math.floor((text.length * CHUNK.tokens) / textTokens(text) / 1.2));
  const cuts: string[] = [];
  for (let from = 0; from < text.length; ) {
    let end = Math.min(text.length, from + size);
    if (end < text.length && isLowSurrogate(text.charCodeAt(end))) end += 1;
    cuts.push(text.slice(from, end));
    from = end;
  }
  return cuts;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

/** The last whole sentences or lines within the overlap; '' when the last one is already longer. */
function tailOf(chunk: string): string {
  const sentences = linesOf(chunk).flatMap((line) => line.split(SENTENCE_END));
  let tail = '';
  for (let at = sentences.length - 1; at >= 0; at -= 1) {
    const longer = `${sentences[at]}${tail}`;
    if (textTokens(longer) > CHUNK.overlap) break;
    tail = longer;
  }
  return tail.trim() === '' ? '' : tail;
}
