import { setTimeout as sleep } from 'node:timers/promises';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** What happened inside the server, for tests that look from outside; tool `events` tells it. */
const events = [];

const PIXEL = Buffer.from('a tiny picture').toString('base64');

/** A server with a tool for every case of the protocol; the same tools in both protocol eras. */
export function createFakeMcpServer() {
  const server = new McpServer({ name: 'fake', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  registerPlainTools(server);
  registerChangingTools(server);
  registerSlowTools(server);
  registerAskingTools(server);
  return server;
}

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const nothing = z.object({});

/** Names of tools that come and go; servers over HTTP are made anew for each request. */
const changing = new Set(['brief']);

function registerChangingTools(server) {
  const named = z.object({ tool: z.string() });
  const add = (tool) => server.registerTool(tool, { inputSchema: nothing }, async () => text(`I am ${tool}`));
  const registered = new Map([...changing].map((tool) => [tool, add(tool)]));
  server.registerTool('add', { inputSchema: named }, async ({ tool }) => {
    changing.add(tool);
    registered.set(tool, add(tool));
    server.sendToolListChanged();
    return text('added');
  });
  server.registerTool('remove', { inputSchema: named }, async ({ tool }) => {
    changing.delete(tool);
    registered.get(tool)?.remove();
    return text('removed');
  });
}

function registerPlainTools(server) {
  const word = z.object({ text: z.string() });
  server.registerTool('echo', { description: 'Says it again', inputSchema: word }, async (args) => text(args.text));
  server.registerTool('look', { inputSchema: nothing, annotations: { readOnlyHint: true } }, async () => text('seen'));
  server.registerTool('erase', { inputSchema: nothing, annotations: { destructiveHint: true } }, async () =>
    text('gone'),
  );
  server.registerTool(
    'put',
    { inputSchema: nothing, annotations: { idempotentHint: true, destructiveHint: false } },
    async () => text('put'),
  );
  server.registerTool('boom', { inputSchema: nothing }, async () => {
    throw new Error('the disk is full');
  });
  server.registerTool('events', { inputSchema: nothing }, async () => text(JSON.stringify(events)));
  server.registerTool('environment', { inputSchema: nothing }, async () => text(JSON.stringify(process.env)));
  server.registerTool('exit', { inputSchema: nothing }, async () => process.exit(3));
  server.registerTool('sum', { inputSchema: nothing, outputSchema: z.object({ sum: z.number() }) }, async () => ({
    content: [],
    structuredContent: { sum: 42 },
  }));
  server.registerTool('blocks', { inputSchema: nothing }, async () => ({
    content: [
      { type: 'text', text: 'a \u001b[31mred\u001b[0m line' },
      { type: 'image', data: PIXEL, mimeType: 'image/png' },
      { type: 'audio', data: PIXEL, mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'https://example.com/a', name: 'a', title: 'Document A', mimeType: 'text/plain' },
      { type: 'resource', resource: { uri: 'file:///notes.txt', text: 'remember the milk' } },
      { type: 'resource', resource: { uri: 'file:///photo', mimeType: 'image/jpeg', blob: PIXEL } },
    ],
  }));
}

function registerSlowTools(server) {
  const steps = z.object({ steps: z.number(), every: z.number() });
  server.registerTool('steps', { inputSchema: steps }, async ({ steps: total, every }, context) => {
    for (let step = 1; step <= total; step += 1) {
      await sleep(every);
      await progress(context, step, total);
    }
    // Progress that comes with the answer may be overtaken by it.
    await sleep(every);
    return text(`${total} steps done`);
  });
  server.registerTool('wait', { inputSchema: z.object({ ms: z.number() }) }, async ({ ms }, context) => {
    events.push('wait started');
    await sleep(ms, undefined, { signal: context.mcpReq.signal }).catch(() => events.push('wait cancelled'));
    return text('waited');
  });
  server.registerTool('late', { inputSchema: nothing }, async (_, context) => {
    setTimeout(() => void progress(context, 1, 1).catch(() => undefined), 50);
    return text('early');
  });
}

async function progress({ mcpReq }, done, total) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress: done, total, message: `part ${done}\u0007` };
  await mcpReq.notify({ method: 'notifications/progress', params });
}

const color = z.object({ color: z.enum(['red', 'green']).meta({ title: 'Colour' }) });
const booking = z.object({
  seats: z.number().int().min(1).max(8).meta({ title: 'Seats', description: 'How many people come' }),
  email: z.email(),
  window: z.boolean().optional(),
});

function registerAskingTools(server) {
  server.registerTool('paint', { inputSchema: z.object({ what: z.string() }) }, async ({ what }, { mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'color', color);
    if (given) return text(`${what} is ${given.color}, state ${mcpReq.requestState() ?? 'none'}`);
    if (mcpReq.inputResponses) return text(`not painted: ${JSON.stringify(mcpReq.inputResponses)}`);
    return inputRequired({
      inputRequests: { color: inputRequired.elicit({ message: `Which colour for ${what}?`, requestedSchema: color }) },
      requestState: `opaque:${what}`,
    });
  });
  server.registerTool('book', { inputSchema: nothing }, async (_, { mcpReq }) => {
    if (mcpReq.inputResponses) return text(JSON.stringify(mcpReq.inputResponses));
    return inputRequired({
      inputRequests: { booking: inputRequired.elicit({ message: 'Your booking', requestedSchema: booking }) },
    });
  });
  server.registerTool('consent', { inputSchema: nothing }, async (_, { mcpReq }) => {
    if (mcpReq.inputResponses) return text(JSON.stringify(mcpReq.inputResponses));
    const url = 'https://example.com/consent?id=7';
    return inputRequired({ inputRequests: { consent: inputRequired.elicitUrl({ message: 'Please agree', url }) } });
  });
  server.registerTool('busy', { inputSchema: nothing }, async (_, { mcpReq }) =>
    mcpReq.requestState() ? text('now') : inputRequired({ requestState: 'again' }),
  );
}
