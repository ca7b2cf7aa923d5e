import { z } from 'zod';
import type { TextTable } from '../../ports/texts.js';
import { shownLine } from '../untrusted-text.js';

const MOST_CHOICES = 100;
export const LONGEST_ANSWER = 4_000;

export type FieldValue = string | number | boolean | string[];

export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface Bounds {
  readonly low?: number | undefined;
  readonly high?: number | undefined;
}

type Kind =
  | ({ readonly kind: 'text'; readonly format?: string | undefined } & Bounds)
  | ({ readonly kind: 'number'; readonly whole: boolean } & Bounds)
  | { readonly kind: 'yes-no' }
  | { readonly kind: 'choice'; readonly choices: readonly Choice[] }
  | ({ readonly kind: 'choices'; readonly choices: readonly Choice[] } & Bounds);

/** One field of a form a server asks for. */
export type FormField = Kind & {
  readonly name: string;
  /** What people see: title and description. */
  readonly caption: string;
  readonly required: boolean;
  readonly fallback: FieldValue | undefined;
};

const titled = z.array(z.object({ const: z.string(), title: z.string().optional() })).max(MOST_CHOICES);
const choiceNames = z.array(z.string()).max(MOST_CHOICES);
const count = z.number().optional();

const common = { title: z.string().optional(), description: z.string().optional() };
const property = z.union([
  z.object({ ...common, type: z.literal('boolean'), default: z.boolean().optional() }),
  z.object({
    ...common,
    ...{ type: z.enum(['number', 'integer']), minimum: count, maximum: count, default: z.number().optional() },
  }),
  z.object({
    ...common,
    type: z.literal('array'),
    items: z.object({ enum: choiceNames.optional(), anyOf: titled.optional(), oneOf: titled.optional() }),
    ...{ minItems: count, maxItems: count, default: z.array(z.string()).optional() },
  }),
  z.object({
    ...common,
    ...{ type: z.literal('string'), format: z.string().optional(), minLength: count, maxLength: count },
    ...{ enum: choiceNames.optional(), enumNames: choiceNames.optional(), oneOf: titled.optional() },
    default: z.string().optional(),
  }),
]);

/** Reads one property of a requested schema; undefined for kinds the protocol does not allow in a form. */
export function readField(name: string, schema: unknown, required: boolean): FormField | undefined {
  const parsed = property.safeParse(schema);
  if (!parsed.success) return undefined;
  const { data } = parsed;
  const title = shownLine(data.title ?? name, 100);
  const about = data.description ? `: ${shownLine(data.description, 500)}` : '';
  const kind = kindOf(data);
  return kind && { ...kind, name, caption: title + about, required, fallback: data.default };
}

function kindOf(data: z.infer<typeof property>): Kind | undefined {
  switch (data.type) {
    case 'boolean':
      return { kind: 'yes-no' };
    case 'number':
    case 'integer':
      return { kind: 'number', whole: data.type === 'integer', low: data.minimum, high: data.maximum };
    case 'array': {
      const choices = choicesOf(data.items.enum, undefined, data.items.anyOf ?? data.items.oneOf);
      return choices.length === 0 ? undefined : { kind: 'choices', choices, low: data.minItems, high: data.maxItems };
    }
    case 'string': {
      const choices = choicesOf(data.enum, data.enumNames, data.oneOf);
      if (choices.length > 0) return { kind: 'choice', choices };
      return { kind: 'text', format: data.format, low: data.minLength, high: data.maxLength };
    }
  }
}

function choicesOf(
  values: readonly string[] | undefined,
  names: readonly string[] | undefined,
  listed: z.infer<typeof titled> | undefined,
): readonly Choice[] {
  const pairs = listed?.map((one) => [one.const, one.title]) ?? values?.map((value, index) => [value, names?.[index]]);
  return (pairs ?? []).map(([value = '', title]) => ({ value, label: shownLine(title ?? value, 100) || '–' }));
}

/** What an answer to this field has to look like. */
export function expectation(field: FormField, texts: TextTable): string | undefined {
  switch (field.kind) {
    case 'yes-no':
      return `${texts.mcpYes} / ${texts.mcpNo}`;
    case 'choice':
      return texts.mcpChooseOne;
    case 'choices':
      return texts.mcpChooseSome(range(field));
    case 'number':
      return texts.mcpNumber(range(field), field.whole);
    case 'text': {
      const format = field.format && FORMATS[field.format]?.text(texts);
      return format ?? (range(field) ? texts.mcpCharacters(range(field)) : undefined);
    }
  }
}

function range({ low, high }: Bounds): string {
  if (low !== undefined && high !== undefined) return low === high ? String(low) : `${low} – ${high}`;
  if (low !== undefined) return `≥ ${low}`;
  return high === undefined ? '' : `≤ ${high}`;
}

/** The value an answer stands for; undefined when it does not fit the field. */
export function readAnswer(field: FormField, answer: string, texts: TextTable): FieldValue | undefined {
  const text = answer.trim();
  switch (field.kind) {
    case 'yes-no':
      return readYesNo(text.toLowerCase(), texts);
    case 'choice':
      return chosen(field.choices, text);
    case 'choices': {
      const values = text.split(/[,，、;\n]/).filter((part) => part.trim() !== '');
      const picked = values.map((part) => chosen(field.choices, part.trim()));
      const known = [...new Set(picked.filter((value) => value !== undefined))];
      return picked.includes(undefined) || !within(known.length, field) ? undefined : known;
    }
    case 'number': {
      const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
      const fits = Number.isFinite(value) && within(value, field) && (!field.whole || Number.isSafeInteger(value));
      return fits ? value : undefined;
    }
    case 'text': {
      const fits = text.length <= LONGEST_ANSWER && within([...text].length, field);
      return fits && (FORMATS[field.format ?? '']?.fits(text) ?? true) ? text : undefined;
    }
  }
}

function readYesNo(text: string, texts: TextTable): boolean | undefined {
  if ([texts.mcpYes.toLowerCase(), 'yes', 'y', 'true', '是', '好'].includes(text)) return true;
  if ([texts.mcpNo.toLowerCase(), 'no', 'n', 'false', '否', '不'].includes(text)) return false;
  return undefined;
}

/** By value or label first: a choice may be called "2". */
function chosen(choices: readonly Choice[], text: string): string | undefined {
  const wanted = text.toLowerCase();
  const named =
    choices.find(({ value }) => value === text) ??
    choices.find(({ value, label }) => value.toLowerCase() === wanted || label.toLowerCase() === wanted);
  return (named ?? (/^\d+$/.test(text) ? choices[Number(text) - 1] : undefined))?.value;
}

function within(value: number, { low, high }: Bounds): boolean {
  return value >= (low ?? Number.NEGATIVE_INFINITY) && value <= (high ?? Number.POSITIVE_INFINITY);
}

const FORMATS: Readonly<
  Record<string, { readonly text: (texts: TextTable) => string; readonly fits: (text: string) => boolean }>
> = {
  email: { text: (texts) => texts.mcpEmail, fits: (text) => z.email().safeParse(text).success },
  uri: { text: (texts) => texts.mcpAddress, fits: (text) => URL.canParse(text) },
  date: { text: (texts) => texts.mcpDate, fits: (text) => z.iso.date().safeParse(text).success },
  'date-time': {
    text: (texts) => texts.mcpDateTime,
    fits: (text) => z.iso.datetime({ offset: true }).safeParse(text).success,
  },
};
