import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scriptedModel } from '../core/agent/scripted-model.js';
import { type PlatformServer, startPlatformServer } from '../fakes/platform/server.js';
import { createReader, type Reader } from './reader-fixture.js';

let server: PlatformServer;
beforeAll(async () => {
  server = await startPlatformServer();
});
afterAll(() => server.close());

async function control(reader: Reader, word: 'model' | 'queue' | 'usage' | 'mcp', argument?: string) {
  await reader.accept({ ...reader.base(), kind: 'control', control: word, ...(argument && { argument }) });
  await reader.run();
  return reader.shown().at(-1);
}

describe('control words that choose', () => {
  it('/model names the model, chooses another for the next turns, and refuses one that does not exist', async () => {
    const big = { ...scriptedModel([{ text: 'From the big one.' }]), name: 'big' };
    const reader = createReader(server, { models: { scripted: scriptedModel([]), big } });
    expect(await control(reader, 'model')).toContain('"scripted"');
    expect(await control(reader, 'model', 'huge')).toMatch(/no model "huge".*scripted, big/);
    expect(await control(reader, 'model', 'BIG')).toContain('"big"');
    await reader.say('hi');
    await reader.run();
    expect(reader.shown().at(-1)).toContain('From the big one.');
    expect(reader.model.requests).toHaveLength(0);
  });

  it('a model that was removed is an error with its name, never another model', async () => {
    const models: Record<string, ReturnType<typeof scriptedModel>> = { big: scriptedModel([]) };
    const reader = createReader(server, { models });
    await control(reader, 'model', 'big');
    delete models.big;
    await reader.say('hi');
    await reader.run();
    expect(reader.shown().at(-1)).toContain('"big"');
    expect(reader.entries().at(-1)?.state).toBe('error');
    expect(reader.model.requests).toHaveLength(0);
  });

  it('/queue counts what waits, /usage what was spent here', async () => {
    const reader = createReader(server, { script: [{ text: 'One.', inputTokens: 70, outputTokens: 3 }] });
    expect(await control(reader, 'queue')).toContain('Nothing is waiting');
    await reader.say('hi');
    await reader.run();
    expect(await control(reader, 'usage')).toMatch(/1 requests, 70 tokens in, 3 out/);
    expect(await control(reader, 'mcp', 'files')).toContain('no tool server "files"');
  });
});
