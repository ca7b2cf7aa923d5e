/** Full-text search over the sections of a few markdown documents; small on purpose, for the demo model. */

export interface Doc {
  readonly title: string;
  /** Markdown. */
  readonly text: string;
}

export interface Section {
  readonly doc: string;
  /** '' for what stands before a document's first heading. */
  readonly heading: string;
  readonly body: string;
}

/** Usual saturation of repeated words and weight of the length, as in BM25. */
const WEIGHTS = { saturation: 1.4, length: 0.6, heading: 3 } as const;

const STOP_WORDS = new Set(
  'a an and are as at be by can do does for from has have how i if in is it its me my of on or so that the this to us was what when where which who why will with you your about there tell please threadloop'.split(
    ' ',
  ),
);

/** Words of Chinese questions that stand in English documents under another name. */
const GLOSSARY: readonly (readonly [string, string])[] = [
  ['启动', 'start'],
  ['安装', 'install start'],
  ['配置', 'config'],
  ['数据库', 'database store'],
  ['引导', 'steer steering'],
  ['停止', 'stop'],
  ['审批', 'approval'],
  ['工具', 'tool'],
  ['模型', 'model'],
  ['计划', 'plan'],
  ['压缩', 'compression'],
  ['平台', 'platform'],
  ['费用', 'cost price usage'],
  ['部署', 'deploy'],
  ['令牌', 'token'],
  ['测试', 'test'],
  ['架构', 'architecture layout'],
  ['队列', 'queue job'],
  ['许可', 'licence license'],
  ['丢失', 'lost kill crash'],
  ['网页', 'web console'],
  ['电报', 'telegram'],
];

interface Indexed {
  readonly section: Section;
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

export interface DocSearch {
  readonly sections: readonly Section[];
  /** The section that answers best, or undefined when no word of the question stands anywhere. */
  best(question: string): Section | undefined;
}

export function createDocSearch(docs: readonly Doc[]): DocSearch {
  const sections = docs.flatMap(sectionsOf);
  const indexed = sections.map(index);
  const rarity = rarityOf(indexed);
  const average = indexed.reduce((sum, { length }) => sum + length, 0) / Math.max(1, indexed.length);
  return {
    sections,
    best(question) {
      const words = new Set(wordsOf(withEnglish(question)));
      let best: { readonly section: Section; readonly score: number } | undefined;
      for (const { section, counts, length } of indexed) {
        let score = 0;
        for (const word of words) {
          const count = counts.get(word) ?? 0;
          const norm = WEIGHTS.saturation * (1 - WEIGHTS.length + (WEIGHTS.length * length) / average);
          score += ((rarity.get(word) ?? 0) * count) / (count + norm);
        }
        if (score > (best?.score ?? 0)) best = { section, score };
      }
      return best?.section;
    },
  };
}

/** Splits at headings; lines that look like headings inside code blocks are none. */
function sectionsOf({ title, text }: Doc): readonly Section[] {
  const sections: Section[] = [];
  let heading = '';
  let lines: string[] = [];
  let fenced = false;
  const close = () => {
    const body = lines.join('\n').trim();
    if (body !== '') sections.push({ doc: title, heading, body });
    lines = [];
  };
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    const found = fenced ? undefined : /^#{1,6}\s+(.+?)\s*#*$/.exec(line)?.[1];
    if (found === undefined) {
      const previous = lines.at(-1);
      // A chat shows line ends as they are, so paragraphs that were wrapped for an editor are joined again.
      if (!fenced && previous !== undefined && continues(previous, line)) lines.push(`${lines.pop()} ${line.trim()}`);
      else lines.push(line);
      continue;
    }
    close();
    heading = found;
  }
  close();
  return sections;
}

function continues(previous: string, line: string): boolean {
  const startsBlock = /^\s*([-*+>|#]|\d+[.)]\s|```|~~~|$)/;
  return previous.trim() !== '' && !startsBlock.test(line) && !/^\s*([|#]|```|~~~)/.test(previous);
}

function index(section: Section): Indexed {
  const counts = new Map<string, number>();
  const body = wordsOf(section.body);
  for (const word of body) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const word of wordsOf(`${section.heading} ${section.doc}`)) {
    counts.set(word, (counts.get(word) ?? 0) + WEIGHTS.heading);
  }
  return { section, counts, length: body.length };
}

function rarityOf(indexed: readonly Indexed[]): ReadonlyMap<string, number> {
  const holders = new Map<string, number>();
  for (const { counts } of indexed) {
    for (const word of counts.keys()) holders.set(word, (holders.get(word) ?? 0) + 1);
  }
  return new Map([...holders].map(([word, count]) => [word, Math.log(1 + indexed.length / count)]));
}

/** Latin words without stop words and plural endings; Chinese as pairs of characters. */
function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  for (const [run] of text.toLowerCase().matchAll(/[a-z0-9_]+|\p{Script=Han}+/gu)) {
    if (/^[a-z0-9_]/.test(run)) {
      if (run.length > 1 && !STOP_WORDS.has(run)) words.push(run.length > 3 ? run.replace(/(ing|ed|s)$/, '') : run);
    } else {
      const characters = [...run];
      for (let at = 0; at + 1 < characters.length; at += 1) words.push(`${characters[at]}${characters[at + 1]}`);
    }
  }
  return words;
}

function withEnglish(question: string): string {
  const english = GLOSSARY.filter(([chinese]) => question.includes(chinese)).map(([, words]) => words);
  return [question, ...english].join(' ');
}
