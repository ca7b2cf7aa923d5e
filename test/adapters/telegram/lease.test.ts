import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fixture, startFixture } from './fixture.js';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.close());

const acceptedAll = (count: number) => fixture.server.waitFor(() => fixture.inbox.accepted.length >= count);

describe('several gateways', () => {
  it('one polls, the other stands by and takes over when the first stops', async () => {
    const { server } = fixture;
    const chat = server.privateChat();
    const first = await fixture.start();
    const second = await fixture.start();
    expect(second.health()).toMatchObject({ ready: true, reason: expect.stringContaining('standing by') });
    chat.say('one');
    await acceptedAll(1);
    expect(server.callsOf('getMe')).toHaveLength(1);
    await first.stop();
    chat.say('two');
    await acceptedAll(2);
    expect(server.calls.filter((call) => call.status === 409)).toEqual([]);
  });

  it('the other takes over when the first dies without a word', async () => {
    const { server, leases } = fixture;
    await leases.acquire('telegram:7000000001', 'a dead process', 300);
    const second = await fixture.start();
    expect(second.health().reason).toContain('standing by');
    server.privateChat().say('one');
    await acceptedAll(1);
    expect(second.health()).toEqual({ ready: true });
  });

  it('one that lost its lease stops polling at once', async () => {
    const { server, leases } = fixture;
    const adapter = await fixture.start();
    await server.waitFor(() => server.polling);
    const holder = leases.holder('telegram:7000000001') ?? '';
    await leases.release('telegram:7000000001', holder);
    await leases.acquire('telegram:7000000001', 'another', 400);
    await server.waitFor(() => !server.polling);
    await server.waitFor(() => adapter.health().reason?.includes('standing by'));
    await server.waitFor(() => server.polling);
    expect(leases.holder('telegram:7000000001')).toBe(holder);
  });

  it('one whose lease cannot be renewed polls until its time is over, not longer', async () => {
    const { server } = fixture;
    let isDown = false;
    const leases = {
      acquire: () => (isDown ? Promise.reject(new Error('no store')) : Promise.resolve(true)),
      release: () => Promise.resolve(),
    };
    const adapter = await fixture.start({ ports: { leases }, deps: { timing: { leaseTtlMs: 300 } } });
    await server.waitFor(() => server.polling);
    isDown = true;
    await server.waitFor(() => !server.polling);
    await server.waitFor(() => adapter.health().reason?.includes('no store'));
    isDown = false;
    await server.waitFor(() => server.polling);
  });

  it('a store that cannot say who polls is reported', async () => {
    const leases = { acquire: () => Promise.reject(new Error('no store')), release: () => Promise.resolve() };
    const adapter = await fixture.start({ ports: { leases } });
    expect(adapter.health()).toMatchObject({ ready: false, reason: expect.stringContaining('no store') });
    expect(fixture.server.calls).toEqual([]);
  });
});
