import type { TestProject } from 'vitest/node';
import { type Availability, findProgram, type Server, startPostgres, startRedis } from './services.js';

declare module 'vitest' {
  interface ProvidedContext {
    redis: Availability;
    postgres: Availability;
  }
}

/**
 * Starts one private Redis and one private PostgreSQL for the run. Where a program is missing, its suite shows one
 * skipped test that says so; `THREADLOOP_TEST_REQUIRE=redis,postgres` makes the run fail instead.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const required = (process.env.THREADLOOP_TEST_REQUIRE ?? '').split(',').map((name) => name.trim());
  const missing = [
    ...(findProgram('redis-server') ? [] : ['redis']),
    ...(findProgram('initdb') && findProgram('postgres') ? [] : ['postgres']),
  ];
  for (const name of missing) {
    if (required.includes(name)) throw new Error(`THREADLOOP_TEST_REQUIRE names ${name}, which is not installed here`);
  }
  const running: Server[] = [];
  const provide = async (name: 'redis' | 'postgres', program: string, start: () => Promise<Server>) => {
    if (missing.includes(name)) return project.provide(name, { missing: `skipped: ${program} not found` });
    const server = await start();
    running.push(server);
    project.provide(name, { url: server.url });
  };
  const stop = async () => {
    await Promise.all(running.map((server) => server.stop()));
  };
  const started = await Promise.allSettled([
    provide('redis', 'redis-server', startRedis),
    provide('postgres', 'postgres', startPostgres),
  ]);
  const failed = started.find((one) => one.status === 'rejected');
  if (failed === undefined) return stop;
  await stop();
  throw failed.reason;
}
