import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchGateway, benchFolder, quantile, startBenchGateway } from './gateway.js';

const CONVERSATIONS = 5;
const STARTS = 5;

/**
 * Time from spawn to `/readyz` 200 of the built gateway: the first time with a new embedded database, then with data,
 * after an orderly stop and after a kill in mid-answer.
 */
export async function startTimes(): Promise<void> {
  const folder = benchFolder();
  const start = () => startBenchGateway(folder.path, {});
  try {
    console.log('start to ready, embedded database, without a model');
    let gateway = await start();
    show('first time', [gateway]);
    for (let i = 0; i < CONVERSATIONS; i++) await ask(gateway, `bench-${i}`, 'final');
    for (const [label, signal] of [
      ['with data', 'SIGTERM'],
      ['after a kill', 'SIGKILL'],
    ] as const) {
      const started: BenchGateway[] = [];
      for (let i = 0; i < STARTS; i++) {
        if (signal === 'SIGKILL') await ask(gateway, `bench-kill-${i}`, 'streaming');
        await gateway.stop(signal);
        gateway = await start();
        started.push(gateway);
      }
      show(label, started);
    }
    await gateway.stop();
  } finally {
    folder.remove();
  }
}

/** The newest is still running, so that its memory can be read. */
function show(label: string, gateways: readonly BenchGateway[]): void {
  const times = gateways.map(({ startMs }) => startMs);
  const all = times.length > 1 ? ` (${times.map((ms) => ms.toFixed(0)).join(', ')})` : '';
  const memory = gateways.at(-1)?.rssMb().toFixed(0);
  console.log(`  ${label.padEnd(20)} ${quantile(times, 0.5).toFixed(0)} ms${all}, ${memory} MB`);
}

/** Asks the demo model; resolves when its answer is there, or at least begun. */
async function ask({ url }: BenchGateway, conversation: string, state: 'streaming' | 'final'): Promise<void> {
  const address = `${url}/api/conversations/${conversation}`;
  const body = JSON.stringify({ text: 'How does Threadloop survive a kill?' });
  const sent = await fetch(`${address}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  if (sent.status !== 202) throw new Error(`refused: ${await sent.text()}`);
  for (;;) {
    const { messages } = (await (await fetch(address)).json()) as { messages: { role: string; state: string }[] };
    const answer = messages.findLast(({ role }) => role === 'bot');
    if (answer && [state, 'final'].includes(answer.state)) return;
    await sleep(20);
  }
}
