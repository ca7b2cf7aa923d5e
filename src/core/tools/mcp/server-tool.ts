import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { english } from '../../chat/texts/en.js';
import { AbortedError, ThreadloopError } from '../../errors.js';
import type { TextTable } from '../../ports/texts.js';
import type { Tool, ToolContext, ToolOutcome } from '../tool.js';
import type { InputRequiredResult, RemoteCall } from './connection.js';
import { McpError } from './failure.js';
import { answered, interview, nextQuestion, startInterview } from './interview.js';
import { resultText } from './result-text.js';
import type { McpServer } from './server.js';
import { callServer } from './server-call.js';
import type { ListedTool } from './tool-list.js';

/** How often one call may ask for input, or be handed back. */
const MOST_ROUNDS = 10;
const HANDED_BACK_MS = 250;
const LARGEST_RESUME_DATA = 256 * 1024;

/** What a suspended call needs to go on in another process. */
const resumeData = z.object({
  v: z.literal(1),
  interview,
  /** The server's own: opaque, handed back unchanged. */
  requestState: z.string().optional(),
  rounds: z.int(),
});
type ResumeData = z.infer<typeof resumeData>;

interface Attempt {
  readonly tool: ListedTool;
  readonly server: McpServer;
  readonly arguments: Record<string, unknown>;
  readonly context: ToolContext;
  readonly texts: TextTable;
  readonly rounds: number;
  readonly continuation?: RemoteCall['continuation'];
}

/** A server's tool as a tool of an agent. A failure is a result the model can read; an abort is thrown. */
export function serverTool(tool: ListedTool, server: McpServer): Tool {
  const { name, description, parameters, risk, idempotent } = tool;
  const begin = (argumentsJson: string, context: ToolContext): Attempt => {
    const parsed = parseArguments(name, argumentsJson);
    return { tool, server, arguments: parsed, context, texts: context.texts ?? english, rounds: 0 };
  };
  return {
    name,
    description,
    parameters,
    risk,
    idempotent,
    maxResultChars: server.config.maxResultChars,
    run: async (argumentsJson, context) => guarded(call, begin(argumentsJson, context)),
    resume: async (argumentsJson, answer, context) =>
      guarded((attempt) => resume(attempt, answer), begin(argumentsJson, context)),
  };
}

async function guarded(work: (attempt: Attempt) => Promise<ToolOutcome>, attempt: Attempt): Promise<ToolOutcome> {
  const { context } = attempt;
  try {
    return await work(attempt);
  } catch (error) {
    if (context.signal.aborted) throw error instanceof AbortedError ? error : new AbortedError(undefined, error);
    if (error instanceof McpError) return failure(failureText(error, attempt.tool));
    throw error;
  }
}

async function call(attempt: Attempt): Promise<ToolOutcome> {
  const { tool, rounds } = attempt;
  const reply = await callServer(attempt);
  if (!isInputRequired(reply)) {
    return { content: resultText(reply), ...(reply.isError === true && { failed: true }) };
  }
  if (rounds >= MOST_ROUNDS) return failure(`${tool.label} asked for input ${MOST_ROUNDS} times and was given up.`);
  const { requestState, inputRequests = {} } = reply;
  const requests = Object.entries(inputRequests);
  if (requests.length === 0) {
    // A server with too much to do hands the call back without a question.
    await sleep(HANDED_BACK_MS, undefined, { signal: attempt.context.signal });
    return call({ ...attempt, rounds: rounds + 1, continuation: { requestState } });
  }
  const questions = requests.map(([key, { method, params }]) => [key, method === 'elicitation/create' ? params : null]);
  const begun = startInterview(Object.fromEntries(questions));
  if (!begun) return failure(`${tool.label} asks for something that no person can be asked here.`);
  return ask(attempt, { v: 1, interview: begun, requestState, rounds: rounds + 1 });
}

async function resume(attempt: Attempt, answer: string): Promise<ToolOutcome> {
  const saved = resumeData.safeParse(attempt.context.resumeData);
  if (!saved.success) return failure(`${attempt.tool.label} cannot be continued: its question is no longer known.`);
  const { data } = saved;
  const state = answered(data.interview, answer, attempt.texts);
  if (nextQuestion(state, attempt.server.name, attempt.texts)) return ask(attempt, { ...data, interview: state });
  const continuation = { requestState: data.requestState, inputResponses: state.responses };
  return call({ ...attempt, rounds: data.rounds, continuation });
}

function ask({ tool, server, texts }: Attempt, data: ResumeData): ToolOutcome {
  if (JSON.stringify(data).length > LARGEST_RESUME_DATA) {
    return failure(`${tool.label} asks for more than can be kept until an answer comes.`);
  }
  const question = nextQuestion(data.interview, server.name, texts);
  return { content: `${tool.label} waits for an answer.`, suspend: 'interactive', question, resumeData: data };
}

function isInputRequired(reply: object): reply is InputRequiredResult {
  return 'resultType' in reply && reply.resultType === 'input_required';
}

function failure(text: string): ToolOutcome {
  return { content: `Error: ${text}`, failed: true };
}

/** Says for every call that may have taken effect that nobody knows whether it did. */
function failureText({ kind, message }: McpError, { label, idempotent }: ListedTool): string {
  const outcome = idempotent
    ? 'It may be called again.'
    : 'Its outcome is unknown: it may have taken effect. Check before calling it again.';
  switch (kind) {
    case 'refused':
      return `${label} failed: ${message}`;
    case 'unauthorized':
      return `${message}; the operator has to correct it`;
    case 'unsent':
    case 'unavailable':
      return `${label} was not called, its server is not available: ${message}`;
    case 'lost':
      return `${label} was interrupted: ${message}. ${outcome}`;
    case 'timeout':
      return `${label} was given up: ${message}. ${outcome}`;
  }
}

function parseArguments(tool: string, argumentsJson: string): Record<string, unknown> {
  if (argumentsJson.trim() === '') return {};
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(argumentsJson));
  } catch (cause) {
    throw new ThreadloopError(`the arguments of ${tool} are wrong: not a JSON object`, {
      code: 'tool_arguments',
      cause,
    });
  }
}
