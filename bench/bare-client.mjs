// A bare openai client that reads one stream to its end and prints its own CPU time in ms: what any gateway must spend.
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.argv[2], apiKey: 'none' });
const ask = async (content) => {
  let text = '';
  const stream = await client.chat.completions.create({
    model: 'fake',
    stream: true,
    messages: [{ role: 'user', content }],
  });
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
};
await ask('warm up');
const before = process.cpuUsage();
await ask(process.argv[3]);
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1_000);
