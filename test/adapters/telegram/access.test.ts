import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { english } from '../../../src/core/chat/texts/en.js';
import { chinese } from '../../../src/core/chat/texts/zh.js';
import { type Fixture, startFixture } from './fixture.js';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.close());

const accepted = () => fixture.inbox.accepted;
const confirmedAll = () => fixture.server.waitFor(() => fixture.server.pending.length === 0);

describe('access', () => {
  it('lets nobody in by default: the person is told the id to add, once an hour, and the log names the setting', async () => {
    const { server, logger } = fixture;
    await fixture.start({ config: { access: {} } });
    const chat = server.privateChat();
    const other = server.privateChat(server.user({ language_code: 'zh-hans' }));
    for (const text of ['hello', 'hello?', '/help']) chat.say(text);
    other.say('你好');
    await server.waitFor(() => chat.botTexts.length + other.botTexts.length === 2);
    await confirmedAll();
    expect(chat.botTexts).toEqual([english.notAllowed(String(chat.id))]);
    expect(other.botTexts).toEqual([chinese.notAllowed(String(other.id))]);
    expect(accepted()).toEqual([]);
    const warnings = logger.lines.filter(({ message }) => message.includes('refused'));
    expect(warnings.map(({ fields }) => fields.fix)).toContain(
      `add "${chat.id}" to adapters.telegram.access.users to allow it`,
    );
    expect(warnings).toHaveLength(2);
  });

  it('tells strangers in groups only when they mention the bot, once an hour', async () => {
    const { server } = fixture;
    await fixture.start({ config: { access: { users: ['1'] } } });
    const group = server.group();
    group.say('just talking');
    group.say('@threadloop_bot hi');
    group.say('@threadloop_bot hi again');
    await server.waitFor(() => group.botTexts.length === 1);
    await confirmedAll();
    expect(group.botTexts).toHaveLength(1);
    expect(accepted()).toEqual([]);
  });

  it('names the chat when only the place is not allowed, in the chat and in the log', async () => {
    const { server, logger } = fixture;
    const group = server.group();
    await fixture.start({ config: { access: { users: ['*'], channels: ['-1'] } } });
    group.say('@threadloop_bot hi');
    await server.waitFor(() => logger.text().includes('refused'));
    expect(logger.text()).toContain(`add \\"${group.id}\\" to adapters.telegram.access.channels`);
    await server.waitFor(() => group.botTexts.length === 1);
    expect(group.botTexts).toEqual([english.chatNotAllowed(String(group.id))]);
  });

  it('is asked for presses too', async () => {
    const { server } = fixture;
    await fixture.start({ config: { access: { users: ['1'] } } });
    const chat = server.privateChat();
    const press = chat.pressRaw(chat.say('x'), 'ask.yes');
    await server.waitFor(() => press.answer);
    expect(press.answer?.text).toBe(english.notAllowed(String(chat.id)));
    expect(accepted()).toEqual([]);
  });

  it('repeats a refusal when the store was down at the first try', async () => {
    const { server, records } = fixture;
    const adapter = await fixture.start({ config: { access: {} } });
    const chat = server.privateChat();
    records.down = new Error('the store is down');
    chat.say('hello');
    await server.waitFor(() => !adapter.health().ready);
    expect(server.pending).toHaveLength(1);
    records.down = undefined;
    await server.waitFor(() => chat.botTexts.length === 1);
  });
});
