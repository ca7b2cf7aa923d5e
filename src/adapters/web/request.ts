import type { Context } from 'hono';
import { z } from 'zod';
import { Refusal } from './refusal.js';

/** Issues named in one answer; the rest would only repeat them. */
const MAX_ISSUES = 5;

const userField = z
  .strictObject({
    id: z.string().regex(/^[^\s\p{Cc}\p{Cs}]{1,128}$/u, 'use 1 to 128 characters without spaces'),
    name: z.string().max(200),
  })
  .optional();

const attachmentField = z.strictObject({
  kind: z.enum(['image', 'audio', 'video', 'file']),
  ref: z.string().min(1).max(2_048),
  name: z.string().max(255).optional(),
  size: z.int().min(0).optional(),
});

/** Bodies of the POST calls; `text` is judged by `checkText`. */
export const bodies = {
  message: z.strictObject({
    text: z.string(),
    clientMessageId: z.string().min(1).max(128).optional(),
    attachments: z.array(attachmentField).max(10).optional(),
    user: userField,
  }),
  choice: z.strictObject({
    choiceId: z.string().min(3).max(300),
    /** The message that shows the button. */
    messageId: z.string().max(128).optional(),
    user: userField,
  }),
  stop: z.strictObject({
    /** Stops this run only; without it, whatever runs. */
    runId: z.string().min(1).max(128).optional(),
    user: userField,
  }),
  session: z.strictObject({ token: z.string().max(4_096) }),
} as const;

/** Reads a JSON body; no body counts as `{}`. Throws a 400 Refusal that names what is wrong. */
export async function parseBody<T extends z.ZodType>(c: Context, schema: T): Promise<z.infer<T>> {
  const raw = await c.req.text();
  let json: unknown = {};
  try {
    if (raw.trim() !== '') json = JSON.parse(raw);
  } catch (cause) {
    throw new Refusal(400, {
      code: 'invalid_json',
      message: 'The body is not valid JSON.',
      hint: 'Send one JSON object.',
      cause,
    });
  }
  return parse(schema, json, 'body');
}

/** Reads the query string with the same strictness. */
export function parseQuery<T extends z.ZodType>(c: Context, schema: T): z.infer<T> {
  return parse(schema, c.req.query(), 'query');
}

function parse<T extends z.ZodType>(schema: T, value: unknown, where: 'body' | 'query'): z.infer<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues
    .slice(0, MAX_ISSUES)
    .map((issue) => [issue.path.join('.').slice(0, 100), issue.message.slice(0, 200)].filter(Boolean).join(': '));
  throw new Refusal(400, {
    code: 'invalid_request',
    message: `The ${where} is not valid: ${issues.join('; ')}`,
    hint: 'Remove unknown fields and correct the named ones.',
  });
}

/** The language the client prefers, as a BCP 47 tag. */
export function localeOf(c: Context): string | undefined {
  return /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*/.exec(c.req.header('accept-language') ?? '')?.[0];
}
