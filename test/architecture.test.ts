import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules/.bin');
const rules = (createRequire(import.meta.url)('../.dependency-cruiser.cjs') as { forbidden: { name: string }[] })
  .forbidden;

/** Every rule with files that break it: `[rule, file, its text]`. */
const directionSeeds: readonly (readonly [rule: string, file: string, text: string])[] = [
  ['ports-stand-alone', 'core/ports/seed.ts', "import '../agent/hooks.js';"],
  [
    'ports-stand-alone',
    'core/ports/seed-type.ts',
    "import type { Tool } from '../tools/tool.js'; export type X = Tool;",
  ],
  ['chat-is-below-the-agent', 'core/chat/seed.ts', "import '../agent/events.js';"],
  [
    'chat-is-below-the-agent',
    'core/chat/seed-model.ts',
    "import type { Model } from '../llm/model.js'; export type X = Model;",
  ],
  ['core-is-the-bottom-layer', 'core/agent/seed-jobs.ts', "import '../../jobs/stops.js';"],
  ['core-is-the-bottom-layer', 'core/chat/seed-adapter.ts', "import '../../adapters/web/config.js';"],
  ['core-is-the-bottom-layer', 'core/llm/seed-root.ts', "import '../../logger.js';"],
  ['core-knows-no-infrastructure', 'core/agent/seed-queue.ts', "import 'bullmq';"],
  [
    'core-knows-no-infrastructure',
    'core/chat/seed-platform.ts',
    "import type { Api } from 'grammy'; export type X = Api;",
  ],
  ['core-knows-no-infrastructure', 'core/llm/seed-server.ts', "import 'hono';"],
  ['kernel-knows-no-plan-or-tool', 'core/agent/model-call.ts', "import '../tools/tool.js';"],
  ['kernel-knows-no-plan-or-tool', 'core/agent/events.ts', "import '../policy/seed.js';"],
  ['kernel-knows-no-plan-or-tool', 'core/agent/hooks.ts', "import type { X } from './run-turn.js'; export type Y = X;"],
  ['adapters-see-only-chat', 'adapters/web/seed-agent.ts', "import '../../core/agent/hooks.js';"],
  ['adapters-see-only-chat', 'adapters/telegram/seed-jobs.ts', "import '../../jobs/stops.js';"],
  [
    'adapters-see-only-chat',
    'adapters/telegram/seed-root.ts',
    "import type { Config } from '../../config.js'; export type X = Config;",
  ],
  ['adapters-do-not-see-each-other', 'adapters/web/seed-sibling.ts', "import '../telegram/config.js';"],
  ['adapters-do-not-see-each-other', 'adapters/telegram/seed-registry.ts', "import '../index.js';"],
  ['jobs-get-adapters-as-objects', 'jobs/seed-adapter.ts', "import '../adapters/web/config.js';"],
  [
    'jobs-get-adapters-as-objects',
    'jobs/store/seed-root.ts',
    "import type { Config } from '../../config.js'; export type X = Config;",
  ],
  ['queue-and-database-only-in-jobs', 'seed-redis.ts', "import 'ioredis';"],
  [
    'queue-and-database-only-in-jobs',
    'adapters/web/seed-pg.ts',
    "import type { Pool } from 'pg'; export type X = Pool;",
  ],
  ['platform-library-only-in-its-adapter', 'seed-grammy.ts', "import 'grammy';"],
  ['platform-library-only-in-its-adapter', 'adapters/web/seed-grammy.ts', "import 'grammy';"],
  ['config-imports-nothing-heavy', 'config/seed.ts', "import '../jobs/stops.js';"],
  ['nobody-imports-the-entry', 'seed-entry.ts', "import './cli.js';"],
  ['no-orphans', 'core/chat/seed-orphan.ts', 'export const alone = 1;'],
  ['src-does-not-import-test-code', 'seed-test.ts', "import '../test/seed.js';"],
  ['no-development-packages-in-src', 'seed-dev.ts', "import 'tsx';"],
  ['no-unresolvable', 'seed-nowhere.ts', "import './not-here.js';"],
];

/** House rules of Biome, each with a file that breaks it. */
const lintSeeds: readonly (readonly [rule: string, file: string, text: string])[] = [
  ['suspicious/noExplicitAny', 'src/core/seed-any.ts', 'export const x: any = 1;'],
  ['style/noNonNullAssertion', 'src/core/seed-bang.ts', 'export const x = (m: Map<1, 2>) => m.get(1)!;'],
  ['suspicious/noConsole', 'src/core/seed-console.ts', "console.log('x');"],
  ['style/noProcessEnv', 'src/core/seed-env.ts', 'export const x = process.env.HOME;'],
  ['style/noDefaultExport', 'src/core/seed-default.ts', 'export default function x(): void {}'],
  ['style/useFilenamingConvention', 'src/core/seedName.ts', 'export const x = 1;'],
  [
    'style/noExcessiveLinesPerFile',
    'src/core/seed-long.ts',
    'export const x = [\n'.concat('  1,\n'.repeat(300), '];\n'),
  ],
  [
    'complexity/useMaxParams',
    'src/core/seed-many.ts',
    'export const x = (a: 1, b: 1, c: 1, d: 1, e: 1) => [a, b, c, d, e];',
  ],
  ['nursery/noFloatingPromises', 'src/core/seed-float.ts', 'async function x(): Promise<void> {}\nx();'],
  [
    'nursery/useExhaustiveSwitchCases',
    'src/core/seed-switch.ts',
    "export function x(k: 'a' | 'b'): number {\n  switch (k) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}",
  ],
  ['suspicious/noImportCycles', 'src/core/seed-cycle.ts', "import './seed-cycle-back.js';\nexport const x = 1;"],
  ['suspicious/noImportCycles', 'src/core/seed-cycle-back.ts', "import './seed-cycle.js';\nexport const y = 1;"],
];

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'threadloop-architecture-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

/** Standard output; these tools end with a code other than 0 when they find something. */
function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(join(bin, command), args, { cwd, maxBuffer: 2 ** 26 }, (_, stdout) => resolve(stdout));
  });
}

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: { readonly name: string };
}

describe('import directions', () => {
  let violations: readonly Violation[];

  beforeAll(async () => {
    cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true });
    for (const file of ['package.json', 'tsconfig.json', '.dependency-cruiser.cjs']) {
      cpSync(join(root, file), join(folder, file));
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    write('test/seed.ts', 'export const x = 1;');
    write('src/core/policy/seed.ts', "import '../errors.js';");
    for (const [, file, text] of directionSeeds) {
      write(join('src', file), `${text}\n${readIfThere(join(root, 'src', file))}`);
    }
    const args = ['--config', '.dependency-cruiser.cjs', '--preserve-symlinks', '--output-type', 'json', 'src'];
    const report = JSON.parse(await run('depcruise', args, folder)) as { summary: { violations: Violation[] } };
    violations = report.summary.violations;
  });

  it.each(directionSeeds)('%s finds %s', (rule, file) => {
    const found = violations.filter(({ from }) => from === `src/${file}`).map((violation) => violation.rule.name);
    expect(found).toContain(rule);
  });

  it('hold in everything that is not seeded', () => {
    const seeded = new Set(directionSeeds.map(([, file]) => `src/${file}`));
    const others = violations.filter(({ from }) => !seeded.has(from));
    expect(others.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
  });

  it('are each proved by a seed', () => {
    expect(new Set(directionSeeds.map(([rule]) => rule))).toEqual(new Set(rules.map(({ name }) => name)));
  });
});

describe('lint rules', () => {
  it('find every breach of the house style', async () => {
    cpSync(join(root, 'biome.json'), join(folder, 'lint/biome.json'));
    for (const [, file, text] of lintSeeds) write(join('lint', file), text);
    const output = await run('biome', ['lint', '--reporter=json', '--max-diagnostics=none', '.'], join(folder, 'lint'));
    const report = JSON.parse(output) as { diagnostics: { category: string; location: { path: string } }[] };
    const found = report.diagnostics.map(({ category, location }) => `${category} ${location.path}`);
    for (const [rule, file] of lintSeeds) {
      expect(found.filter((line) => line === `lint/${rule} ${file}`)).not.toEqual([]);
    }
  });
});

describe('shape of the source', () => {
  const files = (readdirSync(join(root, 'src'), { recursive: true }) as string[]).filter((file) =>
    file.endsWith('.ts'),
  );

  it('keeps every file at 300 lines or fewer, comments included', () => {
    const long = files.filter(
      (file) =>
        readFileSync(join(root, 'src', file), 'utf8')
          .trimEnd()
          .split('\n').length > 300,
    );
    expect(long).toEqual([]);
  });

  it('names files after their subject, never utils, helpers, types or common', () => {
    const vague = /(^|\/)(utils?|helpers?|types|common|misc|shared)(\.ts$|\/)/;
    expect(files.filter((file) => vague.test(file))).toEqual([]);
  });

  it('gives every adapter folder an index, a config and a line in the registry', () => {
    const registry = readFileSync(join(root, 'src/adapters/index.ts'), 'utf8');
    for (const platform of foldersIn('src/adapters')) {
      expect(files).toContain(`adapters/${platform}/index.ts`);
      expect(files).toContain(`adapters/${platform}/config.ts`);
      expect(registry).toContain(`import('./${platform}/index.js')`);
    }
  });

  it('lists every built-in tool in the index of its folder', () => {
    const index = readFileSync(join(root, 'src/core/tools/builtin/index.ts'), 'utf8');
    const tools = readdirSync(join(root, 'src/core/tools/builtin')).filter((file) => file !== 'index.ts');
    expect(tools).not.toEqual([]);
    for (const file of tools) expect(index).toContain(`'./${basename(file, '.ts')}.js'`);
  });
});

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function foldersIn(path: string): string[] {
  return readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}
