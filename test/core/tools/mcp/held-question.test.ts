import { expect, it } from 'vitest';
import { english } from '../../../../src/core/chat/texts/en.js';
import { createCallClock } from '../../../../src/core/tools/mcp/call-clock.js';
import { askWhileOpen } from '../../../../src/core/tools/mcp/held-question.js';
import type { McpServer } from '../../../../src/core/tools/mcp/server.js';
import { mcpServerConfig } from '../../../../src/core/tools/mcp/server-config.js';

it('a question that nobody answers in time is taken back, and the server is told that it was cancelled', async () => {
  const config = mcpServerConfig.parse({ transport: 'stdio', command: 'none', elicitationMinutes: 0.001 });
  const { signal } = new AbortController();
  const clock = createCallClock(60_000, 60_000, () => undefined);
  let takenBack: string | undefined;
  const answer = await askWhileOpen({
    params: { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
    server: { name: 'files', config } as McpServer,
    context: {
      ...{ signal, now: Date.now },
      ask: (_, stop) =>
        new Promise((resolve) => {
          stop?.addEventListener('abort', () => {
            takenBack = String(stop.reason);
            resolve({});
          });
        }),
    },
    ...{ texts: english, clock, signal },
  });
  clock.stop();
  expect(answer).toEqual({ action: 'cancel' });
  expect(takenBack).toBe('nobody answered in time');
});
