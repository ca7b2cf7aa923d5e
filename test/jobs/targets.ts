import { createHash, randomBytes } from 'node:crypto';
import { access, cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, inject, it } from 'vitest';
import { type DeploymentOptions, openDeployment } from '../../src/jobs/deployment.js';
import { ensureDatabase } from '../../src/jobs/store/embedded/database.js';
import { quietLogger } from '../fakes/quiet.js';
import { createDatabase, startRedis } from '../services.js';

/** A place for one deployment that nobody else uses. */
export interface Target {
  readonly kind: 'embedded' | 'postgres' | 'redis';
  /** For `openDeployment`, also in another process. */
  readonly config: Pick<DeploymentOptions, 'redisUrl' | 'postgresUrl' | 'dataDir'>;
  remove(): Promise<void>;
}

/** Describes the same on the three deployments; one that is missing here shows a skipped test that says so. */
export function describeOnTargets(title: string, suite: (make: () => Promise<Target>) => void): void {
  describe(`${title}, embedded`, () => suite(embeddedTarget));
  describeOnSharedTargets(title, suite);
}

/** The same without the embedded database, which belongs to one process. */
export function describeOnSharedTargets(title: string, suite: (make: () => Promise<Target>) => void): void {
  for (const [kind, make] of [
    ['postgres', postgresTarget],
    ['redis', redisTarget],
  ] as const) {
    const found = inject(kind);
    if ('missing' in found) it.skip(found.missing, () => undefined);
    else describe(`${title}, ${kind}`, () => suite(make));
  }
}

async function embeddedTarget(): Promise<Target> {
  const dataDir = await freshDataDir();
  return { kind: 'embedded', config: { dataDir }, remove: () => rm(dataDir, { recursive: true, force: true }) };
}

async function postgresTarget(): Promise<Target> {
  const found = inject('postgres');
  if ('missing' in found) throw new Error(found.missing);
  const { url, drop } = await createDatabase(found.url);
  return { kind: 'postgres', config: { postgresUrl: url, dataDir: '' }, remove: drop };
}

async function redisTarget(): Promise<Target> {
  const server = await startRedis();
  return { kind: 'redis', config: { redisUrl: server.url, dataDir: '' }, remove: () => server.stop() };
}

/** Opens a deployment that says nothing. */
export function open(target: Target) {
  return openDeployment({ ...target.config, logger: quietLogger, onProgress: () => undefined });
}

/**
 * A new data directory that already holds an empty database, copied from one kept in node_modules/.cache: making one
 * takes several seconds.
 */
export async function freshDataDir(): Promise<string> {
  const template = await databaseTemplate();
  const dataDir = await mkdtemp(join(tmpdir(), 'tl-data-'));
  await cp(template, join(dataDir, 'database'), { recursive: true });
  return dataDir;
}

async function databaseTemplate(): Promise<string> {
  const root = new URL('../../', import.meta.url);
  const makers = ['node_modules/@electric-sql/pglite/package.json', 'src/jobs/store/embedded/database-settings.ts'];
  const digest = createHash('sha256');
  for (const maker of makers) digest.update(await readFile(new URL(maker, root)));
  const cache = fileURLToPath(new URL('node_modules/.cache/threadloop-test/', root));
  const template = join(cache, `database-${digest.digest('hex').slice(0, 12)}`);
  const exists = () =>
    access(join(template, 'PG_VERSION')).then(
      () => true,
      () => false,
    );
  if (await exists()) return template;
  const workshop = join(cache, `making-${randomBytes(4).toString('hex')}`);
  await mkdir(workshop, { recursive: true });
  await ensureDatabase(workshop, join(workshop, 'database'), () => undefined);
  await rename(join(workshop, 'database'), template).catch(async (error) => {
    // Another test file was faster.
    if (!(await exists())) throw error;
  });
  await rm(workshop, { recursive: true, force: true });
  return template;
}
