import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelStep } from '../fakes/model-server.js';
import { createWorkspace, type GatewayProcess, type Workspace } from './gateway-process.js';
import { calls, mcpProgram, type ScriptedModel, startScriptedModel } from './scripted-model.js';
import { answers, createWebClient, type WebConversation, type WebMessage } from './web-client.js';

const WAIT_MS = 30_000;
const DONE = { text: 'Done.' };

describe('approvals and MCP servers over the web API, with the embedded database', { timeout: 120_000 }, () => {
  let model: ScriptedModel;
  let workspace: Workspace;
  let gateway: GatewayProcess;
  let config: object;
  let n = 0;

  beforeAll(async () => {
    model = await startScriptedModel();
    workspace = createWorkspace();
    const assistant = {
      mode: 'tools',
      mcpServers: ['fake'],
      permissions: {
        mode: 'ask',
        rules: [
          { tool: 'mcp_fake_echo', args: { text: 'forbidden*' }, decision: 'deny' },
          { tool: 'mcp_fake_exit', decision: 'allow' },
          { tool: 'mcp_old_*', decision: 'allow' },
        ],
      },
    };
    config = {
      models: { default: { baseUrl: model.server.url, model: 'fake' } },
      mcpServers: { fake: mcpProgram('modern'), old: mcpProgram('legacy') },
      agents: { assistant, hasty: { ...assistant, approvals: { expiresHours: 0.0005 } } },
      routes: [{ adapter: 'web', channel: 'hasty', agent: 'hasty' }, { agent: 'assistant' }],
    };
    gateway = await workspace.start(config);
  });
  afterAll(async () => {
    await workspace.remove();
    await model.server.close();
  });

  type Client = ReturnType<typeof createWebClient>;
  const person = (conversation = `c${++n}`, cookie?: string) => createWebClient(gateway.url, conversation, cookie);

  /** Says it and waits for the card. */
  async function ask(me: Client, text: string): Promise<WebMessage> {
    await me.say(text);
    return card(me);
  }
  /** The newest message with buttons, once there is one that is not `before`. */
  async function card(me: Client, before?: WebMessage): Promise<WebMessage> {
    const isNew = (found: WebMessage | undefined) => found !== undefined && found.id !== before?.id;
    const seen = await me.until((s) => isNew(cardIn(s)), WAIT_MS);
    return cardIn(seen) ?? expect.fail('the card is gone again');
  }
  /** Says it and waits for the newest of the answers, which may be the gateway's own. */
  async function tell(me: Client, text: string): Promise<string> {
    const before = answers(await me.look()).length;
    await me.say(text);
    const isOver = (s: WebConversation) => answers(s).length > before && s.run.state === 'idle';
    return answers(await me.until(isOver, WAIT_MS)).at(-1)?.text ?? '';
  }
  const cardIn = (seen: WebConversation) => answers(seen).findLast(({ buttons }) => buttons?.length);
  const labels = (message: WebMessage | undefined) => message?.buttons?.map(({ label }) => label) ?? [];
  async function press(me: Client, message: WebMessage, label: string): Promise<number> {
    const button = message.buttons?.find((one) => one.label === label);
    return (await me.press(button?.id ?? `no button ${label}`, message.id)).status;
  }
  /** The conversation once it is idle and its newest message is an answer. */
  const ended = (me: Client) =>
    me.until((seen) => seen.run.state === 'idle' && answers(seen).at(-1)?.state === 'final', WAIT_MS);
  const shown = async (me: Client, id: string) => (await me.look()).messages.find((message) => message.id === id);

  it('shows tool and arguments without their secrets, and runs the call once when it is allowed once', async () => {
    const args = { text: 'hello', api_key: 'sk-live-0123456789abcdef' };
    model.play({ text: 'Let me see.', ...calls('mcp_fake_echo', args) }, calls('mcp_fake_echo', args), DONE);
    const me = person();
    const first = await ask(me, 'say hello');
    expect(first.text).toContain('mcp_fake_echo');
    expect(first.text).toContain('text: "hello"');
    expect(first.text).toContain('api_key: •••');
    expect(JSON.stringify(await me.look())).not.toContain(args.api_key);
    expect(labels(first)).toEqual(['Once', 'Always here', 'Deny']);
    expect(answers(await me.look())[0]?.text).toBe('Let me see.');
    expect(await press(me, first, 'Once')).toBe(202);
    // The second call has the same name, the same arguments and even the same id: it is another call.
    const again = await card(me, first);
    expect(model.results).toEqual(['hello']);
    expect(await press(me, again, 'Deny')).toBe(202);
    await ended(me);
    expect(model.results).toEqual(['hello', 'Denied: the person said no']);
    expect((await shown(me, first.id))?.text).toContain('Allowed once by');
    expect(labels(await shown(me, first.id))).toEqual([]);
    expect(gateway.output).not.toContain(args.api_key);
  });

  it('asks no more after "always", but for that tool only, here only, and a rule that denies beats it', async () => {
    model.play(calls('mcp_fake_echo', { text: 'one' }), DONE);
    const me = person();
    await press(me, await ask(me, 'first'), 'Always here');
    await ended(me);
    model.play(
      calls('mcp_fake_echo', { text: 'forbidden fruit' }),
      calls('mcp_fake_echo', { text: 'two' }),
      calls('mcp_fake_put'),
      DONE,
    );
    const other = await ask(me, 'second');
    expect(other.text).toContain('mcp_fake_put');
    await press(me, other, 'Once');
    await ended(me);
    expect(model.results).toEqual([expect.stringMatching(/^Denied: a rule/), 'two', 'put']);
    model.play(calls('mcp_fake_echo', { text: 'three' }), DONE);
    const elsewhere = person();
    await press(elsewhere, await ask(elsewhere, 'third'), 'Deny');
    await ended(elsewhere);
    expect(model.results).toEqual(['Denied: the person said no']);
  });

  it.each(['yes', 'always here', 'No, that is too risky'])(
    'takes the text "%s" for a denial with a reason',
    async (text) => {
      model.play(calls('mcp_fake_erase'), DONE);
      const me = person();
      const asked = await ask(me, 'tidy up');
      await me.say(text);
      await ended(me);
      expect(model.results).toEqual([`Denied: ${text}`]);
      expect((await shown(me, asked.id))?.text).toContain(text);
      expect(labels(await shown(me, asked.id))).toEqual([]);
    },
  );

  it('takes one press, of the person who asked', async () => {
    model.play(calls('mcp_fake_erase'), DONE);
    const me = person();
    const asked = await ask(me, 'tidy up');
    const stranger = person(`c${n}`);
    expect(await press(stranger, asked, 'Once')).toBe(403);
    expect(labels(await shown(me, asked.id))).toHaveLength(3);
    const both = await Promise.all([press(me, asked, 'Once'), press(me, asked, 'Deny')]);
    expect(both.toSorted()).toEqual([202, 409]);
    await ended(me);
    expect(model.results).toEqual([both[0] === 202 ? 'gone' : 'Denied: the person said no']);
    expect(await press(me, asked, 'Once')).toBe(409);
    expect(model.left).toBe(0);
  });

  it('counts what nobody allows in time as denied, on the card too', async () => {
    model.play(calls('mcp_fake_erase'), DONE);
    const me = person('hasty');
    const asked = await ask(me, 'tidy up');
    await ended(me);
    expect(model.results).toEqual(['Denied: nobody approved it in time']);
    expect((await shown(me, asked.id))?.text).toContain('counts as denied');
    expect(labels(await shown(me, asked.id))).toEqual([]);
    expect(await press(me, asked, 'Once')).toBe(410);
  });

  it('asks about all calls of a round in one card and runs those that were allowed', async () => {
    const echo = (text: string) => ({ name: 'mcp_fake_echo', arguments: { text } });
    model.play({ toolCalls: [echo('one'), echo('two')] }, DONE);
    const me = person();
    const asked = await ask(me, 'twice');
    expect(labels(asked)).toHaveLength(6);
    await press(me, asked, '2: Deny');
    const half = await me.until((s) => labels(cardIn(s)).length === 3, WAIT_MS);
    expect(half.run.state).toBe('waiting');
    expect(cardIn(half)?.id).toBe(asked.id);
    await press(me, asked, '1: Once');
    await ended(me);
    expect(model.results).toEqual(['one', 'Denied: the person said no']);
  });

  it('adds the tools of a server with /mcp NAME from the next turn on, in that conversation', async () => {
    model.play(DONE);
    const me = person();
    expect(await tell(me, '/mcp nowhere')).toContain('There is no tool server "nowhere". Configured: fake, old.');
    await tell(me, 'hi');
    expect(model.tools.some((name) => name.startsWith('mcp_fake_'))).toBe(true);
    expect(model.tools.filter((name) => name.startsWith('mcp_old_'))).toEqual([]);
    expect(await tell(me, '/mcp old')).toContain('Tool servers here: fake, old.');
    model.play(calls('mcp_old_echo', { text: 'from the other server' }), DONE, DONE, DONE);
    await tell(me, 'hi again');
    expect(model.tools).toContain('mcp_old_echo');
    expect(model.results).toEqual(['from the other server']);
    await tell(person(), 'hi');
    expect(model.tools).not.toContain('mcp_old_echo');
    expect(await tell(me, '/mcp old')).toContain('Tool servers here: fake.');
    await tell(me, 'and now?');
    expect(model.tools).not.toContain('mcp_old_echo');
  });

  it('tells the model when a server dies in a call, goes on, and has it back for the next one', async () => {
    model.play(calls('mcp_fake_exit'), calls('mcp_fake_look'), DONE);
    const me = person();
    await me.say('break it');
    const look = await card(me);
    expect(model.results).toEqual([expect.stringContaining('outcome is unknown')]);
    await press(me, look, 'Once');
    const seen = await ended(me);
    expect(model.results[1]).toBe('seen');
    expect(answers(seen).at(-1)?.text).toContain('Done.');
  });

  it('holds a call of an older server open until its question is answered with a button', async () => {
    const me = person();
    await tell(me, '/mcp old');
    model.play(calls('mcp_old_paint', { what: 'door' }), DONE);
    const question = await ask(me, 'paint the door');
    expect(question.text).toContain('Which colour for door?');
    expect(labels(question)).toEqual(['red', 'green', 'Decline']);
    expect(await press(me, question, 'red')).toBe(202);
    await ended(me);
    expect(model.results).toEqual([expect.stringMatching(/^door is red/)]);
    expect(labels(await shown(me, question.id))).toEqual([]);
  });

  describe('after kill -9', () => {
    interface Waiting {
      readonly me: Client;
      readonly asked: WebMessage;
    }
    let approval: Waiting;
    let question: Waiting;
    let held: Waiting;

    beforeAll(async () => {
      const asked = async (step: ModelStep, bound: string, allow: boolean): Promise<Waiting> => {
        const me = person();
        if (bound) await tell(me, `/mcp ${bound}`);
        model.play(step);
        await me.say('paint the wall');
        const first = await card(me);
        if (!allow) return { me, asked: first };
        await press(me, first, 'Once');
        return { me, asked: await card(me, first) };
      };
      approval = await asked(calls('mcp_fake_erase'), '', false);
      question = await asked(calls('mcp_fake_paint', { what: 'wall' }), '', true);
      held = await asked(calls('mcp_old_paint', { what: 'door' }), 'old', false);
      model.play(DONE);
      await gateway.kill();
      gateway = await workspace.start(config);
      const back = ({ me, asked }: Waiting) => ({ me: person(me.conversation, me.cookie), asked });
      [approval, question, held] = [back(approval), back(question), back(held)];
    });

    it('closes the question whose call died with the process, tells the model so and goes on', async () => {
      const { me, asked } = held;
      expect(asked.text).toContain('Which colour for door?');
      await ended(me);
      expect(model.results).toEqual([expect.stringMatching(/^Interrupted: .* outcome is unknown/)]);
      expect((await shown(me, asked.id))?.text).toContain('Cancelled.');
      expect(labels(await shown(me, asked.id))).toEqual([]);
      expect(await press(me, asked, 'red')).toBe(410);
    });

    it('hands an answer to the newer server that asked in the former process', async () => {
      const { me, asked } = question;
      model.play(DONE);
      expect(asked.text).toContain('Which colour for wall?');
      expect(labels(asked)).toEqual(['red', 'green', 'Decline']);
      expect(await press(me, asked, 'green')).toBe(202);
      await ended(me);
      expect(model.results).toEqual(['wall is green, state opaque:wall']);
      expect((await shown(me, asked.id))?.text).toContain('green');
    });

    it('runs what is allowed only now', async () => {
      const { me, asked } = approval;
      model.play(DONE);
      expect(await press(me, asked, 'Once')).toBe(202);
      await ended(me);
      expect(model.results).toEqual(['gone']);
      expect(labels(await shown(me, asked.id))).toEqual([]);
    });
  });
});
