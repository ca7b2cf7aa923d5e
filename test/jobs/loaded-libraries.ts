import { createRequire } from 'node:module';
import { openDeployment } from '../../src/jobs/deployment.js';
import { quietLogger } from '../fakes/quiet.js';

/** Opens the deployment in INPUT and says which database drivers this process has loaded. */
const config = JSON.parse(process.env.INPUT ?? '{}');
const deployment = await openDeployment({ ...config, logger: quietLogger, onProgress: () => undefined });
const files = Object.keys(createRequire(import.meta.url).cache);
const loaded = ['ioredis', 'pg', 'pglite'].filter((name) =>
  files.some((file) => file.includes(`/node_modules/${name}/`)),
);
await deployment.close();
process.send?.(loaded);
process.disconnect();
