import { benchFolder, startBenchGateway } from './gateway.js';

/** Time from start to ready of the built gateway: the first time with a new embedded database, then with data. */
export async function startTimes(): Promise<void> {
  const folder = benchFolder();
  try {
    const times: number[] = [];
    for (let i = 0; i < 4; i++) {
      const gateway = await startBenchGateway(folder.path, {});
      times.push(gateway.startMs);
      if (i === 0) console.log('start to ready, embedded database, without a model');
      console.log(
        `  ${i === 0 ? 'first time' : 'with data '}           ${gateway.startMs.toFixed(0)} ms, ${gateway.rssMb().toFixed(0)} MB`,
      );
      await gateway.stop();
    }
  } finally {
    folder.remove();
  }
}
