import { telegramConfig } from './telegram/config.js';
import { webConfig } from './web/config.js';

/**
 * Every platform, one line each: the schema of its block in the configuration, and how to load it. Loading waits until
 * the platform is switched on, so that one that is off costs neither start time nor memory.
 */
export const platforms = {
  telegram: { config: telegramConfig, load: () => import('./telegram/index.js') },
  web: { config: webConfig, load: () => import('./web/index.js') },
} as const;
