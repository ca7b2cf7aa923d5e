import { PGlite } from '@electric-sql/pglite';

/**
 * Settings of the embedded PostgreSQL. The buffers are written into WebAssembly memory as a whole, so a small pool
 * saves both memory (128 MB by default) and start time; the gateway's data fits into a few MB.
 */
const SHARED_BUFFERS = '16MB';

/** Arguments for initdb: small buffers while it works, and WAL files of 1 MB in place of 16 MB. */
export const CREATION_SETTINGS = ['--set', `shared_buffers=${SHARED_BUFFERS}`, '--wal-segsize', '1'] as const;

/** Arguments for every start. */
export function startParams(): string[] {
  return [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`];
}
