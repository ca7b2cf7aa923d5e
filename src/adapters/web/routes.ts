import { Hono } from 'hono';
import type { Records } from '../../core/ports/store.js';
import { type ApiPorts, createApi } from './api.js';
import { assetResponse, loadAssets } from './assets.js';
import type { Gate } from './gate.js';
import { bodies, parseBody } from './request.js';

export type WebRoutesOptions = ApiPorts & { readonly records: Records };

/** The console page and `/api`, as the HTTP server takes them. */
export interface WebRoutes {
  /** Keeps the secret of the gate's cookies. */
  readonly records: Records;
  /** Builds the routes behind a gate; called once by the server. */
  mount(gate: Gate): Hono;
  /** Ends the open event streams. */
  close(): void;
}

/**
 * `/` is the console (the sign-in page for a browser without session), `/console/*` its files, which hold nothing
 * secret, and `/api/*` the calls of design section 8.
 */
export function createWebRoutes(options: WebRoutesOptions): WebRoutes {
  const assets = loadAssets();
  let close = (): void => undefined;

  function mount(gate: Gate): Hono {
    const api = createApi(options, gate);
    close = api.close;
    const app = new Hono();

    app.get('/', async (c) => {
      const granted = await gate.access(c);
      const page = assets.get(granted ? 'index.html' : 'login.html');
      if (!page) throw new Error('the console page is missing from the build');
      if (granted) await gate.browserPerson(c);
      return assetResponse(c, page, granted ? 200 : 401);
    });
    app.get('/console/:file', (c) => {
      const asset = assets.get(c.req.param('file'));
      if (!asset || asset.type.startsWith('text/html')) return c.notFound();
      return assetResponse(c, asset);
    });

    app.post('/api/session', async (c) => {
      const { token } = await parseBody(c, bodies.session);
      await gate.login(c, token);
      return c.body(null, 204);
    });
    app.use('/api/*', async (c, next) => {
      await gate.require(c);
      c.header('Cache-Control', 'no-store');
      await next();
    });
    app.route('/api', api.app);
    return app;
  }

  return { records: options.records, mount, close: () => close() };
}
