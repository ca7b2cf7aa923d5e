import { z } from 'zod';
import { ThreadloopError } from '../errors.js';

/** What a tool gets besides its arguments. */
export interface ToolContext {
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch; tools never read the clock themselves, so that tests can. */
  readonly now: () => number;
}

/** What a tool gives back when a text alone does not say it all; the fields are those of the loop's `ToolResult`. */
export interface ToolOutcome {
  readonly content: string;
  /** The content is an error text for the model. */
  readonly failed?: boolean | undefined;
  /** A stop tool: the run ends after this round. */
  readonly stop?: boolean | undefined;
  /** Waits for a person; {@link Tool.resume} continues with what they gave. */
  readonly suspend?: 'interactive' | undefined;
  readonly skipCompression?: boolean | undefined;
}

/** A tool the model can call. `idempotent` allows a repeat after a take-over (default: no). */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly idempotent: boolean;
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
  execute(args: z.infer<Schema>, context: ToolContext): Promise<string | ToolOutcome>;
  resume?(args: z.infer<Schema>, answer: string, context: ToolContext): Promise<string | ToolOutcome>;
}

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Makes a tool from a zod object: the model sees its JSON schema, unknown keys are refused so that the model learns
 * of a misspelt one. Lenient where models are sloppy: no arguments at all, and null for a field left out.
 */
export function defineTool<Schema extends z.ZodObject>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, execute, resume, idempotent = false } = definition;
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
