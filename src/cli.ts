#!/usr/bin/env node
import { inspect } from 'node:util';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { type Config, configSchema, loadConfig, printConfig, secretsOf } from './config.js';
import { ConfigError, ThreadloopError, toError } from './core/errors.js';
import { createLogger, isLogLevel, type LogLevel, type RootLogger } from './logger.js';
import { packageVersion } from './package-version.js';
import type { Role } from './parts.js';
import { stopOnSignals } from './shutdown.js';
import { addUsageCommand } from './usage-command.js';

/** Exit codes (design: 0 fine, 1 failed, 2 wrong use or configuration). */
const EXIT = { fine: 0, failed: 1, wrongUse: 2 } as const;

const DEMO_NOTE =
  'No model is configured, so a scripted demo answers. Set OPENAI_API_KEY or OPENAI_BASE_URL to change that.';

interface ConfigOptions {
  readonly config?: string;
}

interface StartOptions extends ConfigOptions {
  readonly role: Role;
  readonly port?: number;
  readonly verbose?: boolean;
}

async function main(): Promise<void> {
  try {
    await createProgram().parseAsync(process.argv);
  } catch (thrown) {
    process.exitCode = report(toError(thrown));
  }
}

function createProgram(): Command {
  const program = new Command('threadloop')
    .description('Self-hosted chat gateway: one LLM agent loop behind your chat platforms')
    .version(packageVersion())
    .exitOverride();
  program
    .command('start')
    .description('start the gateway, a worker, or both in one process')
    .addOption(
      new Option('--role <role>', 'what this process does').choices(['all', 'gateway', 'worker']).default('all'),
    )
    .addOption(configOption())
    .option('--port <number>', 'port of the HTTP server, instead of http.port', portNumber)
    .option('--verbose', 'log details, and stacks of errors')
    .action(start);
  const port = new Option('--port <number>', 'port of a running gateway, instead of http.port').argParser(portNumber);
  addUsageCommand(program, { env: process.env, shared: [configOption(), port] });
  const config = program.command('config').description('check and show the configuration');
  config.command('check').description('report everything that is wrong').addOption(configOption()).action(check);
  config.command('print').description('print it with defaults, secrets masked').addOption(configOption()).action(print);
  config
    .command('schema')
    .description('print the JSON schema of the file, for editors')
    .action(() => console.log(JSON.stringify(configSchema(), null, 2)));
  return program;
}

function configOption(): Option {
  return new Option('--config <file>', 'configuration file, instead of THREADLOOP_CONFIG or ./config.yaml');
}

function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('Use a number from 0 to 65535.');
  return Number(text);
}

function check({ config: file }: ConfigOptions): void {
  const config = loadConfig({ file, env: process.env });
  const models = Object.keys(config.models).join(', ') || 'none, so the built-in demo model answers';
  console.log(`The configuration is fine. Agents: ${Object.keys(config.agents).join(', ')}. Models: ${models}.`);
}

function print({ config: file }: ConfigOptions): void {
  process.stdout.write(printConfig(loadConfig({ file, env: process.env })));
}

async function start({ role, port, verbose, config: file }: StartOptions): Promise<void> {
  const config = loadConfig({ file, env: process.env, port });
  const logger = createProcessLogger(config, verbose === true);
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (thrown: unknown) => {
      logger.error({ error: toError(thrown) }, `fatal: ${event}`);
      process.exit(EXIT.failed);
    });
  }
  try {
    const { startGateway } = await import('./gateway.js');
    const onProgress = (line: string): void => console.log(line);
    const starting = startGateway({ config, role, logger, onProgress });
    const seconds = config.worker.shutdownSeconds;
    stopOnSignals({ starting, seconds, logger, signals: process, exit: (code) => process.exit(code) });
    const { url } = await starting;
    console.log(`Threadloop (${role}) is ready: ${url}`);
    if (role !== 'gateway' && Object.keys(config.models).length === 0) console.log(DEMO_NOTE);
  } catch (thrown) {
    // Half-open connections must not keep a process alive that could not start.
    process.exit(report(toError(thrown), logger));
  }
}

/** `LOG_LEVEL` and `LOG_FORMAT` decide; by default people at a terminal get short lines and everything else JSON. */
function createProcessLogger(config: Config, verbose: boolean): RootLogger {
  const { LOG_FORMAT: format } = process.env;
  const lines = format === 'lines' || (format !== 'json' && process.stderr.isTTY);
  const logger = createLogger({ level: logLevel(verbose), format: lines ? 'lines' : 'json' });
  for (const secret of secretsOf(config)) logger.registerSecret(secret);
  return logger;
}

function logLevel(verbose: boolean): LogLevel {
  const { LOG_LEVEL: level } = process.env;
  if (verbose) return 'debug';
  if (level === undefined || level === '') return 'info';
  if (isLogLevel(level)) return level;
  throw new ConfigError(`LOG_LEVEL is "${level}"`, { hint: 'Use debug, info, warn, error or silent.' });
}

/** Prints what went wrong and what to do, without a stack unless asked for; returns the exit code. */
function report(error: Error, logger?: RootLogger): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.wrongUse;
  const verbose = process.argv.includes('--verbose') || process.env.LOG_LEVEL === 'debug';
  const lines = [
    `threadloop: ${error.message}`,
    ...(error instanceof ConfigError ? error.issues.map((issue) => `  ${issue}`) : []),
    (error instanceof ThreadloopError ? error.hint : systemHint(error)) ?? '',
    verbose ? inspect(error) : '',
  ];
  const text = lines.filter((line) => line !== '').join('\n');
  console.error(logger ? logger.redact(text) : text);
  return error instanceof ConfigError ? EXIT.wrongUse : EXIT.failed;
}

function systemHint(error: Error & { code?: unknown }): string | undefined {
  if (error.code === 'EADDRINUSE') return 'Another process uses this port: stop it, or choose another one with --port.';
  if (error.code === 'EACCES') return 'This user may not listen on that port or write to that folder.';
  return 'Start again with --verbose to see where it happened.';
}

await main();
