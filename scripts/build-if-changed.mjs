/**
 * Builds `dist` unless it already is what these sources, settings and compiler give: for `npm start`, because a build
 * takes longer than a start. `npm run build` always builds.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const STAMP = 'dist/.built';
const SETTINGS = [
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/copy-assets.mjs',
  'node_modules/typescript/package.json',
];

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp()) process.exit(0);
const { status } = spawnSync('npm', ['run', '-s', 'build'], { stdio: 'inherit', shell: process.platform === 'win32' });
if (status === 0) writeFileSync(STAMP, stamp());
process.exit(status ?? 1);

/** The content of what goes in and of what came out: somebody may have built or removed something in between. */
function stamp() {
  const hash = createHash('sha256');
  for (const path of [...SETTINGS, ...filesIn('src'), ...filesIn('dist')]) {
    if (path !== STAMP) hash.update(`${path}\0`).update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex');
}

function filesIn(folder) {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  return files.map((path) => path.replaceAll('\\', '/')).sort();
}
