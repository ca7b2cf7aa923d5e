/**
 * The import directions of ARCHITECTURE.md, executed. test/architecture.test.ts proves that each rule can fail.
 * Type-only imports count: a type is a dependency too. Cycles are Biome's noImportCycles, because only there types
 * can be told from values.
 */
const kernel = 'run-agent-loop|hooks|events|run-state|model-call|tool-calls|transcript';
const platformLibraries = 'grammy|@grammyjs|@slack|discord\\.js|@discordjs';
const serverLibraries = 'hono|@hono';
const queueLibraries = 'bullmq|ioredis|pg|@electric-sql';

/** Matches the packages also when they are resolved to their types. */
const packages = (names) => `(^|/)node_modules/(@types/)?(${names})(/|$)`;

module.exports = {
  forbidden: [
    {
      name: 'ports-stand-alone',
      comment: 'core/ports and core/errors may name the words of core/chat and nothing else.',
      severity: 'error',
      from: { path: '^src/core/(ports/|errors\\.ts$)' },
      to: { path: '^src/', pathNot: '^src/core/(ports/|errors\\.ts$|chat/(message|adapter|outbox-entry)\\.ts$)' },
    },
    {
      name: 'chat-is-below-the-agent',
      comment: 'core/chat sees ports, errors and itself.',
      severity: 'error',
      from: { path: '^src/core/chat/' },
      to: { path: '^src/', pathNot: '^src/core/(chat/|ports/|errors\\.ts$)' },
    },
    {
      name: 'core-is-the-bottom-layer',
      comment: 'Nothing in core sees adapters, jobs or the entry files.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { path: '^src/', pathNot: '^src/core/' },
    },
    {
      name: 'core-knows-no-infrastructure',
      comment: 'No platform, queue, database, server or log library in core.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: {
        path: packages(`${queueLibraries}|${platformLibraries}|${serverLibraries}|pino|prom-client|commander|yaml`),
      },
    },
    {
      name: 'kernel-knows-no-plan-or-tool',
      comment: 'The kernel file and its neighbours see models and hooks, no plan, tool, sub-agent or policy.',
      severity: 'error',
      from: { path: `^src/core/agent/(${kernel})\\.ts$` },
      to: {
        path: '^src/core/(plan|tools|subagents|policy|agent)/',
        pathNot: `^src/core/agent/(${kernel})\\.ts$`,
      },
    },
    {
      name: 'adapters-see-only-chat',
      comment: 'An adapter sees core/ports, core/errors and core/chat.',
      severity: 'error',
      from: { path: '^src/adapters/' },
      to: { path: '^src/(?!adapters/)', pathNot: '^src/core/(ports/|errors\\.ts$|chat/)' },
    },
    {
      name: 'adapters-do-not-see-each-other',
      comment: 'Only adapters/index.ts, the registry, sees all of them.',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/adapters/', pathNot: '^src/adapters/$1/' },
    },
    {
      name: 'jobs-get-adapters-as-objects',
      comment: 'Jobs see core and themselves.',
      severity: 'error',
      from: { path: '^src/jobs/' },
      to: { path: '^src/', pathNot: '^src/(core|jobs)/' },
    },
    {
      name: 'queue-and-database-only-in-jobs',
      comment: 'bullmq, ioredis, pg and PGlite are an affair of jobs/.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/jobs/' },
      to: { path: packages(queueLibraries) },
    },
    {
      name: 'platform-library-only-in-its-adapter',
      comment: 'A platform library is an affair of the adapter of that platform.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/adapters/(telegram|slack|discord)/' },
      to: { path: packages(platformLibraries) },
    },
    {
      name: 'config-imports-nothing-heavy',
      comment: 'Checking a configuration reads the registry of adapters, which loads none of them.',
      severity: 'error',
      from: { path: '^src/config' },
      to: { path: '^src/', pathNot: '^src/(config|core/|loopback\\.ts$|adapters/index\\.ts$)' },
    },
    {
      name: 'nobody-imports-the-entry',
      comment: 'cli starts everything; gateway composes everything and is imported by cli alone.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli\\.ts$' },
      to: { path: '^src/(cli|gateway)\\.ts$' },
    },
    {
      name: 'no-orphans',
      comment: 'A file nobody imports is dead, unless it is an entry or runs in its own thread.',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: '^src/cli\\.ts$' },
      to: {},
    },
    {
      name: 'src-does-not-import-test-code',
      comment: 'What ships does not depend on test, bench or scripts.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'no-development-packages-in-src',
      comment: 'What ships runs with the production dependencies alone.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that cannot be resolved would escape every other rule.',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // The built-in parser does not know TypeScript 7; swc reads the same syntax.
    parser: 'swc',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.json', '.d.ts'],
    },
  },
};
