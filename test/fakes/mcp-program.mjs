/**
 * A server of the older protocol without any library, so that it starts at once. Its arguments make it behave like
 * programs that exist: `strict` ends at a first word that is not the greeting · `child` starts a process that ignores
 * the end of its input and SIGTERM · `mute` never answers · `broken` ends at once with a message. The ids of all its
 * processes go into the file `FAKE_PIDS`.
 */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const modes = new Set(process.argv.slice(2));
const note = (pid) => appendFileSync(process.env.FAKE_PIDS, `${pid}\n`);

note(process.pid);
if (modes.has('child')) {
  const script = "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1000);";
  note(spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'inherit', 'inherit'] }).pid);
}
if (modes.has('broken')) {
  process.stderr.write(`cannot read the settings, the key was ${process.env.FAKE_KEY}\n`);
} else {
  process.stdout.write('starting, this line is no message\n');
  createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line)));
}

function answer({ id, method, params }) {
  if (modes.has('mute') || id === undefined) return;
  const send = (reply) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`);
  const text = (value) => send({ result: { content: [{ type: 'text', text: value }] } });
  const inputSchema = { type: 'object' };
  switch (method) {
    case 'initialize': {
      const { protocolVersion } = params;
      const serverInfo = { name: 'program', version: '1.0.0' };
      return send({ result: { protocolVersion, serverInfo, capabilities: { tools: {} } } });
    }
    case 'tools/list':
      return send({ result: { tools: ['echo', 'exit', 'environment'].map((name) => ({ name, inputSchema })) } });
    case 'tools/call':
      if (params.name === 'exit') process.exit(3);
      return text(params.name === 'environment' ? JSON.stringify(process.env) : params.arguments.text);
    default:
      if (modes.has('strict')) process.exit(1);
      return send({ error: { code: -32601, message: 'Method not found' } });
  }
}
