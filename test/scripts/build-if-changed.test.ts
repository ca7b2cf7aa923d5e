import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/build-if-changed.mjs');
let root: string;

/** A project whose build copies one file, counts itself, and fails while the source says so. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'threadloop-build-'));
  for (const folder of ['scripts', 'src', 'dist', 'node_modules/typescript']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  cpSync(script, join(root, 'scripts/build-if-changed.mjs'));
  write('scripts/copy-assets.mjs', '');
  write('tsconfig.json', '{}');
  write('tsconfig.build.json', '{}');
  write('node_modules/typescript/package.json', '{ "version": "1" }');
  write('src/main.ts', 'one');
  write('package.json', JSON.stringify({ scripts: { build: 'node build.cjs' } }));
  write(
    'build.cjs',
    `const fs = require('node:fs');
     fs.appendFileSync('builds', '.');
     const source = fs.readFileSync('src/main.ts', 'utf8');
     if (source === 'wrong') process.exit(3);
     fs.writeFileSync('dist/main.js', source);`,
  );
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (path: string, text: string) => writeFileSync(join(root, path), text);
const run = () => spawnSync(process.execPath, [join(root, 'scripts/build-if-changed.mjs')]).status;
const builds = () => readFileSync(join(root, 'builds'), 'utf8').length;

it('builds once, and again when a source, a setting or the result has changed', { timeout: 120_000 }, () => {
  expect([run(), run(), builds()]).toEqual([0, 0, 1]);
  write('src/main.ts', 'other');
  expect([run(), builds()]).toEqual([0, 2]);
  write('node_modules/typescript/package.json', '{ "version": "2" }');
  expect([run(), builds()]).toEqual([0, 3]);
  rmSync(join(root, 'dist/main.js'));
  expect([run(), builds()]).toEqual([0, 4]);
  write('dist/main.js', 'stale');
  expect([run(), run(), builds()]).toEqual([0, 0, 5]);
  expect(readFileSync(join(root, 'dist/main.js'), 'utf8')).toBe('other');
});

it('fails with the build, every time', { timeout: 120_000 }, () => {
  write('src/main.ts', 'wrong');
  expect([run(), run(), builds()]).toEqual([3, 3, 2]);
});
