// Our kernel as it is built, with its model client and a tool with a zod schema.
import { z } from 'zod';

const built = (file) => import(new URL(`../dist/core/${file}`, import.meta.url).href);

export async function createAsk(url, lookUp) {
  const { runAgentLoop } = await built('agent/run-agent-loop.js');
  const { createLoopState } = await built('agent/transcript.js');
  const { createOpenAiModel } = await built('llm/client.js');
  const { defineTool } = await built('tools/tool.js');
  const lookup = defineTool({
    name: 'lookup',
    description: 'Looks a key up in the list.',
    parameters: z.object({ key: z.string() }),
    execute: async ({ key }) => lookUp(key),
  });
  const model = createOpenAiModel({
    name: 'fake',
    baseUrl: url,
    apiKey: 'none',
    model: 'fake',
    contextWindow: 128_000,
    maxOutputTokens: 16_000,
  });
  return async (question) => {
    let text = '';
    const hooks = {
      getRequestControl: () => ({ tools: [lookup] }),
      onRunTool: async (call, { signal }) => ({ content: await lookup.run(call.arguments, { signal, now: Date.now }) }),
      onEvent(event) {
        if (event.type === 'text.delta') text += event.text;
      },
    };
    const { finish, error } = await runAgentLoop({
      model,
      hooks,
      state: createLoopState([
        { role: 'system', content: 'You look things up.' },
        { role: 'user', content: question },
      ]),
      maxIterations: 1_000,
      signal: new AbortController().signal,
    });
    if (finish !== 'final') throw error ?? new Error(`the run ended as ${finish}`);
    return text;
  };
}
