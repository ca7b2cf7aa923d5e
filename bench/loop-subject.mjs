// One agent loop in a process of its own: asks what the parent sends, tells the CPU time it took and what arrived.
// argv: file of the loop, URL of the model. Every such file exports `createAsk(url, lookUp)`: its tool calls `lookUp`,
// and `ask(question)` resolves to all text that was streamed during the run.
const [file, url] = process.argv.slice(2);
const { createAsk } = await import(new URL(file, import.meta.url).href);

let keys = [];
const ask = await createAsk(url, (key) => {
  keys.push(key);
  return `The value of ${key} is 42.`;
});

async function measure({ question, times, parallel }) {
  const texts = [];
  keys = [];
  const before = process.cpuUsage();
  while (texts.length < times) {
    texts.push(...(await Promise.all(Array.from({ length: parallel }, () => ask(question)))));
  }
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1_000, texts, keys };
}

process.on('message', (job) => {
  measure(job).then(
    (result) => process.send(result),
    (error) => process.send({ error: String(error?.stack ?? error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send('ready');
