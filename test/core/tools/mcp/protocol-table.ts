import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AbortedError } from '../../../../src/core/errors.js';
import type { McpServerConfig } from '../../../../src/core/tools/mcp/server-config.js';
import { contextOf, type OpenServers, openServers, person } from './fixture.js';

/** Short limits for the cases that wait for one. */
const LIMITS = { callTimeoutMs: 1_500, maxTotalMs: 4_000 };

export interface ReachableServer {
  readonly config: McpServerConfig;
  close(): Promise<void>;
}

/** The cases of the protocol, one by one, over one way to reach a server. */
export function describeProtocol(name: string, open: () => Promise<ReachableServer>): void {
  describe(name, () => {
    let way: ReachableServer;
    let mcp: OpenServers;
    let limited: OpenServers;

    beforeAll(async () => {
      way = await open();
      mcp = openServers(way.config);
      limited = openServers({ ...way.config, ...LIMITS });
      await Promise.all([mcp.tool('echo'), limited.tool('echo')]);
    });
    afterAll(async () => {
      await Promise.all([mcp.servers.close(), limited.servers.close()]);
      await way.close();
    });

    async function eventsOf({ run }: OpenServers): Promise<readonly string[]> {
      return JSON.parse((await run('events')).content) as string[];
    }

    it('gives the text of a result', async () => {
      expect(await mcp.run('echo', { text: 'hello' })).toEqual({ content: 'hello' });
    });

    it('gives what a throwing tool says as a failed result', async () => {
      expect(await mcp.run('boom')).toEqual({ content: expect.stringContaining('the disk is full'), failed: true });
    });

    it('gives what the server says about wrong arguments as a failed result', async () => {
      const { content, failed } = await mcp.run('echo', { text: 7 });
      expect(failed).toBe(true);
      expect(content).toMatch(/text/);
    });

    it('gives structured content as JSON when there is no text', async () => {
      expect(await mcp.run('sum')).toEqual({ content: '{"sum":42}' });
    });

    it('names what cannot be shown, and gives links and embedded texts', async () => {
      const { content } = await mcp.run('blocks');
      expect(content.split('\n\n')).toEqual([
        'a red line',
        '[image image/png, 14 bytes; it cannot be passed on yet]',
        '[audio audio/wav, 14 bytes; it cannot be passed on yet]',
        'Document A: https://example.com/a (text/plain)',
        'file:///notes.txt:\nremember the milk',
        '[resource file:///photo, image/jpeg, 14 bytes; it cannot be passed on yet]',
      ]);
    });

    it('shows progress, and progress keeps a call alive beyond the limit of silence', async () => {
      const lines: string[] = [];
      const done = await limited.run('steps', { steps: 3, every: 500 }, { progress: (line) => void lines.push(line) });
      expect(done).toEqual({ content: '3 steps done' });
      expect(lines).toEqual(['step 1/3 part 1', 'step 2/3 part 2', 'step 3/3 part 3']);
    });

    it('ends a call at the limit in all, progress or not', async () => {
      const { content, failed } = await limited.run('steps', { steps: 100, every: 100 });
      expect(failed).toBe(true);
      expect(content).toContain('did not answer within 4 s in all');
    });

    it('ends a silent call, tells the server, and says that the outcome is unknown', async () => {
      const before = (await eventsOf(limited)).length;
      const { content, failed } = await limited.run('wait', { ms: 30_000 });
      expect(failed).toBe(true);
      expect(content).toMatch(/did not answer within 1.5 s of silence\. Its outcome is unknown/);
      await expectEvents(limited, before, ['wait started', 'wait cancelled']);
    });

    it('passes an abort on to the server and throws it', async () => {
      const before = (await eventsOf(mcp)).length;
      const stop = new AbortController();
      const call = mcp.run('wait', { ms: 30_000 }, { signal: stop.signal });
      await expectEvents(mcp, before, ['wait started']);
      stop.abort();
      await expect(call).rejects.toThrow(AbortedError);
      await expectEvents(mcp, before, ['wait started', 'wait cancelled']);
    });

    it('starts nothing for a signal that is aborted already', async () => {
      const before = await eventsOf(mcp);
      const tool = await mcp.tool('wait');
      await expect(tool.run('{"ms":1}', contextOf({ signal: AbortSignal.abort() }))).rejects.toThrow(AbortedError);
      expect(await eventsOf(mcp)).toEqual(before);
    });

    it('says that a tool it listed is gone', async () => {
      const brief = await mcp.tool('brief');
      await mcp.run('remove', { tool: 'brief' });
      expect(await brief.run('{}', contextOf())).toEqual({ content: expect.stringMatching(/brief/), failed: true });
      await mcp.run('add', { tool: 'brief' });
    });

    it('throws wrong JSON before the server is asked', async () => {
      const tool = await mcp.tool('echo');
      await expect(tool.run('{"text":', contextOf())).rejects.toMatchObject({ code: 'tool_arguments' });
      await expect(tool.run('[1]', contextOf())).rejects.toMatchObject({ code: 'tool_arguments' });
    });

    it('hands a call back to a server that asked for it', async () => {
      const { content } = await mcp.run('busy', {}, person());
      expect(content).toBe('now');
    });

    async function expectEvents(of: OpenServers, after: number, expected: readonly string[]): Promise<void> {
      let seen: readonly string[] = [];
      for (let tries = 0; tries < 100 && seen.length < expected.length; tries += 1) {
        seen = (await eventsOf(of)).slice(after);
      }
      expect(seen).toEqual(expected);
    }
  });
}
