/** What the scripted model server sends for one step, as server-sent events. */

export interface ScriptedCall {
  readonly name: string;
  /** Sent as it is; an object is sent as JSON text (as an object in the shape `object_arguments`). */
  readonly arguments?: string | object | null | undefined;
  readonly id?: string | undefined;
}

/**
 * How vendors send tool calls:
 * - `openai`: index, id, name first, then arguments in pieces
 * - `interleaved`: like it, but the pieces of all calls alternate
 * - `whole`: each call in one piece
 * - `no_ids`, `no_index`, `bare` (neither), `same_index` (0 for every call)
 * - `repeated`: id, name and role in every piece
 * - `null_arguments`: null instead of a first empty piece; `object_arguments`: an object instead of text
 */
export type ToolCallShape =
  | 'openai'
  | 'interleaved'
  | 'whole'
  | 'no_ids'
  | 'no_index'
  | 'bare'
  | 'same_index'
  | 'repeated'
  | 'null_arguments'
  | 'object_arguments';

/** What goes wrong; `after` counts the tokens sent before. */
export type ModelFault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Record<string, string>;
    }
  /** The socket closes before a response; `silent`: it stays open without one. */
  | { readonly kind: 'refuse' | 'silent' }
  /** `cut`: the socket breaks; `eof`: a clean end; `stall`: nothing more comes; all without finish reason and [DONE]. */
  | { readonly kind: 'cut' | 'eof' | 'stall' | 'malformed'; readonly after: number }
  /** Nothing but keep-alive comments for a while, then the stream goes on. */
  | { readonly kind: 'keep_alive'; readonly after: number; readonly everyMs: number; readonly times: number }
  | { readonly kind: 'error_event'; readonly after: number; readonly error: unknown }
  | { readonly kind: 'raw'; readonly contentType: string; readonly body: string }
  /** One JSON object instead of a stream. */
  | { readonly kind: 'json' }
  /** `no_done`: [DONE] is left out; `keep_open`: the connection stays open after it. */
  | { readonly kind: 'no_done' | 'keep_open' }
  /** Keep-alive comments and events without choices between the tokens. */
  | { readonly kind: 'noise' };

export interface ModelStep {
  readonly text?: string | undefined;
  /** Numbered words `w1 w2 …` instead of `text`, so that completeness can be counted. */
  readonly words?: number | undefined;
  /** Word by word unless `piece` is a number of characters; Infinity sends it whole. */
  readonly piece?: number | undefined;
  /** Undefined: as fast as possible. */
  readonly tokensPerSecond?: number | undefined;
  readonly reasoning?: string | undefined;
  readonly reasoningAs?: 'reasoning_content' | 'reasoning' | 'think' | undefined;
  readonly toolCalls?: readonly ScriptedCall[] | undefined;
  readonly shape?: ToolCallShape | undefined;
  /** Default: `tool_calls` with calls, else `stop`; null leaves it out. */
  readonly finishReason?: string | null | undefined;
  /** False: none is reported. Default: 10 in, one out per token. */
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | false | undefined;
  readonly requestId?: string | undefined;
  /** Before the response begins. */
  readonly delayMs?: number | undefined;
  /** Cuts the stream into network writes of this many bytes, wherever that falls. */
  readonly writeBytes?: number | undefined;
  readonly fault?: ModelFault | undefined;
}

export interface Frame {
  readonly data: string;
  /** Counts for the rate and for `after`. */
  readonly token: boolean;
}

/** `w1 w2 … wN`. */
export function numberedWords(count: number): string {
  return Array.from({ length: count }, (_, at) => `w${at + 1}`).join(' ');
}

export function framesOf(step: ModelStep): readonly Frame[] {
  const frames: Frame[] = [deltaFrame({ role: 'assistant', content: '' }, false)];
  const thinks = step.reasoningAs === 'think';
  const text = `${thinks ? `<think>\n${step.reasoning}\n</think>\n\n` : ''}${textOf(step)}`;
  if (step.reasoning && !thinks) {
    const field = step.reasoningAs ?? 'reasoning_content';
    for (const piece of pieces(step.reasoning, step.piece)) frames.push(deltaFrame({ [field]: piece }, true));
  }
  for (const piece of pieces(text, step.piece)) {
    if (step.fault?.kind === 'noise') frames.push({ data: ': keep-alive\n\n', token: false }, event({ choices: [] }));
    frames.push(deltaFrame({ content: piece }, true));
  }
  for (const delta of callDeltas(step.toolCalls ?? [], step.shape ?? 'openai')) frames.push(deltaFrame(delta, true));
  const finish = finishOf(step);
  if (finish !== null) frames.push(event({ choices: [{ index: 0, delta: {}, finish_reason: finish }] }));
  if (step.usage !== false) frames.push(event({ choices: [], usage: usageOf(step, frames) }));
  if (step.fault?.kind !== 'no_done') frames.push({ data: 'data: [DONE]\n\n', token: false });
  return frames;
}

export function wholeCompletion(step: ModelStep): unknown {
  const message = {
    role: 'assistant',
    content: textOf(step),
    reasoning_content: step.reasoning,
    tool_calls: step.toolCalls?.map((call, index) => ({
      id: call.id ?? `call_${index}`,
      type: 'function',
      function: { name: call.name, arguments: argumentsText(call) },
    })),
  };
  const usage = step.usage === false ? undefined : usageOf(step, framesOf(step));
  return {
    id: 'chatcmpl-fake',
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finishOf(step) }],
    usage,
  };
}

function textOf(step: ModelStep): string {
  return step.words === undefined ? (step.text ?? '') : numberedWords(step.words);
}

function finishOf(step: ModelStep): string | null {
  if (step.finishReason !== undefined) return step.finishReason;
  return step.toolCalls?.length ? 'tool_calls' : 'stop';
}

function usageOf(step: ModelStep, frames: readonly Frame[]) {
  return step.usage || { prompt_tokens: 10, completion_tokens: frames.filter(({ token }) => token).length };
}

function pieces(text: string, size: number | undefined): readonly string[] {
  if (text === '') return [];
  if (size === undefined) return text.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? [text];
  if (size >= text.length) return [text];
  return text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [text];
}

type Delta = Readonly<Record<string, unknown>>;

function callDeltas(calls: readonly ScriptedCall[], shape: ToolCallShape): readonly Delta[] {
  if (shape !== 'interleaved') return calls.flatMap((call, index) => oneCall(call, index, shape));
  const rows = calls.map((call, index) => oneCall(call, index, 'openai'));
  const longest = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: longest }, (_, at) => rows.map((row) => row[at]))
    .flat()
    .filter((delta) => !!delta);
}

function oneCall(call: ScriptedCall, at: number, shape: ToolCallShape): readonly Delta[] {
  const args = argumentsText(call);
  const index = shape === 'no_index' || shape === 'bare' ? {} : { index: shape === 'same_index' ? 0 : at };
  const id = shape === 'no_ids' || shape === 'bare' ? {} : { id: call.id ?? `call_${at}` };
  const head = { ...index, ...id, type: 'function' };
  const middle = Math.ceil(args.length / 2);
  const halves = args === '' ? [] : [args.slice(0, middle), args.slice(middle)].filter((half) => half !== '');
  switch (shape) {
    case 'whole':
      return [callDelta({ ...head, function: { name: call.name, arguments: args } })];
    case 'object_arguments':
      return [callDelta({ ...head, function: { name: call.name, arguments: call.arguments } })];
    case 'repeated':
      return ['', ...halves].map((half) => ({
        role: 'assistant',
        ...callDelta({ ...head, function: { name: call.name, arguments: half } }),
      }));
    default:
      return [
        callDelta({ ...head, function: { name: call.name, arguments: shape === 'null_arguments' ? null : '' } }),
        ...halves.map((half) => callDelta({ ...index, function: { arguments: half } })),
      ];
  }
}

function callDelta(call: unknown): Delta {
  return { tool_calls: [call] };
}

function argumentsText(call: ScriptedCall): string {
  return typeof call.arguments === 'string' ? call.arguments : call.arguments ? JSON.stringify(call.arguments) : '';
}

function deltaFrame(delta: Delta, token: boolean): Frame {
  return { ...event({ choices: [{ index: 0, delta, finish_reason: null }] }), token };
}

function event(fields: Delta): Frame {
  const chunk = { id: 'chatcmpl-fake', object: 'chat.completion.chunk', created: 1, model: 'fake', ...fields };
  return { data: `data: ${JSON.stringify(chunk)}\n\n`, token: false };
}
