import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { agentFor, configSchema, loadConfig, printConfig, secretsOf } from '../src/config.js';
import { ConfigError } from '../src/core/errors.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'threadloop-config-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Loads a file with this text; without text a file that says nothing. */
function load(yaml = '', env: Record<string, string> = {}) {
  const file = join(folder, 'config.yaml');
  writeFileSync(file, yaml);
  return loadConfig({ file, env });
}

function issuesOf(yaml: string, env: Record<string, string> = {}): readonly string[] {
  try {
    load(yaml, env);
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.issues;
    throw thrown;
  }
  return [];
}

describe('without a file', () => {
  it('gives the defaults and no model, so that the demo answers', () => {
    const config = load();
    expect(config.models).toEqual({});
    expect(config.store).toEqual({ dataDir: './data' });
    expect(config.http).toMatchObject({ host: '127.0.0.1', port: 8787 });
    expect(config.agents).toMatchObject({ assistant: { mode: 'plan', model: 'default', steering: 'steer' } });
    expect(config.adapters).toEqual({ telegram: [], web: { enabled: true } });
  });

  it('takes models, store, token and Telegram from the environment', () => {
    const config = load('', {
      OPENAI_API_KEY: 'sk-1',
      OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
      OPENAI_MODEL: 'small',
      REDIS_URL: 'redis://h:6379',
      TELEGRAM_BOT_TOKEN: '123:abc',
      TELEGRAM_ALLOWED_USERS: '12, 34',
      THREADLOOP_TOKEN: 'token-1',
    });
    expect(config.models.default).toMatchObject({ apiKey: 'sk-1', baseUrl: 'http://127.0.0.1:1/v1', model: 'small' });
    expect(config.store.redisUrl).toBe('redis://h:6379');
    expect(config.http.token).toBe('token-1');
    expect(config.adapters.telegram).toMatchObject([{ botToken: '123:abc', access: { users: ['12', '34'] } }]);
  });

  it('takes blank variables as not set', () => {
    expect(load('', { OPENAI_API_KEY: ' ', REDIS_URL: '' })).toEqual(load());
  });

  it('refuses a model name with no place to send the request', () => {
    expect(issuesOf('', { OPENAI_MODEL: 'small' })).toEqual([expect.stringMatching(/OPENAI_MODEL is set alone/)]);
  });

  it('refuses two stores in the environment rather than choosing one', () => {
    const issues = issuesOf('', { REDIS_URL: 'redis://h', DATABASE_URL: 'postgres://h/d' });
    expect(issues).toEqual([expect.stringMatching(/^store: redisUrl and postgresUrl are both set/)]);
  });
});

describe('which file is read', () => {
  it('prefers the named file to THREADLOOP_CONFIG', () => {
    const other = join(folder, 'other.yaml');
    writeFileSync(other, 'http: { port: 1 }');
    expect(loadConfig({ env: { THREADLOOP_CONFIG: other } }).http.port).toBe(1);
    writeFileSync(join(folder, 'config.yaml'), 'http: { port: 2 }');
    expect(loadConfig({ file: join(folder, 'config.yaml'), env: { THREADLOOP_CONFIG: other } }).http.port).toBe(2);
  });

  it('refuses a named file that does not exist', () => {
    expect(() => loadConfig({ file: join(folder, 'absent.yaml'), env: {} })).toThrow(/cannot read .*absent\.yaml/);
  });

  it('names the line of broken YAML and of a key written twice', () => {
    expect(issuesOf('http: { port: 1')).toEqual([expect.stringMatching(/line 1/)]);
    expect(issuesOf('locale: en\nlocale: zh')).toEqual([expect.stringMatching(/unique.*line 2/)]);
  });

  it('names only the first errors of a file that is no YAML at all', () => {
    expect(issuesOf('] [ {\n'.repeat(500))).toHaveLength(10);
  });

  it('refuses aliases that would grow without end', () => {
    const level = (name: string, inner: string) => `${name}: &${name} [${Array(9).fill(inner).join(', ')}]\n`;
    const yaml = level('a', 'x') + level('b', '*a') + level('c', '*b') + level('d', '*c');
    expect(issuesOf(yaml)).toEqual([expect.stringMatching(/alias/i)]);
  });

  it('refuses a file that is no block of settings', () => {
    expect(() => load('- a')).toThrow(/must be a block of settings/);
  });

  it('lets the port option win', () => {
    const file = join(folder, 'config.yaml');
    writeFileSync(file, 'http: { port: 1 }');
    expect(loadConfig({ file, env: {}, port: 9 }).http.port).toBe(9);
  });
});

describe('a file beside the environment', () => {
  it('keeps what the file says and fills what it leaves out', () => {
    const config = load('store: { dataDir: ./elsewhere }\nhttp: { token: mine }', {
      REDIS_URL: 'redis://h',
      THREADLOOP_TOKEN: 'theirs',
    });
    expect(config.store).toEqual({ dataDir: './elsewhere', redisUrl: 'redis://h' });
    expect(config.http.token).toBe('mine');
  });

  it('never sends the key of the environment to a model written in the file', () => {
    const config = load('models: { default: { model: m, baseUrl: "http://h/v1" } }', { OPENAI_API_KEY: 'sk-1' });
    expect(config.models.default?.apiKey).toBeUndefined();
  });

  it('ignores REDIS_URL when the file chose PostgreSQL', () => {
    const config = load('store: { postgresUrl: "postgres://h/d" }', { REDIS_URL: 'redis://h' });
    expect(config.store.redisUrl).toBeUndefined();
  });

  it('adds the bot token to a Telegram block without one', () => {
    const config = load('adapters: { telegram: { access: { users: ["1"] } } }', {
      TELEGRAM_BOT_TOKEN: '5:x',
      TELEGRAM_ALLOWED_USERS: '9',
    });
    expect(config.adapters.telegram).toMatchObject([{ botToken: '5:x', access: { users: ['1'] } }]);
  });

  it('reads a list of accounts, and refuses the same name twice', () => {
    const config = load('adapters: { telegram: [{ account: a, botToken: "1:x" }, { account: b, botToken: "2:x" }] }');
    expect(config.adapters.telegram.map(({ account }) => account)).toEqual(['a', 'b']);
    const issues = issuesOf('adapters: { telegram: [{ botToken: "1:x" }, { botToken: "2:x" }] }');
    expect(issues).toEqual(['adapters.telegram[1].account: "default" is used twice; give each bot its own name']);
  });

  it('takes a key with nothing behind it as left out', () => {
    expect(load('models:\nadapters: { telegram: }')).toEqual(load());
  });
});

describe('placeholders', () => {
  it('replaces ${NAME} and ${NAME:-default} anywhere in a string', () => {
    const config = load('models: { default: { model: "${A}-${B:-mini}", apiKey: "${KEY:-}" } }', { A: 'gpt' });
    expect(config.models.default).toMatchObject({ model: 'gpt-mini' });
    expect(config.models.default?.apiKey).toBeUndefined();
  });

  it('reads numbers and booleans where the setting wants one, and keeps text elsewhere', () => {
    const yaml = 'http: { port: "${P}", token: "${P}" }\nagents: { a: { showReasoning: "${S:-true}" } }';
    const config = load(yaml, { P: '99' });
    expect(config.http).toMatchObject({ port: 99, token: '99' });
    expect(config.agents.a?.showReasoning).toBe(true);
  });

  it('reports a missing variable with its path, once', () => {
    expect(issuesOf('store: { redisUrl: "${NOWHERE}" }')).toEqual([
      'store.redisUrl: the environment variable NOWHERE is not set; set it, or write ${NOWHERE:-default}',
    ]);
  });

  it('cannot change the structure of the file', () => {
    const config = load('agents: { a: { systemPrompt: "${P}" } }', { P: '"}, b: { mode: chat' });
    expect(Object.keys(config.agents)).toEqual(['a']);
    expect(config.agents.a?.systemPrompt).toBe('"}, b: { mode: chat');
  });

  it('does not look into the value of a variable again', () => {
    expect(load('agents: { a: { systemPrompt: "${P}" } }', { P: '${Q}' }).agents.a?.systemPrompt).toBe('${Q}');
  });

  it('writes $${ as a plain ${ and explains other uses', () => {
    expect(load('agents: { a: { systemPrompt: "$${x}" } }').agents.a?.systemPrompt).toBe('${x}');
    expect(issuesOf('agents: { a: { systemPrompt: "${a b}" } }')).toEqual([
      expect.stringMatching(/^agents\.a\.systemPrompt: "\$\{a b\}" names no environment variable/),
    ]);
  });
});

describe('errors', () => {
  it('reports everything at once, each with its path', () => {
    const yaml = [
      'http: { host: 0.0.0.0, port: abc }',
      'models: { default: { modle: x } }',
      'agents: { a: { model: defualt, display: loud } }',
      'routes: [{ agent: b }, { agent: a }]',
    ].join('\n');
    expect(issuesOf(yaml)).toEqual([
      'agents.a.display: expected one of quiet, normal, verbose, got "loud"',
      'agents.a.model: no model is called "defualt"; did you mean "default"?',
      expect.stringMatching(/^http\.host: "0\.0\.0\.0" can be reached from other machines and needs http\.token/),
      'http.port: expected a whole number from 0 to 65535, got "abc"',
      expect.stringMatching(/^models\.default\.model: missing; add "model"/),
      'models.default.modle: unknown key; did you mean "model"?',
      'routes[0].agent: no agent is called "b"; did you mean "a"?',
      'routes[1]: never used, routes[0] already matches everything; move this route above it',
    ]);
  });

  it.each([
    ['adapter: {}', 'adapter: unknown key; did you mean "adapters"?'],
    ['port: 1', 'port: unknown key here; did you mean "http.port"?'],
    ['zzzzzz: 1', /^zzzzzz: unknown key; remove it, known here: locale, store, http/],
    [
      'adapters: { telegram: { botToken: "1:x", acess: {} } }',
      'adapters.telegram.acess: unknown key; did you mean "access"?',
    ],
  ])('suggests what was meant by %s', (yaml, expected) => {
    expect(issuesOf(yaml)).toEqual([typeof expected === 'string' ? expected : expect.stringMatching(expected)]);
  });

  it.each([
    ['adapters: { slack: {} }', 'adapters.slack'],
    ['adapters: { discord: {} }', 'adapters.discord'],
    ['agents: { a: { budget: {} } }', 'agents.a.budget'],
  ])('refuses what is not built yet: %s', (yaml, path) => {
    expect(issuesOf(yaml)).toEqual([`${path}: not built yet in this version; remove it`]);
  });

  it.each([
    ['subAgents: [helpr]', 'subAgents[0]: no agent is called "helpr"; did you mean "helper"?'],
    ['mcpServers: [fils]', 'mcpServers[0]: no MCP server is called "fils"; did you mean "files"?'],
    ['knowledge: [book]', 'knowledge[0]: no knowledge is called "book"; did you mean "books"?'],
    ['compression: { model: bigg }', 'compression.model: no model is called "bigg"; did you mean "big"?'],
    ['quoteTemplate: "{{question}}"', 'quoteTemplate: lacks {{quote}}, so nothing found would be seen'],
    ['permissions: { mode: yolo }', 'permissions.mode: expected one of plan, readonly, ask, auto, bypass'],
  ])('refuses %s', (setting, issue) => {
    const yaml = [
      `agents: { a: { model: big, ${setting} }, helper: { model: big } }`,
      'models: { big: { model: m } }',
      'mcpServers: { files: { transport: stdio, command: x } }',
      'knowledge: { books: { path: ./docs } }',
    ].join('\n');
    expect(issuesOf(yaml)).toEqual([expect.stringContaining(`agents.a.${issue}`)]);
  });

  it('refuses a tool nobody built', () => {
    expect(issuesOf('agents: { a: { tools: [current_tme] } }')).toEqual([
      'agents.a.tools[0]: no tool is called "current_tme"; did you mean "current_time"?',
    ]);
  });

  it('never repeats the value of a secret', () => {
    const issues = issuesOf(
      'adapters: { telegram: { botToken: "hush-hush" } }\nstore: { redisUrl: "http://u:hush-hush@h" }',
    );
    expect(issues).toHaveLength(2);
    expect(issues.join()).not.toContain('hush-hush');
  });

  it('wants a public address for webhooks', () => {
    const yaml = 'adapters: { telegram: { botToken: "1:x", mode: webhook, webhookSecret: 0123456789abcdef } }';
    expect(issuesOf(yaml)).toEqual([expect.stringMatching(/^adapters\.telegram\.mode: webhook needs http\.publicUrl/)]);
  });

  it.each(['localhost', '127.0.0.1', '127.1.2.3', '::1'])('needs no token on %s', (host) => {
    expect(issuesOf(`http: { host: "${host}" }`)).toEqual([]);
  });

  it.each(['0.0.0.0', '::', '192.168.1.2', 'example.com', '127.0.0.1.example.com'])('needs a token on %s', (host) => {
    expect(issuesOf(`http: { host: "${host}" }`)).toHaveLength(1);
    expect(issuesOf(`http: { host: "${host}", token: short }`)).toHaveLength(1);
    expect(issuesOf(`http: { host: "${host}", token: long-enough-to-guess-for-years }`)).toEqual([]);
  });
});

describe('showing the configuration', () => {
  const yaml = [
    'store: { postgresUrl: "postgres://bob:p%40ss-word@db/x" }',
    'http: { token: token-abc }',
    'models: { default: { model: m, apiKey: sk-abcdef } }',
    'adapters: { telegram: { botToken: "123:secret-token" } }',
  ].join('\n');

  it('masks every secret and keeps the rest', () => {
    const printed = printConfig(load(yaml));
    for (const secret of ['p%40ss-word', 'p@ss-word', 'token-abc', 'sk-abcdef', 'secret-token']) {
      expect(printed).not.toContain(secret);
    }
    expect(parse(printed)).toMatchObject({
      store: { postgresUrl: 'postgres://***@db/x' },
      http: { token: '***', port: 8787 },
      models: { default: { model: 'm', apiKey: '***' } },
    });
  });

  it('lists every secret for the log, also the password inside a URL', () => {
    expect(secretsOf(load(yaml))).toEqual(
      expect.arrayContaining(['p%40ss-word', 'p@ss-word', 'token-abc', 'sk-abcdef', '123:secret-token']),
    );
  });

  it('describes the file as JSON schema, with Telegram alone or in a list', () => {
    const schema = JSON.stringify(configSchema());
    expect(schema).toContain('"anyOf":[{"type":"object"');
    expect(JSON.parse(schema)).toMatchObject({ type: 'object', additionalProperties: false });
  });
});

describe('agentFor', () => {
  const config = load.bind(
    undefined,
    [
      'agents: { first: {}, group: {}, web: {} }',
      'routes: [{ adapter: telegram, channel: "-5", agent: group }, { adapter: web, agent: web }]',
    ].join('\n'),
  );
  const place = { platform: 'telegram', account: 'default', space: '7' };

  it('takes the first route that matches, else the first agent', () => {
    expect(agentFor(config(), { ...place, space: '-5' }).name).toBe('group');
    expect(agentFor(config(), { ...place, platform: 'web' }).name).toBe('web');
    expect(agentFor(config(), place).name).toBe('first');
  });
});
