import { tidied } from './text-reduction.js';

/** Characters: the shortest run of base64 that is taken for data, and the longest alternative text that is kept. */
const LIMITS = { data: 200, alt: 200 } as const;

/**
 * The rules that make a long tool result shorter without changing a word, name or number of it: embedded data and
 * images become a remark, blanks that mean nothing go, equal lines in a row are counted.
 */
export function cleanedContent(text: string): string {
  const compact = compactJson(text);
  if (compact !== undefined) return withoutData(compact);
  return countedLines(tidied(withoutImages(withoutData(text))));
}

/** JSON without blanks between its parts; its texts and numbers stay as they were written. */
function compactJson(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|\s+/g, (part) => (part.startsWith('"') ? part : ''));
}

function withoutData(text: string): string {
  return text
    .replace(/data:[\w.+-]{1,80}\/[\w.+-]{1,80};base64,[\w+/=-]*/g, remark)
    .replace(/[\w+/=-]+/g, (run) => (run.length >= LIMITS.data && isData(run) ? remark(run) : run));
}

function remark(data: string): string {
  return `[embedded data, ${data.length} characters]`;
}

/** Unlike paths, long names and hex: all kinds of characters, hardly ever two of a kind in a row. */
function isData(run: string): boolean {
  const sample = run.slice(0, 10 * LIMITS.data);
  const switches = sample.match(/[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[a-zA-Z])/g)?.length ?? 0;
  return /[a-z]/.test(sample) && /[A-Z]/.test(sample) && switches > sample.length * 0.3;
}

/** No part may hold a bracket: so a search ends where the next may begin, and hostile text costs no more than other. */
function withoutImages(text: string): string {
  return text.replace(/!\[([^[\]\n]*)\]\([^()[\]\s]*\)/g, (_, alt: string) => {
    const told = alt.trim().slice(0, LIMITS.alt).trim();
    return told === '' ? '' : `[image: ${told}]`;
  });
}

function countedLines(text: string): string {
  const lines: string[] = [];
  let times = 1;
  const close = () => {
    if (times > 1) lines.push(`[the line above stands ${times} times]`);
    times = 1;
  };
  for (const line of text.split('\n')) {
    if (line !== '' && line === lines.at(-1)) times += 1;
    else {
      close();
      lines.push(line);
    }
  }
  close();
  return lines.join('\n');
}
