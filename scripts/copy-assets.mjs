// tsc copies no page, script or style: the console's files go beside the compiled web adapter.
import { cpSync, rmSync } from 'node:fs';

const from = new URL('../src/adapters/web/console/', import.meta.url);
const to = new URL('../dist/adapters/web/console/', import.meta.url);

rmSync(to, { recursive: true, force: true });
cpSync(from, to, { recursive: true });
