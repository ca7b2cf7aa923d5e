import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Server, startRedis } from '../services.js';
import { createWorkspace, type GatewayProcess, type Workspace } from './gateway-process.js';
import { answers, createWebClient } from './web-client.js';

const available = inject('redis');

if ('missing' in available) it.skip(available.missing, () => undefined);
else describe('readiness with a Redis that takes no writes', { timeout: 120_000 }, readiness);

function readiness(): void {
  let server: Server;
  let admin: Redis;
  let workspace: Workspace;
  let gateway: GatewayProcess;
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
    workspace = createWorkspace();
    gateway = await workspace.start({ store: { redisUrl: server.url } });
  });
  afterAll(async () => {
    await workspace.remove();
    admin.disconnect();
    await server.stop();
  });

  async function look(): Promise<{ status: number; text: string }> {
    const response = await fetch(`${gateway.url}/readyz`);
    return { status: response.status, text: await response.text() };
  }

  const readyz = (status: number) => expect.poll(async () => (await look()).status, { timeout: 10_000 }).toBe(status);

  /** Ten megabytes above its limit; `free` gives twice that back. */
  async function fill(): Promise<{ free(): Promise<void> }> {
    const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);
    await admin.set('ballast', 'x'.repeat(20_000_000));
    await admin.config('SET', 'maxmemory', used + 10_000_000);
    await expect(admin.set('more', 'x')).rejects.toThrow('OOM');
    return { free: async () => void (await admin.del('ballast')) };
  }

  it('is 503 with the cause while its memory is full, refuses messages, and is 200 again once there is space', async () => {
    await readyz(200);
    const person = createWebClient(gateway.url, 'full');
    const { free } = await fill();
    await readyz(503);
    expect(JSON.parse((await look()).text)).toEqual({
      ready: false,
      role: 'all',
      reasons: [
        {
          part: 'store (redis)',
          reason: expect.stringMatching(/accepts no writes: OOM .*maxmemory/),
          hint: expect.stringContaining('memory'),
        },
      ],
    });
    const refused = await person.say('Too early');
    expect(refused.status).toBe(503);
    await free();
    await readyz(200);
    expect((await person.say('Hello')).status).toBe(202);
    const seen = await person.until((now) => answers(now)[0]?.state === 'final');
    expect(seen.messages.map(({ role, text }) => (role === 'user' ? text : role))).toEqual(['Hello', 'bot']);
  });

  it('is 503 while it is a replica that can only be read, and 200 again once it is none', async () => {
    await readyz(200);
    await admin.replicaof('127.0.0.1', 1);
    await readyz(503);
    await admin.replicaof('NO', 'ONE');
    await readyz(200);
  });
}
