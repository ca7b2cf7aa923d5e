/**
 * Asks a running gateway one question over HTTP and prints the final answer: `node scripts/ask.mjs URL QUESTION`.
 * Exit code 1 when the gateway is not ready within three minutes (it may still be installing), or when the answer is
 * not final a minute later.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

const [url, question] = process.argv.slice(2);
const LIMIT_MS = { ready: 180_000, answer: 60_000 };
const conversation = new URL(`/api/conversations/${randomUUID()}`, url);

await untilItAnswers(new URL('/readyz', url));
const sent = await fetch(`${conversation}/messages`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ text: question, clientMessageId: randomUUID() }),
});
if (sent.status !== 202) throw new Error(`the question was refused: ${sent.status} ${await sent.text()}`);
console.log(await finalAnswer());

async function untilItAnswers(address) {
  const deadline = Date.now() + LIMIT_MS.ready;
  for (;;) {
    const answer = await fetch(address).catch(() => undefined);
    if (answer?.ok) return;
    if (Date.now() > deadline) throw new Error(`not ready: ${answer ? await answer.text() : 'no connection'}`);
    await pause(200);
  }
}

async function finalAnswer() {
  const deadline = Date.now() + LIMIT_MS.answer;
  for (;;) {
    const { messages } = await (await fetch(conversation)).json();
    const answers = messages.filter(({ role }) => role === 'bot');
    if (answers.length > 0 && answers.every(({ state }) => state === 'final'))
      return answers.map(({ text }) => text).join('\n');
    if (Date.now() > deadline) throw new Error(`no final answer: ${JSON.stringify(messages)}`);
    await pause(200);
  }
}
