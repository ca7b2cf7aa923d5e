import { Agent } from '@mariozechner/pi-agent-core';
import { Type } from '@mariozechner/pi-ai';

export function createAsk(url, lookUp) {
  const model = {
    id: 'fake',
    name: 'fake',
    api: 'openai-completions',
    provider: 'fake',
    baseUrl: url,
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 128_000,
    maxTokens: 16_000,
  };
  const lookup = {
    name: 'lookup',
    label: 'Look up',
    description: 'Looks a key up in the list.',
    parameters: Type.Object({ key: Type.String() }),
    execute: async (_id, { key }) => ({ content: [{ type: 'text', text: lookUp(key) }], details: {} }),
  };
  return async (question) => {
    const agent = new Agent({
      initialState: { systemPrompt: 'You look things up.', model, tools: [lookup] },
      getApiKey: () => 'none',
    });
    let text = '';
    agent.subscribe((event) => {
      if (event.type !== 'message_update') return;
      if (event.assistantMessageEvent.type === 'text_delta') text += event.assistantMessageEvent.delta;
    });
    await agent.prompt(question);
    if (agent.state.errorMessage) throw new Error(agent.state.errorMessage);
    return text;
  };
}
