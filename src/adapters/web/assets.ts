import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context } from 'hono';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface Asset {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly etag: string;
}

/** The files of the console page, read once; they lie beside this module in `src` and in `dist`. */
export function loadAssets(): ReadonlyMap<string, Asset> {
  const folder = new URL('./console/', import.meta.url);
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(fileURLToPath(folder))) {
    const type = TYPES[extname(name)];
    if (!type) continue;
    const bytes = new Uint8Array(readFileSync(new URL(name, folder)));
    assets.set(name, { bytes, type, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` });
  }
  return assets;
}

/** Answers with a file; browsers ask again each time, and get a 304 when nothing changed. */
export function assetResponse(c: Context, asset: Asset, status: 200 | 401 = 200): Response {
  const headers = { 'Content-Type': asset.type, 'Cache-Control': 'no-cache', ETag: asset.etag };
  if (status === 200 && c.req.header('if-none-match') === asset.etag) return c.body(null, 304, headers);
  return c.body(asset.bytes, status, headers);
}
