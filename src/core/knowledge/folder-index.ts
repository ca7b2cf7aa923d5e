import { toError } from '../errors.js';
import type { Logger } from '../ports/logger.js';
import { chunksOf } from './chunks.js';
import { type FolderFile, isMarkdown, listFolder } from './folder.js';
import { createSearchIndex, type Passage, type SearchIndex } from './search-index.js';
import { sectionsOf } from './sections.js';
import { readTextFile } from './text-file.js';
import { createTimeSlices } from './time-slices.js';

/** Listed in one log line. */
const MOST_PROBLEMS = 20;

export interface FolderIndex {
  readonly index: SearchIndex;
  /** Brings the index in step with the folder. Throws when the folder cannot be read; the index stays as it was. */
  refresh(): Promise<void>;
}

/** A search index of the files of a folder; a refresh reads only what changed. One refresh at a time. */
export function createFolderIndex(path: string, logger: Logger | undefined): FolderIndex {
  const index = createSearchIndex();
  const known = new Map<string, { readonly stamp: string; readonly ids: readonly string[] }>();
  let told: ReadonlySet<string> = new Set();

  function forget(name: string): void {
    index.remove(known.get(name)?.ids ?? []);
    known.delete(name);
  }

  /** Once, as long as nothing changes. */
  function tell(problems: readonly string[]): void {
    const fresh = problems.filter((problem) => !told.has(problem));
    told = new Set(problems);
    if (fresh.length === 0) return;
    const fields = { path, problems: fresh.slice(0, MOST_PROBLEMS), count: fresh.length };
    logger?.warn(fields, 'not everything in the knowledge folder is searched');
  }

  async function take(file: FolderFile): Promise<string | undefined> {
    const ids: string[] = [];
    forget(file.name);
    try {
      for await (const passage of passagesOf(file)) {
        index.add(passage);
        ids.push(passage.id);
      }
      return undefined;
    } catch (thrown) {
      return toError(thrown).message;
    } finally {
      known.set(file.name, { stamp: file.stamp, ids });
    }
  }

  return {
    index,
    async refresh() {
      const began = performance.now();
      const { files, warnings } = await listFolder(path);
      const names = new Set(files.map(({ name }) => name));
      const gone = [...known.keys()].filter((name) => !names.has(name));
      const changed = files.filter(({ name, stamp }) => known.get(name)?.stamp !== stamp);
      for (const name of gone) forget(name);
      const problems = [...warnings];
      for (const file of changed) {
        const problem = await take(file);
        if (problem !== undefined) problems.push(problem);
      }
      tell(problems);
      if (gone.length + changed.length === 0) return;
      const milliseconds = Math.round(performance.now() - began);
      logger?.info({ path, files: files.length, passages: index.size, milliseconds }, 'knowledge read');
    },
  };
}

async function* passagesOf(file: FolderFile): AsyncGenerator<Passage> {
  const text = await readTextFile(file);
  const sections = isMarkdown(file.name) ? sectionsOf(text) : [{ path: [], body: text }];
  let number = 0;
  const breathe = createTimeSlices();
  for (const { path, body } of sections) {
    for (const chunk of chunksOf(body)) {
      number += 1;
      yield { id: `${file.name}#${number}`, file: file.name, heading: path.join(' > '), text: chunk };
      await breathe();
    }
  }
}
