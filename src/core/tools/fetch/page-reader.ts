import { Worker } from 'node:worker_threads';
import { AbortedError, ThreadloopError } from '../../errors.js';
import type { ReadablePage } from './readable-page.js';

export interface PageQuestion {
  readonly html: string;
  /** Where the page came from; its links are relative to it. */
  readonly url: string;
}

/** What a thread says: that it runs, then an answer to each question. */
export type PageAnswer = { readonly page: ReadablePage } | { readonly problem: string };
export type ThreadMessage = PageAnswer | 'ready';

export interface PageReader {
  /** Throws ThreadloopError `web_fetch_failed` for a page that cannot be read in time; AbortedError. */
  read(question: PageQuestion, signal: AbortSignal): Promise<ReadablePage>;
}

/** Pages read at the same time; others wait. */
const MOST_THREADS = 2;
/** Ordinary pages take well under a second. */
const LIMIT_MS = 10_000;
/** For loading the parsers, on a busy machine. */
const START_LIMIT_MS = 20_000;
/** A thread costs some 40 MB; one that has nothing to do ends. */
const IDLE_MS = 30_000;
const HEAP_MEGABYTES = 256;

/** Reads pages in threads of its own, which start with the first page and end when there is none for a while. */
export function createPageReader({ limitMs = LIMIT_MS }: { limitMs?: number } = {}): PageReader {
  const idle = new Map<Worker, NodeJS.Timeout>();
  const waiting: (() => void)[] = [];
  let busy = 0;

  async function turn(signal: AbortSignal): Promise<void> {
    if (busy < MOST_THREADS) {
      busy += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
      const stop = () => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(new AbortedError('stopped before a page was read', signal.reason));
      };
      waiting.push(begin);
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** The turn goes to the next in line, or is free. */
  function endTurn(): void {
    const next = waiting.shift();
    if (next) next();
    else busy -= 1;
  }

  function take(): { worker: Worker; starting: boolean } {
    const [first] = idle;
    if (!first) {
      const worker = startThread();
      // Between two pages nobody else listens.
      worker.on('error', () => idle.delete(worker)).on('exit', () => idle.delete(worker));
      return { worker, starting: true };
    }
    const [worker, timer] = first;
    clearTimeout(timer);
    idle.delete(worker);
    worker.ref();
    return { worker, starting: false };
  }

  function giveBack(worker: Worker): void {
    worker.unref();
    idle.set(worker, setTimeout(() => void worker.terminate(), IDLE_MS).unref());
  }

  return {
    async read(question, signal) {
      await turn(signal);
      try {
        if (signal.aborted) throw new AbortedError('stopped before a page was read', signal.reason);
        const thread = take();
        const answer = await ask(thread, question, { signal, limitMs });
        giveBack(thread.worker);
        if ('page' in answer) return answer.page;
        throw unreadable(answer.problem);
      } finally {
        endTurn();
      }
    },
  };
}

interface Limits {
  readonly signal: AbortSignal;
  readonly limitMs: number;
}

/** A thread that did not answer is ended: it may be busy for ever. */
function ask(
  { worker, starting }: { worker: Worker; starting: boolean },
  question: PageQuestion,
  { signal, limitMs }: Limits,
): Promise<PageAnswer> {
  return new Promise((resolve, reject) => {
    let timer = setTimeout(tooLate, starting ? START_LIMIT_MS : limitMs);
    signal.addEventListener('abort', stop, { once: true });
    worker.on('message', hear).on('error', fail).on('exit', fail);
    worker.postMessage(question);

    function hear(message: ThreadMessage): void {
      clearTimeout(timer);
      if (message === 'ready') timer = setTimeout(tooLate, limitMs);
      else {
        release();
        resolve(message);
      }
    }
    function tooLate(): void {
      give(unreadable('it is too complex'));
    }
    function stop(): void {
      give(new AbortedError('stopped while a page was read', signal.reason));
    }
    function fail(cause: Error | number): void {
      give(unreadable(typeof cause === 'number' ? 'its reader ended' : cause.message));
    }
    function give(error: Error): void {
      release();
      reject(error);
      void worker.terminate();
    }
    function release(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      worker.off('message', hear).off('error', fail).off('exit', fail);
    }
  });
}

function unreadable(problem: string): ThreadloopError {
  return new ThreadloopError(`the page cannot be read: ${problem.slice(0, 200)}`, { code: 'web_fetch_failed' });
}

/** The compiled file, or the source through tsx while the sources themselves run (tests, development). */
function startThread(): Worker {
  const options = { env: {}, resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES } };
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./page-thread.js', import.meta.url), { ...options, execArgv: [] });
  }
  // Not `--import tsx`: that loads nothing in a worker thread.
  const loader = `import { register } from '${import.meta.resolve('tsx/esm/api')}'; register();`;
  const execArgv = ['--import', `data:text/javascript,${loader}`];
  return new Worker(new URL('./page-thread.ts', import.meta.url), { ...options, execArgv });
}
