import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ModelServer, type ModelStep, type RecordedRequest, startModelServer } from '../fakes/model-server.js';
import { createWorkspace, type GatewayProcess, type Workspace } from './gateway-process.js';
import { answers, createWebClient, numbered } from './web-client.js';

const words = (count: number) => Array.from({ length: count }, (_, i) => `w${i + 1}`);

describe('the web console and its API, with the embedded database', { timeout: 120_000 }, () => {
  let model: ModelServer;
  let workspace: Workspace;
  let gateway: GatewayProcess;
  let script: (request: RecordedRequest, index: number) => ModelStep = () => ({ text: 'Hello.' });
  let config: object;
  let n = 0;

  beforeAll(async () => {
    model = await startModelServer((request, index) => script(request, index));
    workspace = createWorkspace();
    config = { models: { default: { baseUrl: model.url, apiKey: 'sk-test-secret-key', model: 'fake' } } };
    gateway = await workspace.start(config);
  });
  afterEach(() => {
    script = () => ({ text: 'Hello.' });
  });
  afterAll(async () => {
    await workspace.remove();
    await model.close();
  });

  const person = () => createWebClient(gateway.url, `c${++n}`);
  const last = (index = model.requests.length - 1) => model.requests[index]?.body.messages;

  it('answers a question', async () => {
    const me = person();
    expect((await me.say('Hi')).status).toBe(202);
    const seen = await me.until((s) => answers(s)[0]?.state === 'final' && s.run.state === 'idle');
    expect(answers(seen).map((m) => m.text)).toEqual(['Hello.']);
    expect(seen.messages.map((m) => m.role)).toEqual(['user', 'bot']);
  });

  it('streams an answer by edits and shows it whole in the end', async () => {
    script = () => ({ words: 150, tokensPerSecond: 60 });
    const me = person();
    await me.say('Count');
    const early = await me.until((s) => answers(s)[0]?.state === 'streaming');
    expect(numbered(answers(early).map((m) => m.text)).length).toBeLessThan(150);
    const seen = await me.until((s) => answers(s)[0]?.state === 'final');
    expect(numbered(answers(seen).map((m) => m.text))).toEqual(words(150));
  });

  it('remembers the conversation and forgets it with /new', async () => {
    const me = person();
    script = () => ({ text: 'Nice to meet you, Ada.' });
    await me.say('I am Ada');
    await me.until((s) => answers(s)[0]?.state === 'final');
    await me.say('Who am I?');
    await me.until((s) => answers(s)[1]?.state === 'final');
    expect(last().map((m: { content: string }) => m.content)).toContain('I am Ada');
    await me.say('/new');
    await me.until((s) => answers(s)[2]?.state === 'final');
    await me.say('Who am I?');
    await me.until((s) => answers(s)[3]?.state === 'final');
    expect(JSON.stringify(last())).not.toContain('I am Ada');
  });

  it('calls a tool and answers with its result', async () => {
    script = ({ body }) =>
      body.messages.at(-1).role === 'tool'
        ? { text: `It is ${body.messages.at(-1).content}` }
        : { toolCalls: [{ name: 'current_time', arguments: '' }] };
    const me = person();
    await me.say('What time is it?');
    const seen = await me.until((s) => answers(s)[0]?.state === 'final');
    expect(answers(seen)[0]?.text).toContain(String(new Date().getUTCFullYear()));
  });

  it('stops within a second, keeps the partial text and takes the next message', async () => {
    script = () => ({ words: 3_000, tokensPerSecond: 40 });
    const me = person();
    await me.say('Go on for ever');
    await me.until((s) => numbered(answers(s).map((m) => m.text)).length > 20);
    const request = model.requests.at(-1);
    const began = Date.now();
    expect((await me.stop()).status).toBe(202);
    expect(await request?.aborted).toBe(true);
    // The promise is one second; three leave room for a busy machine.
    expect(Date.now() - began).toBeLessThan(3_000);
    const seen = await me.until((s) => answers(s)[0]?.state === 'stopped' && s.run.state === 'idle');
    expect(numbered(answers(seen).map((m) => m.text)).length).toBeGreaterThan(20);
    script = () => ({ text: 'Still here.' });
    await me.say('Are you there?');
    await me.until((s) => answers(s)[1]?.text === 'Still here.');
  });

  it('steers a run with a message written during it and acknowledges that', async () => {
    script = ({ body }) =>
      JSON.stringify(body.messages).includes('Make it short')
        ? { text: 'Short.' }
        : { toolCalls: [{ name: 'current_time', arguments: '{}' }], delayMs: 1_500 };
    const me = person();
    await me.say('Write something');
    await me.until((s) => s.run.state === 'running');
    await me.say('Make it short');
    const seen = await me.until((s) => answers(s).some((m) => m.text.includes('Short.') && m.state === 'final'));
    const steer = last().find((m: { content: string | null }) => m.content?.includes('Make it short'));
    expect(steer.content.startsWith('【运行中引导，请立即结合它调整当前工作】')).toBe(true);
    expect(seen.messages.find((m) => m.text === 'Make it short')?.mark).toBe('seen');
  });

  it('answers a steer that comes during the last answer in a new message', async () => {
    script = ({ body }) =>
      JSON.stringify(body.messages).includes('And the second?')
        ? { text: 'The second answer.' }
        : { text: 'The first answer, said slowly so that there is time.', tokensPerSecond: 6 };
    const me = person();
    await me.say('First?');
    await me.until((s) => answers(s)[0]?.state === 'streaming');
    await me.say('And the second?');
    const seen = await me.until((s) => s.run.state === 'idle' && answers(s).length === 2);
    expect(answers(seen).map((m) => [m.text, m.state])).toEqual([
      ['The first answer, said slowly so that there is time.', 'final'],
      ['The second answer.', 'final'],
    ]);
  });

  it('keeps a message with the queue: prefix for after the run', async () => {
    script = ({ body }) =>
      body.messages.at(-1).content === 'later' ? { text: 'Later it is.' } : { words: 30, tokensPerSecond: 20 };
    const me = person();
    await me.say('Count');
    await me.until((s) => s.run.state === 'running');
    await me.say('queue: later');
    const seen = await me.until((s) => answers(s).length === 2 && answers(s)[1]?.state === 'final');
    expect(answers(seen)[1]?.text).toBe('Later it is.');
    expect(numbered([answers(seen)[0]?.text ?? ''])).toEqual(words(30));
  });

  it('answers /status during a run without waiting for its end', async () => {
    script = () => ({ words: 200, tokensPerSecond: 30 });
    const me = person();
    await me.say('Count');
    await me.until((s) => answers(s)[0]?.state === 'streaming');
    await me.say('/status');
    await me.until(
      (s) => answers(s).some((m, i) => i > 0 && m.state === 'final') && answers(s)[0]?.state === 'streaming',
    );
    await me.stop();
    await me.until((s) => s.run.state === 'idle');
  });

  it('says honestly which model failed, and the log has the cause and the fix', async () => {
    script = () => ({ fault: { kind: 'status', status: 401, body: { error: { message: 'bad key' } } } });
    const me = person();
    await me.say('Hi');
    const seen = await me.until((s) => answers(s)[0]?.state === 'error');
    expect(answers(seen)[0]?.text).toContain('default');
    expect(gateway.output).toContain('apiKey');
    expect(gateway.output).not.toContain('sk-test-secret-key');
    script = () => ({ text: 'Better now.' });
    await me.say('Again');
    await me.until((s) => answers(s)[1]?.text === 'Better now.');
  });

  it('completes the same message after kill -9 in mid-answer', async () => {
    script = () => ({ words: 400, tokensPerSecond: 50 });
    const me = createWebClient(gateway.url, 'killed');
    await me.say('Count');
    const half = await me.until((s) => numbered(answers(s).map((m) => m.text)).length > 50);
    const id = answers(half)[0]?.id;
    await gateway.kill();
    script = () => ({ words: 400 });
    gateway = await workspace.start(config);
    const again = createWebClient(gateway.url, 'killed', me.cookie);
    const seen = await again.until((s) => answers(s)[0]?.state === 'final' && s.run.state === 'idle');
    expect(answers(seen).map((m) => m.id)).toEqual([id]);
    expect(numbered(answers(seen).map((m) => m.text))).toEqual(words(400));
  });

  it('hands a run over when it is told to end, and ends with 0', async () => {
    script = () => ({ words: 400, tokensPerSecond: 20 });
    const short = { ...config, worker: { shutdownSeconds: 1 } };
    await gateway.stop();
    gateway = await workspace.start(short);
    const me = createWebClient(gateway.url, 'handed-over');
    await me.say('Count');
    await me.until((s) => answers(s)[0]?.state === 'streaming');
    expect(await gateway.stop()).toBe(0);
    script = () => ({ words: 400 });
    gateway = await workspace.start(config);
    const again = createWebClient(gateway.url, 'handed-over', me.cookie);
    const seen = await again.until((s) => answers(s)[0]?.state === 'final');
    expect(numbered(answers(seen).map((m) => m.text))).toEqual(words(400));
    expect(answers(seen)).toHaveLength(1);
  });
});
