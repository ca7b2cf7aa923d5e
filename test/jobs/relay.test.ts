import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Deployment, openDeployment } from '../../src/jobs/deployment.js';
import { createErrorLog } from '../../src/jobs/error-log.js';
import { quietLogger } from '../fakes/quiet.js';
import { waitFor } from '../fakes/wait-for.js';
import { startRedis } from '../services.js';
import { describeOnTargets, open, type Target } from './targets.js';

describeOnTargets('hints', (make) => {
  let target: Target;
  let here: Deployment;
  let there: Deployment;

  beforeAll(async () => {
    target = await make();
    here = await open(target);
    // The embedded database belongs to one process, which then talks to itself.
    there = target.kind === 'embedded' ? here : await open(target);
  });

  afterAll(async () => {
    await here?.close();
    if (there !== here) await there?.close();
    await target?.remove();
  });

  it('reach every listener of their topic and no other', async () => {
    const heard: string[] = [];
    const listen = (deployment: Deployment, topic: string, name: string) =>
      deployment.relay.subscribe(topic, () => heard.push(name));
    await listen(here, 'stop:web:main:c1:ä.*', 'here');
    await listen(there, 'stop:web:main:c1:ä.*', 'there');
    await listen(there, 'stop:web:main:c1:ä.*', 'there too');
    await listen(there, 'stop:web:main:c2:', 'other conversation');
    await listen(there, 'web:main:c1:ä.*', 'other kind');
    await here.relay.publish('stop:web:main:c1:ä.*');
    await waitFor(() => heard.length >= 3);
    // A second hint behind the first one: what the first one set off has arrived by then.
    await there.relay.publish('web:main:c1:ä.*');
    await waitFor(() => heard.includes('other kind'));
    expect(heard.sort()).toEqual(['here', 'other kind', 'there', 'there too']);
  });

  it('no longer reach a listener that left', async () => {
    const heard: string[] = [];
    const leave = await there.relay.subscribe('stop:left', () => heard.push('left'));
    await there.relay.subscribe('stop:left', () => heard.push('stays'));
    await leave();
    await here.relay.publish('stop:left');
    await waitFor(() => heard.includes('stays'));
    expect(heard).toEqual(['stays']);
  });

  it('may have any text as their topic', async () => {
    for (const topic of ['', ':', 'no colon', 'späce :x', `${'k'.repeat(200)}:x`]) {
      let heard = 0;
      await there.relay.subscribe(topic, () => heard++);
      await here.relay.publish(topic);
      await waitFor(() => heard === 1, { what: topic });
    }
  });
});

describeOnTargets('a relay', (make) => {
  it('neither throws nor hangs when it is used after it was closed', async () => {
    const target = await make();
    const deployment = await open(target);
    await deployment.close();
    await deployment.relay.publish('stop:late');
    const leave = await deployment.relay.subscribe('stop:late', () => undefined);
    await leave();
    await target.remove();
  }, 60_000);
});

it('hints come again after the Redis they went through was killed and started again', async ({ skip }) => {
  const server = await startRedis().catch(() => skip('redis-server not found'));
  const logged: string[] = [];
  const logger = { ...quietLogger, warn: (_: object, text: string) => void logged.push(text) };
  const deployment = await openDeployment({
    ...{ redisUrl: server.url, dataDir: '', logger, onProgress: () => undefined },
  });
  let heard = 0;
  await deployment.relay.subscribe('stop:a', () => heard++);
  await server.kill('SIGKILL');
  await waitFor(() => logged.length > 0);
  const again = await startRedis({ again: server });
  const hint = setInterval(() => void deployment.relay.publish('stop:a'), 100);
  await waitFor(() => heard > 0, { timeoutMs: 25_000 });
  clearInterval(hint);
  await deployment.close();
  await again.stop();
});

it('the log of a connection that fails again and again stays short', () => {
  const logged: object[] = [];
  const log = createErrorLog({ ...quietLogger, warn: (fields) => void logged.push(fields) }, 'away');
  for (let i = 0; i < 50; i++) log(new Error('refused'));
  log(new Error('another'));
  expect(logged).toEqual([{ error: 'refused' }, { error: 'another' }]);
});
