import { z } from 'zod';
import type { TextTable } from '../../ports/texts.js';
import type { ToolQuestion } from '../tool.js';
import { shownText } from '../untrusted-text.js';
import { expectation, type FieldValue, type FormField, LONGEST_ANSWER, readAnswer, readField } from './form-field.js';

const MOST_REQUESTS = 10;
const MOST_FIELDS = 30;
/** Buttons of one question, the one that declines among them. */
const MOST_OPTIONS = 5;
const MOST_WRONG_ANSWERS = 3;
const LONGEST_MESSAGE = 2_000;

const ACCEPT = 'accept';
const DECLINE = 'decline';
const SKIP = 'skip';

const form = z.object({
  mode: z.literal('form').default('form'),
  message: z.string(),
  requestedSchema: z.object({
    properties: z.record(z.string(), z.unknown()).default({}),
    required: z.array(z.string()).default([]),
  }),
});
const link = z.object({
  mode: z.literal('url'),
  message: z.string(),
  url: z.url({ protocol: /^https?$/ }),
});
/** What a server asks a person, in both protocols. */
const elicitation = z.union([link, form]);

const fieldValue = z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);
const response = z.union([
  z.object({ action: z.literal('accept'), content: z.record(z.string(), fieldValue).optional() }),
  z.object({ action: z.enum(['decline', 'cancel']) }),
]);

/** What a server wants to know and what people have answered so far; JSON, so that another process can go on. */
export const interview = z.object({
  requests: z.record(z.string(), elicitation),
  responses: z.record(z.string(), response),
  /** Answers to the fields of the request that is being asked. */
  content: z.record(z.string(), fieldValue),
  /** Number of its next field. */
  field: z.int().min(0),
  /** Answers to that field that did not fit. */
  wrong: z.int().min(0),
});

export type Interview = z.infer<typeof interview>;
type Elicitation = z.infer<typeof elicitation>;
type Response = z.infer<typeof response>;

/** Begins with what the server asks, by its keys; undefined when one of the requests cannot be asked of a person. */
export function startInterview(requests: Readonly<Record<string, unknown>>): Interview | undefined {
  const entries = Object.entries(requests).map(([key, request]) => [key, elicitation.safeParse(request)] as const);
  if (entries.length > MOST_REQUESTS) return undefined;
  const known = entries.flatMap(([key, parsed]) => (parsed.success ? [[key, parsed.data] as const] : []));
  if (known.length < entries.length || known.some(([, request]) => !fieldsOf(request))) return undefined;
  return { requests: Object.fromEntries(known), responses: {}, content: {}, field: 0, wrong: 0 };
}

/** The next question, or undefined when everything is answered. */
export function nextQuestion(state: Interview, server: string, texts: TextTable): ToolQuestion | undefined {
  const [, request] = current(state) ?? [];
  if (!request) return undefined;
  const field = fieldsOf(request)?.[state.field];
  const options = optionsOf(request, field, texts);
  const lines = [`${texts.mcpAsks(server)}\n${shownText(request.message, LONGEST_MESSAGE)}`];
  if (request.mode === 'url') lines.push(`${texts.mcpOpenAddress}\n${new URL(request.url).href}`);
  if (field) lines.push(...fieldLines(field, state.wrong > 0, texts));
  else if (state.wrong > 0) lines.push(texts.mcpUnfit(options.map(({ label }) => label).join(' / ')));
  return { text: lines.join('\n\n'), options: options.map(({ id, label }) => ({ id, label })) };
}

/** Takes an answer: an option's id, its label, or a text. No answer means that nobody gave one in time. */
export function answered(state: Interview, answer: string | undefined, texts: TextTable): Interview {
  const [key, request] = current(state) ?? [];
  if (key === undefined || !request) return state;
  const wanted = answer?.trim().toLowerCase();
  if (answer === undefined || wanted === '') return respond(state, key, { action: 'cancel' });
  const field = fieldsOf(request)?.[state.field];
  const options = optionsOf(request, field, texts);
  const option = options.find(({ id }) => id === answer) ?? options.find(({ label }) => label.toLowerCase() === wanted);
  if (option?.id === DECLINE) return respond(state, key, { action: 'decline' });
  if (!field) return option?.id === ACCEPT ? respond(state, key, { action: 'accept' }) : unfit(state, key);
  const value = option?.id === SKIP ? field.fallback : readAnswer(field, option?.answer ?? answer, texts);
  if (value === undefined && option?.id !== SKIP) return unfit(state, key);
  return withValue(state, key, field, value);
}

function current({ requests, responses }: Interview): readonly [string, Elicitation] | undefined {
  return Object.entries(requests).find(([key]) => !Object.hasOwn(responses, key));
}

/** Undefined when the form has more fields than people can be asked, or one of a kind that is not allowed. */
function fieldsOf(request: Elicitation): readonly FormField[] | undefined {
  if (request.mode === 'url') return [];
  const { properties, required } = request.requestedSchema;
  const entries = Object.entries(properties);
  const fields = entries.flatMap(([name, schema]) => readField(name, schema, required.includes(name)) ?? []);
  return entries.length > MOST_FIELDS || fields.length < entries.length ? undefined : fields;
}

function fieldLines(field: FormField, unfitting: boolean, texts: TextTable): readonly string[] {
  const expected = expectation(field, texts);
  const buttons = buttonsOf(field, texts);
  const listed = buttons.length === 0 && 'choices' in field ? field.choices : [];
  const hint = buttons.length === 0 && expected ? texts.mcpExpected(expected) : '';
  return [
    field.caption,
    unfitting ? texts.mcpUnfit(expected ?? texts.mcpCharacters(`≤ ${LONGEST_ANSWER}`)) : hint,
    listed.map(({ label }, index) => `${index + 1}. ${label}`).join('\n'),
  ].filter((line) => line !== '');
}

interface Option {
  readonly id: string;
  readonly label: string;
  /** What pressing it answers to the field. */
  readonly answer?: string;
}

function optionsOf(request: Elicitation, field: FormField | undefined, texts: TextTable): readonly Option[] {
  const accept = request.mode === 'url' ? texts.mcpOpened : texts.mcpAccept;
  const buttons = field ? buttonsOf(field, texts) : [{ id: ACCEPT, label: accept }];
  const skip = field && canSkip(field) ? [{ id: SKIP, label: texts.mcpSkip }] : [];
  return [...buttons, ...skip, { id: DECLINE, label: texts.mcpDecline }];
}

/** The choices as buttons, where they fit beside those that skip and decline. */
function buttonsOf(field: FormField, texts: TextTable): readonly Option[] {
  if (field.kind === 'yes-no') {
    return [
      { id: 'yes', label: texts.mcpYes, answer: 'yes' },
      { id: 'no', label: texts.mcpNo, answer: 'no' },
    ];
  }
  if (field.kind !== 'choice' || field.choices.length > MOST_OPTIONS - (canSkip(field) ? 2 : 1)) return [];
  return field.choices.map(({ label, value }, index) => ({ id: `choice-${index + 1}`, label, answer: value }));
}

function canSkip({ required, fallback }: FormField): boolean {
  return !required || fallback !== undefined;
}

/** Asked again with the reason; after three wrong answers the server is told that it gets none. */
function unfit(state: Interview, key: string): Interview {
  const wrong = state.wrong + 1;
  return wrong > MOST_WRONG_ANSWERS ? respond(state, key, { action: 'cancel' }) : { ...state, wrong };
}

/** On to the next field, or the response when there is none. */
function withValue(state: Interview, key: string, field: FormField, value: FieldValue | undefined): Interview {
  const content = value === undefined ? state.content : { ...state.content, [field.name]: value };
  const next = { ...state, content, field: state.field + 1, wrong: 0 };
  const request = state.requests[key];
  const complete = !request || next.field >= (fieldsOf(request)?.length ?? 0);
  return complete ? respond(next, key, { action: 'accept', content }) : next;
}

/** Someone who declines or goes away is not asked the other requests of the same call. */
function respond(state: Interview, key: string, given: Response): Interview {
  const open = given.action === 'accept' ? [key] : Object.keys(state.requests);
  const responses = Object.fromEntries(
    open.filter((one) => !Object.hasOwn(state.responses, one)).map((one) => [one, given] as const),
  );
  return { ...state, responses: { ...state.responses, ...responses }, content: {}, field: 0, wrong: 0 };
}
