import type { Config } from './config.js';
import { toError } from './core/errors.js';
import type { Logger } from './core/ports/logger.js';
import { openDeployment } from './jobs/deployment.js';
import type { PartsOptions, Role } from './parts.js';

export interface GatewayOptions {
  readonly config: Config;
  readonly role: Role;
  readonly logger: Logger;
  /** Gets one line for a person when something takes long. */
  readonly onProgress: (line: string) => void;
}

export interface Gateway {
  /** Where the HTTP server listens. */
  readonly url: string;
  /** Stops listening, lets runs finish within `worker.shutdownSeconds`, then hands them over. */
  close(): Promise<void>;
}

/** Opens the store and starts on it what the role asks for; on a failure everything is closed again. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, role, logger } = options;
  const load = () => import('./parts.js');
  // A database needs a second to open; the rest of the code is loaded meanwhile.
  const onOpening = () => void load();
  const deployment = await openDeployment({ ...config.store, logger, onProgress: options.onProgress, onOpening });
  const closers: PartsOptions['closers'] = [() => deployment.close()];
  try {
    const { startParts } = await load();
    const parts = await startParts({ config, role, logger, deployment, closers });
    logger.info({ role, store: deployment.kind, url: parts.url }, 'ready');
    return { url: parts.url, close: () => closeAll(closers, logger) };
  } catch (thrown) {
    await closeAll(closers, logger);
    throw thrown;
  }
}

/** Newest first: entrances close before the worker, the worker before the store. */
async function closeAll(closers: PartsOptions['closers'], logger: Logger): Promise<void> {
  for (let close = closers.pop(); close; close = closers.pop()) {
    await close().catch((error: unknown) => logger.error({ err: toError(error) }, 'a part did not stop in order'));
  }
}
