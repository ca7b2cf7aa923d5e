import { z } from 'zod';
import { toError } from '../errors.js';

/** Characters of one call's arguments; a larger text is refused before it is parsed. */
const MAX_ARGUMENTS = 200_000;
/** Characters of a validator's text that go back to the model. */
const MAX_PROBLEM = 1_500;

export type ParsedArguments<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: string };

/**
 * Parses what the model wrote for one of the loop's own tools; never throws, `problem` is a text for the model. Null
 * counts as a field left out: several models fill optional fields with it.
 */
export function parseArguments<Schema extends z.ZodType>(
  schema: Schema,
  argumentsJson: string,
): ParsedArguments<z.output<Schema>> {
  if (argumentsJson.length > MAX_ARGUMENTS) {
    return { ok: false, problem: `more than ${MAX_ARGUMENTS} characters; send less at once` };
  }
  let value: unknown;
  try {
    value = JSON.parse(argumentsJson.trim() || '{}', (_key, field: unknown) => (field === null ? undefined : field));
  } catch (thrown) {
    return { ok: false, problem: `not valid JSON (${toError(thrown).message})` };
  }
  return checkValue(schema, value);
}

/** The same for a value that is already parsed. */
export function checkValue<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): ParsedArguments<z.output<Schema>> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  const problem = z.prettifyError(parsed.error);
  return { ok: false, problem: problem.length > MAX_PROBLEM ? `${problem.slice(0, MAX_PROBLEM)} …` : problem };
}

/**
 * The JSON schema the model sees: `anyOf` instead of `oneOf`, which not every vendor knows, and without the limits of
 * texts, which cost tokens in every request and are told by the validator when they matter.
 */
export function parametersOf(schema: z.ZodObject): Readonly<Record<string, unknown>> {
  const { $schema: _dialect, ...parameters } = z.toJSONSchema(schema, {
    io: 'input',
    target: 'draft-7',
    override({ jsonSchema }) {
      delete jsonSchema.minLength;
      delete jsonSchema.maxLength;
      delete jsonSchema.default;
      if (!jsonSchema.oneOf) return;
      jsonSchema.anyOf = jsonSchema.oneOf;
      delete jsonSchema.oneOf;
    },
  });
  return parameters;
}
