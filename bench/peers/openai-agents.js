import { Agent, OpenAIChatCompletionsModel, Runner, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';

export function createAsk(url, lookUp) {
  // Traces would go to a server of OpenAI's.
  setTracingDisabled(true);
  const model = new OpenAIChatCompletionsModel(new OpenAI({ baseURL: url, apiKey: 'none' }), 'fake');
  const lookup = tool({
    name: 'lookup',
    description: 'Looks a key up in the list.',
    parameters: z.object({ key: z.string() }),
    execute: async ({ key }) => lookUp(key),
  });
  const agent = new Agent({ name: 'bench', instructions: 'You look things up.', model, tools: [lookup] });
  const runner = new Runner({ tracingDisabled: true });
  return async (question) => {
    const result = await runner.run(agent, question, { stream: true, maxTurns: 1_000 });
    let text = '';
    for await (const event of result) {
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') text += event.data.delta;
    }
    await result.completed;
    return text;
  };
}
