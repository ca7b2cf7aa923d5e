import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AbortedError } from '../../../../src/core/errors.js';
import { type McpServerConfig, mcpServerConfig } from '../../../../src/core/tools/mcp/server-config.js';
import { waitFor } from '../../../fakes/wait-for.js';
import { endpoint, type OpenServers, openServers, person } from './fixture.js';

/** The protocol's own server that exercises everything, from npm. */
const EVERYTHING = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

interface Reference {
  readonly config: McpServerConfig;
  close(): Promise<void>;
}

async function onStdio(): Promise<Reference> {
  const args = [EVERYTHING, 'stdio'];
  const config = mcpServerConfig.parse({ transport: 'stdio', command: process.execPath, args, trust: true });
  return { config, close: async () => undefined };
}

async function overHttp(): Promise<Reference> {
  const port = await freePort();
  const { PATH } = process.env;
  const child = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
    env: { PATH, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await listening(child);
  return {
    config: endpoint(`http://127.0.0.1:${port}/mcp`, { trust: true }),
    async close() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

async function listening({ stderr }: ChildProcess): Promise<void> {
  let output = '';
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await waitFor(() => output.includes('listening'), { timeoutMs: 25_000, what: () => output });
}

describe.each([
  ['stdio', onStdio],
  ['Streamable HTTP', overHttp],
] as const)('the reference server over %s', (_, start) => {
  let reference: Reference;
  let mcp: OpenServers;

  beforeAll(async () => {
    reference = await start();
    mcp = openServers(reference.config);
    // It offers the tools that ask people only after the greeting.
    const names = async () =>
      (await mcp.servers.tools(['fake'], new AbortController().signal)).tools.map((t) => t.name);
    while (!(await names()).includes('mcp_fake_trigger-elicitation-request'));
  });
  afterAll(async () => {
    await mcp.servers.close();
    await reference.close();
  });

  it('echoes, and its hints count because it is trusted', async () => {
    expect(await mcp.run('echo', { message: 'hello' })).toEqual({ content: 'Echo: hello' });
    expect(await mcp.tool('echo')).toMatchObject({ risk: 'read', idempotent: true });
    expect(await mcp.tool('trigger-elicitation-request')).toMatchObject({ risk: 'write', idempotent: false });
  });

  it('tells what is wrong with arguments', async () => {
    const { content, failed } = await mcp.run('get-sum', { a: 'one' });
    expect(failed).toBe(true);
    expect(content).toMatch(/invalid/i);
  });

  it('gives structured content, links, an image and an embedded resource', async () => {
    expect((await mcp.run('get-structured-content', { location: 'Chicago' })).content).toContain('"humidity":');
    expect((await mcp.run('get-resource-links', { count: 2 })).content).toContain('demo://resource/dynamic/text/2');
    expect((await mcp.run('get-tiny-image')).content).toMatch(
      /\[image image\/png, \d+ KB; it cannot be passed on yet\]/,
    );
    const embedded = await mcp.run('get-resource-reference', { resourceType: 'Text', resourceId: 1 });
    expect(embedded.content).toContain('demo://resource/dynamic/text/1');
  });

  it('tells its progress', async () => {
    const lines: string[] = [];
    const progress = (line: string) => void lines.push(line);
    const done = await mcp.run('trigger-long-running-operation', { duration: 0.3, steps: 3 }, { progress });
    expect(done.content).toContain('Long running operation completed');
    expect(lines.slice(0, 2)).toEqual(['step 1/3', 'step 2/3']);
  });

  it('is left when a person stops the run', async () => {
    const stop = new AbortController();
    const progress = () => stop.abort();
    const call = mcp.run(
      'trigger-long-running-operation',
      { duration: 3, steps: 6 },
      { progress, signal: stop.signal },
    );
    await expect(call).rejects.toThrow(AbortedError);
  });

  it('asks for every kind of field, one after the other', async () => {
    const answers = [
      ...['Ada Lovelace', 'yes', 'skip', 'ada@example.com', 'https://example.com', '1815-12-10', '7', '2.5'],
      ...['rachel', '1, Drums', 'choice-2', 'Tuna, 3', '2'],
    ];
    const { ask, questions } = person(...answers);
    const { content } = await mcp.run('trigger-elicitation-request', {}, { ask });
    expect(questions).toHaveLength(answers.length);
    expect(JSON.parse(content.slice(content.indexOf('Raw result: ') + 12))).toEqual({
      action: 'accept',
      content: {
        name: 'Ada Lovelace',
        check: true,
        firstLine: 'It was a dark and stormy night.',
        email: 'ada@example.com',
        homepage: 'https://example.com',
        birthdate: '1815-12-10',
        integer: 7,
        number: 2.5,
        untitledSingleSelectEnum: 'Rachel',
        untitledMultipleSelectEnum: ['Guitar', 'Drums'],
        titledSingleSelectEnum: 'hero-2',
        titledMultipleSelectEnum: ['fish-1', 'fish-3'],
        legacyTitledEnum: 'pet-2',
      },
    });
  });

  it('is told that a person declined', async () => {
    const { content } = await mcp.run('trigger-elicitation-request', {}, { ask: person('decline').ask });
    expect(content).toContain('User declined');
  });
});
