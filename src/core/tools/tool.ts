import { z } from 'zod';
import type { AgentEvent } from '../agent/events.js';
import { ThreadloopError } from '../errors.js';
import type { TextTable } from '../ports/texts.js';

/** What a tool gets besides its arguments. */
export interface ToolContext {
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch; tools never read the clock themselves, so that tests can. */
  readonly now: () => number;
  /** Id of the call that runs; costs and events of what the tool does belong to it. */
  readonly callId?: string | undefined;
  /** What the tool is doing, one short line for the status of the live message; untrusted text is fine. */
  readonly progress?: ((line: string) => void) | undefined;
  /**
   * A person answers while the call stays open; bounded by the caller. `stop`, or the end of the call, takes the question
   * back. Absent where nobody can be asked.
   */
  readonly ask?: ((question: ToolQuestion, stop?: AbortSignal) => Promise<ToolAnswer>) | undefined;
  /** The gateway's own words in the person's language, for questions. */
  readonly texts?: TextTable | undefined;
  /** What a suspended call left for its continuation ({@link ToolOutcome.resumeData}). */
  readonly resumeData?: unknown;
  /** Events of a run inside this call (a sub-agent): shown, counted and stored with the parent's. */
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
}

/** What a tool asks a person. With options the person presses one; without, or besides, a text answers. */
export interface ToolQuestion {
  readonly text: string;
  /** At most 5; `id` comes back as the answer. */
  readonly options?: readonly { readonly id: string; readonly label: string }[] | undefined;
}

/** What the person did: gave an answer (an option's id or a text), or nothing in time, or stopped. */
export type ToolAnswer = { readonly answer: string } | { readonly answer?: undefined };

/** What a call may do: `read` changes nothing outside, `destructive` cannot be undone. */
export type ToolRisk = 'read' | 'write' | 'destructive';

/** What a tool gives back when a text alone does not say it all; the fields are those of the loop's `ToolResult`. */
export interface ToolOutcome {
  readonly content: string;
  /** The content is an error text for the model. */
  readonly failed?: boolean | undefined;
  /** A stop tool: the run ends after this round. */
  readonly stop?: boolean | undefined;
  /** Waits for a person; {@link Tool.resume} continues with what they gave. */
  readonly suspend?: 'interactive' | undefined;
  /** With `suspend`: what the person is asked. */
  readonly question?: ToolQuestion | undefined;
  /** With `suspend`: JSON the continuation gets back as `context.resumeData`, also in another process. */
  readonly resumeData?: unknown;
  /** What the call itself cost, in the unit of the model prices. */
  readonly cost?: number | undefined;
  readonly skipCompression?: boolean | undefined;
}

/** A tool the model can call. `idempotent` allows a repeat after a take-over (default: no). */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly idempotent: boolean;
  /** What permissions go by (default: write). */
  readonly risk: ToolRisk;
  /** Results that compression leaves longer are cut to this many characters. */
  readonly maxResultChars?: number | undefined;
  /** JSON schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Parses `argumentsJson` and runs. Throws ThreadloopError `tool_arguments` with the validator's text. */
  run(argumentsJson: string, context: ToolContext): Promise<string | ToolOutcome>;
  /** Continues a call that suspended, with what the person gave. */
  resume?(argumentsJson: string, answer: string, context: ToolContext): Promise<string | ToolOutcome>;
}

export interface ToolDefinition<Schema extends z.ZodObject> {
  /** Letters, digits, `_` and `-`, at most 64: what every vendor accepts. */
  readonly name: string;
  readonly description: string;
  readonly parameters: Schema;
  readonly idempotent?: boolean;
  readonly risk?: ToolRisk;
  execute(args: z.infer<Schema>, context: ToolContext): Promise<string | ToolOutcome>;
  resume?(args: z.infer<Schema>, answer: string, context: ToolContext): Promise<string | ToolOutcome>;
}

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Makes a tool from a zod object: the model sees its JSON schema, unknown keys are refused so that the model learns
 * of a misspelt one. Lenient where models are sloppy: no arguments at all, and null for a field left out.
 */
export function defineTool<Schema extends z.ZodObject>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, execute, resume, idempotent = false, risk = 'write' } = definition;
  if (!TOOL_NAME.test(name)) {
    throw new ThreadloopError(`tool name ${JSON.stringify(name)} is not allowed`, {
      code: 'tool_name',
      hint: 'use letters, digits, "_" and "-", at most 64',
    });
  }
  const schema = definition.parameters.strict();
  const parse = (argumentsJson: string) => parseArguments(name, schema, argumentsJson) as z.infer<Schema>;
  return {
    name,
    description,
    idempotent,
    risk,
    parameters: jsonSchema(schema),
    run: async (argumentsJson, context) => execute(parse(argumentsJson), context),
    ...(resume && {
      resume: async (argumentsJson: string, answer: string, context: ToolContext) =>
        resume(parse(argumentsJson), answer, context),
    }),
  };
}

function jsonSchema(schema: z.ZodObject): Readonly<Record<string, unknown>> {
  const { $schema: _dialect, ...parameters } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
  return parameters;
}

function parseArguments(tool: string, schema: z.ZodObject, argumentsJson: string): unknown {
  const value = argumentsJson.trim() === '' ? {} : parseJson(tool, argumentsJson);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const withoutNulls = schema.safeParse(dropNulls(value));
  if (withoutNulls.success) return withoutNulls.data;
  throw argumentsError(tool, z.prettifyError(parsed.error));
}

function parseJson(tool: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw argumentsError(tool, `not valid JSON (${cause instanceof Error ? cause.message : 'unreadable'})`, cause);
  }
}

function dropNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}

function argumentsError(tool: string, problem: string, cause?: unknown): ThreadloopError {
  return new ThreadloopError(`the arguments of ${tool} are wrong: ${problem}`, { code: 'tool_arguments', cause });
}
