import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AbortedError } from '../../../src/core/errors.js';
import { defineTool, type Tool } from '../../../src/core/tools/tool.js';
import { createToolbox, type Toolbox, type ToolboxOptions } from '../../../src/core/tools/toolbox.js';

const signal = new AbortController().signal;
const context = { signal, now: () => 0, interrupted: false };

function tool(name: string, answer = name): Tool {
  return defineTool({ name, description: `${name} does it.`, parameters: z.object({}), execute: async () => answer });
}

function box(options: Partial<ToolboxOptions> = {}, loaded: string[] = []): Toolbox {
  return createToolbox({
    ...{ tools: [tool('time'), tool('fetch')], coreToolNames: null, internalNames: [] },
    ...{ bound: () => loaded, onLoad: (names) => loaded.push(...names) },
    ...options,
  });
}

function source(...lists: (readonly Tool[])[]) {
  let at = 0;
  return {
    async tools() {
      at += 1;
      return lists[Math.min(at, lists.length) - 1] ?? [];
    },
  };
}

const namesOf = (toolbox: Toolbox) => toolbox.schemas.map(({ name }) => name);
const call = (name: string, args: unknown = {}) => ({ id: '1', name, arguments: JSON.stringify(args) });
const run = (toolbox: Toolbox, name: string, args?: unknown) => toolbox.catalog.run(call(name, args), context);

describe('a toolbox without core names', () => {
  it.each([null, []])('exposes everything when they are %j, with nothing to load', async (coreToolNames) => {
    const toolbox = box({ coreToolNames, source: source([tool('mcp_a')]) });
    await toolbox.refresh(signal);
    expect(namesOf(toolbox)).toEqual(['time', 'fetch', 'mcp_a']);
    expect(toolbox.loadable).toEqual([]);
    expect(toolbox.catalog.schemas).toBe(toolbox.schemas);
    expect(await run(toolbox, 'mcp_a')).toEqual({ content: 'mcp_a' });
  });

  it('has the own tools before the first refresh', () => {
    expect(namesOf(box({ source: source([tool('mcp_a')]) }))).toEqual(['time', 'fetch']);
  });
});

describe('names', () => {
  it('of built-in tools win over those of the source, internal ones over both', async () => {
    const toolbox = box({
      tools: [tool('time', 'built-in'), tool('ask_agent'), tool('load_tools')],
      source: source([tool('time', 'mcp'), tool('update_plan'), tool('mcp_a')]),
      internalNames: ['ask_agent', 'update_plan'],
    });
    await toolbox.refresh(signal);
    expect(namesOf(toolbox)).toEqual(['time', 'mcp_a']);
    expect(await run(toolbox, 'time')).toEqual({ content: 'built-in' });
    expect(toolbox.dropped).toEqual([
      { name: 'ask_agent', reason: 'internal' },
      { name: 'load_tools', reason: 'internal' },
      { name: 'update_plan', reason: 'internal' },
      { name: 'time', reason: 'shadowed' },
    ]);
    expect(toolbox.catalog.get('ask_agent')).toBeUndefined();
  });

  it('that do not exist are answered with similar ones and a bounded list', async () => {
    const tools = Array.from({ length: 200 }, (_, at) => tool(`mcp_files_action_${at}`));
    const toolbox = box({ tools: [tool('web_fetch'), ...tools] });
    const { content, failed } = await run(toolbox, 'webfetch');
    expect(failed).toBe(true);
    expect(content).toMatch(/no tool "webfetch"\. Did you mean web_fetch\? Tools: web_fetch, .*, and 151 more$/);
    expect((await run(toolbox, 'x'.repeat(5_000))).content.length).toBeLessThan(2_000);
  });
});

describe('a toolbox with core names', () => {
  const withCore = (options: Partial<ToolboxOptions> = {}, loaded: string[] = []) =>
    box({ coreToolNames: ['time'], ...options }, loaded);

  it('exposes the core, what the conversation has bound and load_tools', async () => {
    const toolbox = withCore({ source: source([tool('mcp_a')]) });
    await toolbox.refresh(signal);
    expect(namesOf(toolbox)).toEqual(['time', 'mcp_a', 'load_tools']);
    expect(toolbox.loadable).toEqual([{ name: 'fetch', description: 'fetch does it.' }]);
    expect(toolbox.schemas.at(-1)?.description).toContain('- fetch: fetch does it.');
  });

  it('answers a call of a tool that is not loaded with how to load it, and runs nothing', async () => {
    let ran = false;
    const pay: Tool = {
      ...tool('pay'),
      run: async () => {
        ran = true;
        return 'paid';
      },
    };
    const toolbox = withCore({ tools: [tool('time'), pay] });
    expect(await run(toolbox, 'pay')).toMatchObject({
      failed: true,
      content: expect.stringContaining('load_tools with names ["pay"]'),
    });
    expect(ran).toBe(false);
    expect(toolbox.catalog.get('pay')).toBeUndefined();
  });

  it('makes a loaded tool callable from the next round on, and tells who keeps the list', async () => {
    const loaded: string[] = [];
    const toolbox = withCore({}, loaded);
    expect(await run(toolbox, 'load_tools', { names: ['fetch', 'fetch', 'time'] })).toMatchObject({
      content: 'Loaded, callable from your next step on: fetch\nCallable already: time',
      failed: false,
    });
    expect(loaded).toEqual(['fetch']);
    expect(await run(toolbox, 'fetch')).toMatchObject({ failed: true });
    await toolbox.refresh(signal);
    expect(namesOf(toolbox)).toEqual(['time', 'fetch']);
    expect(await run(toolbox, 'fetch')).toEqual({ content: 'fetch' });
  });

  it('has what a conversation loaded before at once', () => {
    const toolbox = withCore({ tools: [tool('time'), tool('fetch'), tool('other')] }, ['fetch', 'gone']);
    expect(namesOf(toolbox)).toEqual(['time', 'fetch', 'load_tools']);
  });

  it('continues a suspended call of a tool that is not loaded any more', async () => {
    const form: Tool = { ...tool('form'), resume: async (_, answer) => `got ${answer}` };
    const toolbox = withCore({ tools: [tool('time'), form] });
    expect(await toolbox.catalog.resume(call('form'), 'Ada', context)).toEqual({ content: 'got Ada' });
  });
});

describe('load_tools', () => {
  const many = Array.from({ length: 400 }, (_, at) => tool(`crm_action_${at}`));
  const toolbox = (loaded: string[] = []) =>
    box({ tools: [tool('time'), tool('web_fetch'), ...many], coreToolNames: ['time'] }, loaded);

  it('names similar tools for a name it does not know', async () => {
    expect(await run(toolbox(), 'load_tools', { names: ['fetch', 'Web_Fetch', 'zzz'] })).toMatchObject({
      failed: true,
      content: [
        'There is no tool "fetch"; did you mean web_fetch?',
        'There is no tool "Web_Fetch"; did you mean web_fetch?',
        'There is no tool "zzz"',
      ].join('\n'),
    });
  });

  it('loads what it can when one of the names is wrong', async () => {
    const loaded: string[] = [];
    expect(await run(toolbox(loaded), 'load_tools', { names: ['crm_action_7', 'zzz'] })).toMatchObject({
      failed: false,
    });
    expect(loaded).toEqual(['crm_action_7']);
  });

  it('has a list that stays short however many tools there are', () => {
    const description = toolbox().schemas.at(-1)?.description ?? '';
    expect(description.length).toBeLessThan(7_000);
    expect(description).toMatch(/and \d+ more/);
  });

  it('shows one short line for a long description', () => {
    const wordy = { ...tool('wordy'), description: `First line\nsecond ${'word '.repeat(200)}` };
    const description =
      box({ tools: [tool('time'), wordy], coreToolNames: ['time'] }).schemas.at(-1)?.description ?? '';
    expect(description.split('\n').at(-1)).toMatch(/^- wordy: First line second [a-z ]{20,100}…$/);
  });

  it.each([{}, { names: [] }, { names: Array.from({ length: 21 }, () => 'a') }, { names: [''] }])(
    'refuses %j',
    async (args) => {
      await expect(run(toolbox(), 'load_tools', args)).rejects.toMatchObject({ code: 'tool_arguments' });
    },
  );
});

describe('a refresh', () => {
  it('takes over what the source has now', async () => {
    const toolbox = box({ source: source([tool('mcp_a')], [tool('mcp_b')]) });
    await toolbox.refresh(signal);
    expect(namesOf(toolbox)).toContain('mcp_a');
    await toolbox.refresh(signal);
    expect(namesOf(toolbox)).not.toContain('mcp_a');
    expect(await run(toolbox, 'mcp_a')).toMatchObject({ failed: true });
    expect(await run(toolbox, 'mcp_b')).toEqual({ content: 'mcp_b' });
  });

  it('that is aborted passes the abort on and leaves all as it was', async () => {
    let aborted = false;
    const toolbox = box({
      source: {
        async tools() {
          if (aborted) throw new AbortedError();
          return [tool('mcp_a')];
        },
      },
    });
    await toolbox.refresh(signal);
    aborted = true;
    await expect(toolbox.refresh(signal)).rejects.toBeInstanceOf(AbortedError);
    expect(namesOf(toolbox)).toEqual(['time', 'fetch', 'mcp_a']);
  });
});
