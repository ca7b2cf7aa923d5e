/**
 * Entry of a worker thread: reads pages. A page can be made so that parsing it takes minutes; here it can be stopped,
 * and holds up nobody's answer.
 */
import { parentPort } from 'node:worker_threads';
import { toError } from '../../errors.js';
import type { PageQuestion, ThreadMessage } from './page-reader.js';
import { readPage } from './readable-page.js';

function say(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', ({ html, url }: PageQuestion) => {
  try {
    say({ page: readPage(html, url) });
  } catch (thrown) {
    say({ problem: toError(thrown).message });
  }
});
say('ready');
