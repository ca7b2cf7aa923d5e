import { z } from 'zod';

/** Settings of the web console and its API. Address, port, token and allowed hosts belong to `http`. */
export const webConfig = z.strictObject({
  enabled: z.boolean().default(true).describe('Serve the console page and the web API'),
});
