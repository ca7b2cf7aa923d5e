import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { quantile } from './gateway.js';
import { expectedKeys, expectedText, type LoopQuestion, questionText } from './loop-model.js';
import { installPeers } from './loop-peers.js';

/** Others are measured beyond the first; the second is ours. */
const SUBJECTS = [
  { name: 'bare openai client', file: './loop-bare.mjs' },
  { name: 'our kernel', file: './loop-kernel.mjs' },
  { name: 'pi-agent-core', file: './peers/pi-agent-core.js' },
  { name: '@openai/agents', file: './peers/openai-agents.js' },
] as const;

interface Scenario {
  readonly title: string;
  readonly unit: 'round' | 'token';
  readonly question: LoopQuestion;
  /** Runs of one repetition, and how many of them at once. */
  readonly times: number;
  readonly parallel: number;
  /** Repetitions before the first that counts: until then the compiler is at work. */
  readonly warmUp: number;
  readonly repetitions: number;
}

const SCENARIOS: readonly Scenario[] = [
  {
    title: 'runs of 20 rounds with a sentence and a tool call each, then an answer',
    unit: 'round',
    question: { rounds: 20, words: 10 },
    times: 5,
    parallel: 1,
    warmUp: 4,
    repetitions: 40,
  },
  {
    title: 'answers of 3,000 tokens, as fast as they come, many in one read',
    unit: 'token',
    question: { rounds: 0, words: 3_000 },
    times: 4,
    parallel: 1,
    warmUp: 3,
    repetitions: 25,
  },
  {
    title: 'eight answers of 500 tokens at once, 250 a second each, one in a read',
    unit: 'token',
    question: { rounds: 0, words: 500, wordsPerSecond: 250 },
    times: 8,
    parallel: 8,
    warmUp: 1,
    repetitions: 15,
  },
];

interface Subject {
  readonly name: string;
  /** CPU time of one repetition, µs per unit. Rejects when text or tool calls are missing. */
  measure(scenario: Scenario): Promise<number>;
  stop(): void;
}

/**
 * CPU time of agent loops on one stub model, each in a process of its own, taking turns. Goal: what our kernel needs
 * beyond the bare client is at most half of what each of the others needs.
 */
export async function loopOverhead(): Promise<void> {
  console.log(`agent loops: ${installPeers()}`);
  // The loader for TypeScript is among the arguments of this process.
  const server = fork(local('loop-model.ts'), { execArgv: [...process.execArgv, '--no-warnings'] });
  const subjects: Subject[] = [];
  try {
    const { url } = (await nextMessage(server)) as { url: string };
    for (const { name, file } of SUBJECTS) subjects.push(await startSubject(name, file, url));
    for (const scenario of SCENARIOS) report(scenario, await measureInTurn(subjects, scenario));
  } finally {
    for (const subject of subjects) subject.stop();
    server.kill();
  }
}

async function startSubject(name: string, file: string, url: string): Promise<Subject> {
  const { PATH = '', HOME = '' } = process.env;
  const child = fork(local('loop-subject.mjs'), [file, url], {
    execArgv: ['--no-warnings'],
    env: { PATH, HOME },
  });
  await nextMessage(child);
  return {
    name,
    async measure({ unit, question, times, parallel }) {
      child.send({ question: questionText(question), times, parallel });
      const measured = (await nextMessage(child)) as Measured;
      checkComplete(name, measured, question, times);
      // The answer is a round, too.
      const units = unit === 'round' ? question.rounds + 1 : question.words;
      return (measured.cpuMs * 1_000) / (units * times);
    },
    stop: () => child.disconnect(),
  };
}

interface Measured {
  readonly cpuMs: number;
  readonly texts: readonly string[];
  readonly keys: readonly string[];
  readonly error?: string;
}

function checkComplete(name: string, { texts, keys, error }: Measured, question: LoopQuestion, times: number): void {
  if (error) throw new Error(`${name}: ${error}`);
  const whole = texts.filter((text) => text === expectedText(question)).length;
  if (whole !== times) throw new Error(`${name}: ${whole} of ${times} texts arrived whole`);
  const wanted = Array.from({ length: times }, () => expectedKeys(question)).flat();
  if (keys.join() !== wanted.join()) throw new Error(`${name}: ${keys.length} of ${wanted.length} tool calls ran`);
}

/** µs per unit, a row for each subject and a column for each repetition; who begins changes every time. */
async function measureInTurn(subjects: readonly Subject[], scenario: Scenario): Promise<readonly number[][]> {
  const rows: number[][] = subjects.map(() => []);
  const { warmUp, repetitions } = scenario;
  for (let repetition = 0; repetition < warmUp + repetitions; repetition += 1) {
    for (const turn of subjects.keys()) {
      const at = (turn + repetition) % subjects.length;
      const microseconds = (await subjects[at]?.measure(scenario)) ?? Number.NaN;
      if (repetition >= warmUp) rows[at]?.push(microseconds);
    }
  }
  return rows;
}

/** The lowest tenth is nearest to a quiet machine: what else runs makes the same work dearer, never cheaper. */
const SHARES = [
  { name: 'median', share: 0.5 },
  { name: 'lowest tenth', share: 0.1 },
] as const;

function report({ title, unit, repetitions }: Scenario, rows: readonly (readonly number[])[]): void {
  console.log(`${title}: CPU per ${unit} in µs, ${repetitions} times, all complete`);
  const heads = SHARES.map(
    ({ name }) => `${name.padStart(14)}${'beyond bare'.padStart(13)}${'ours/theirs'.padStart(13)}`,
  );
  console.log(`  ${''.padEnd(20)}${heads.join('')}`);
  for (const [at, { name }] of SUBJECTS.entries()) {
    const columns = SHARES.map(({ share }) => columnsOf(rows, at, share));
    console.log(`  ${name.padEnd(20)}${columns.join('')}`);
  }
}

/** What a subject takes, what of it is beyond the bare client, and how much of that ours would take. */
function columnsOf(rows: readonly (readonly number[])[], at: number, share: number): string {
  const figures = rows.map((row) => quantile(row, share));
  const [bare = 0, ours = 0] = figures;
  const own = figures[at] ?? Number.NaN;
  const beyond = own - bare;
  const ratio = ours <= bare ? 'none' : beyond <= 0 ? 'noise' : ((ours - bare) / beyond).toFixed(2);
  const columns = [own.toFixed(1).padStart(14), at > 0 ? beyond.toFixed(1) : '', at > 1 ? ratio : ''];
  return columns.map((column) => column.padStart(13)).join('');
}

const local = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a process of the benchmark ended with ${code}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}
