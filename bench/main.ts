import { acceptToRequest } from './latency.js';
import { loopOverhead } from './loop.js';
import { startTimes } from './start.js';
import { fiftyChats, longAnswers } from './telegram.js';

const benches = {
  start: startTimes,
  latency: acceptToRequest,
  fifty: fiftyChats,
  long: longAnswers,
  loop: loopOverhead,
} as const;

/** `npm run bench` runs all, `npm run bench -- long` one. Figures are for comparison within a run. */
const wanted = process.argv.slice(2);
for (const [name, bench] of Object.entries(benches)) if (wanted.length === 0 || wanted.includes(name)) await bench();
process.exit(0);
