import type { Progress } from '@modelcontextprotocol/client';
import { AbortedError } from '../../errors.js';
import type { TextTable } from '../../ports/texts.js';
import type { ToolContext } from '../tool.js';
import { shownLine } from '../untrusted-text.js';
import { createCallClock } from './call-clock.js';
import type { CallToolResult, InputRequiredResult, McpConnection, RemoteCall } from './connection.js';
import { McpError } from './failure.js';
import { askWhileOpen } from './held-question.js';
import type { McpServer } from './server.js';
import type { ListedTool } from './tool-list.js';

export interface ServerCall {
  readonly server: McpServer;
  readonly tool: ListedTool;
  readonly arguments: Record<string, unknown>;
  readonly continuation?: RemoteCall['continuation'];
  readonly context: ToolContext;
  readonly texts: TextTable;
}

/**
 * Calls a tool within its time limits. A request that certainly did not reach the server is sent once more, on a new
 * connection. Throws McpError, or AbortedError when the context's signal says so; then the server was told.
 */
export async function callServer(call: ServerCall): Promise<CallToolResult | InputRequiredResult> {
  try {
    return await callOnce(call);
  } catch (error) {
    if (!(error instanceof McpError) || error.kind !== 'unsent') throw error;
    return callOnce(call);
  }
}

async function callOnce(call: ServerCall): Promise<CallToolResult | InputRequiredResult> {
  const lease = await call.server.lease(call.context.signal);
  let failure: McpError | undefined;
  try {
    return await callOver(lease.connection, call);
  } catch (error) {
    // A call given up by a person says nothing about the server.
    failure = error instanceof McpError ? error : new McpError('given up', { kind: 'refused', cause: error });
    throw error;
  } finally {
    lease.release(failure);
  }
}

async function callOver(
  connection: McpConnection,
  { server, tool, context, texts, arguments: args, continuation }: ServerCall,
): Promise<CallToolResult | InputRequiredResult> {
  const { callTimeoutMs, maxTotalMs } = server.config;
  const ended = new AbortController();
  const clock = createCallClock(callTimeoutMs, maxTotalMs, () => ended.abort('timed out'));
  const giveUp = () => ended.abort('cancelled');
  context.signal.addEventListener('abort', giveUp, { once: true });
  try {
    if (context.signal.aborted) giveUp();
    return await connection.call({
      ...{ tool: tool.remote, arguments: args, continuation, signal: ended.signal },
      scope: {
        elicit: (params, signal) =>
          askWhileOpen({ params, server, context, texts, clock, signal: AbortSignal.any([signal, ended.signal]) }),
      },
      onProgress(progress) {
        if (ended.signal.aborted) return;
        clock.touch();
        context.progress?.(progressLine(progress, texts));
      },
    });
  } catch (error) {
    if (context.signal.aborted) throw new AbortedError(`aborted during ${tool.name}`, error);
    if (!clock.expired) throw error;
    const [limit, of] = clock.expired === 'silent' ? [callTimeoutMs, 'of silence'] : [maxTotalMs, 'in all'];
    throw new McpError(`it did not answer within ${limit / 1_000} s ${of}`, { kind: 'timeout', cause: error });
  } finally {
    clock.stop();
    context.signal.removeEventListener('abort', giveUp);
    // Ends what still waits on behalf of this call.
    ended.abort('over');
  }
}

/** `step 3/8 message`; a percentage where the steps are no small whole numbers. */
function progressLine({ progress, total, message }: Progress, texts: TextTable): string {
  const counted = Number.isInteger(progress) && (total === undefined || (Number.isInteger(total) && total <= 1_000));
  const share = total ? `${Math.round((100 * progress) / total)} %` : String(progress);
  const step = counted ? texts.mcpStep(total ? `${progress}/${total}` : String(progress)) : share;
  return message ? `${step} ${shownLine(message, 200)}` : step;
}
