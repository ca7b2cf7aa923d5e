import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configReference } from '../scripts/config-reference.js';
import { loadConfig } from '../src/config.js';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...(readdirSync(join(root, 'docs'), { recursive: true }) as string[])
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
];

describe('README.md', () => {
  const lines = read('README.md').trimEnd().split('\n');

  it('shows the two commands in its first code block, before line 30', () => {
    const start = lines.findIndex((line) => line.startsWith('```'));
    const end = lines.findIndex((line, index) => index > start && line.startsWith('```'));
    expect(start).toBeLessThan(29);
    const commands = lines.slice(start + 1, end).map((line) => line.replace(/ *#.*/, ''));
    expect(commands).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  });

  it('stays short enough to be read', () => {
    expect(lines.length).toBeLessThanOrEqual(150);
  });
});

describe('ARCHITECTURE.md', () => {
  it('opens with the table that says where things are', () => {
    expect(
      read('ARCHITECTURE.md')
        .split('\n')
        .find((line) => line.startsWith('## ')),
    ).toBe('## Where is …?');
  });
});

describe.each(pages)('%s', (page) => {
  const text = read(page);

  it('links only to files that exist', () => {
    const targets = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, target = '']) => target);
    const local = targets.filter((target) => !/^https?:/.test(target));
    expect(local.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([]);
  });

  it('names only source files that exist', () => {
    const named = [...text.matchAll(/`((?:src|test|scripts|docs)\/[\w./-]+\.\w+)`/g)].map(([, file = '']) => file);
    expect(named.filter((file) => !/NAME/.test(file) && !existsSync(join(root, file)))).toEqual([]);
  });
});

describe('the configuration', () => {
  it('is described by docs/configuration.md as the schema has it (npm run docs)', () => {
    expect(read('docs/configuration.md')).toBe(configReference());
  });

  it('has an example that is accepted, and names every variable it needs', () => {
    const file = join(root, 'config.example.yaml');
    const config = loadConfig({ file, env: { OPENAI_API_KEY: 'sk-1' } });
    expect(config.models.default).toMatchObject({ apiKey: 'sk-1', model: 'gpt-5-mini' });
    expect(() => loadConfig({ file, env: {} })).toThrow(
      expect.objectContaining({ issues: [expect.stringContaining('OPENAI_API_KEY')] }),
    );
  });
});
