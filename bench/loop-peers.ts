import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('peers', import.meta.url));
const PACKAGES = ['@mariozechner/pi-agent-core', '@openai/agents', 'openai'] as const;

/** Installs the loops of others where only the benchmark finds them, unless they are there; tells their versions. */
export function installPeers(): string {
  const locked = PACKAGES.map((name) => ({ name, version: versionIn(`${FOLDER}/package-lock.json`, name) }));
  if (locked.some(({ name, version }) => installedVersion(name) !== version)) {
    console.log('installing what to compare with into bench/peers/node_modules (once, about 190 MB) …');
    try {
      execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: FOLDER, stdio: 'inherit' });
    } catch (cause) {
      throw new Error('the peers could not be installed; `npm ci` in bench/peers says why', { cause });
    }
  }
  const ours = versionIn(fileURLToPath(new URL('../package-lock.json', import.meta.url)), 'openai');
  return `${locked.map(({ name, version }) => `${name} ${version}`).join(', ')}; ours: openai ${ours}`;
}

function versionIn(lockFile: string, name: string): string | undefined {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8')) as { packages: Record<string, { version?: string }> };
  return packages[`node_modules/${name}`]?.version;
}

function installedVersion(name: string): string | undefined {
  const manifest = `${FOLDER}/node_modules/${name}/package.json`;
  return existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version : undefined;
}
