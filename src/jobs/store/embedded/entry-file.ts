/** How to start a file of this folder in a thread or a process of its own. */
export interface EntryFile {
  readonly url: URL;
  readonly execArgv: string[];
}

/** The compiled file, or, while the sources themselves run (tests, development), the source through tsx. */
export function entryFile(name: string): EntryFile {
  if (!import.meta.url.endsWith('.ts')) return { url: new URL(`./${name}.js`, import.meta.url), execArgv: [] };
  // Not `--import tsx`: that loads nothing in a worker thread.
  const api = import.meta.resolve('tsx/esm/api');
  const loader = `data:text/javascript,import { register } from '${api}'; register();`;
  return { url: new URL(`./${name}.ts`, import.meta.url), execArgv: ['--import', loader] };
}
