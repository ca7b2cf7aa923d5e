// The least that can be had: the openai client, a list of messages and a loop around them.
import OpenAI from 'openai';

const tools = [
  {
    type: 'function',
    function: {
      name: 'lookup',
      description: 'Looks a key up in the list.',
      parameters: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] },
    },
  },
];

export function createAsk(url, lookUp) {
  const client = new OpenAI({ baseURL: url, apiKey: 'none' });
  return async (question) => {
    const messages = [
      { role: 'system', content: 'You look things up.' },
      { role: 'user', content: question },
    ];
    let text = '';
    for (;;) {
      const { content, calls } = await request(client, messages);
      text += content;
      if (calls.length === 0) return text;
      messages.push({ role: 'assistant', content, tool_calls: calls });
      for (const { id, function: called } of calls) {
        messages.push({ role: 'tool', tool_call_id: id, content: lookUp(JSON.parse(called.arguments).key) });
      }
    }
  };
}

async function request(client, messages) {
  const stream = await client.chat.completions.create({
    model: 'fake',
    stream: true,
    stream_options: { include_usage: true },
    messages,
    tools,
  });
  const calls = [];
  let content = '';
  for await (const chunk of stream) {
    const delta = chunk.choices[0]?.delta;
    content += delta?.content ?? '';
    for (const { index, id, function: piece } of delta?.tool_calls ?? []) {
      if (id) calls[index] = { id, type: 'function', function: { ...piece } };
      else calls[index].function.arguments += piece.arguments;
    }
  }
  return { content, calls };
}
