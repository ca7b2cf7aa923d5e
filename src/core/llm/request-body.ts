import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions';
import type { ModelError } from '../errors.js';
import type { ChatMessage, ModelRequest, ToolCall, ToolSchema } from './model.js';

/** What this server turned out to accept; learned from its refusals and kept while the process lives. */
export interface Dialect {
  streamOptions: boolean;
  tokenLimit: 'max_completion_tokens' | 'max_tokens';
  reasoningEffort: boolean;
}

/** OpenAI's newer models refuse `max_tokens`; most other servers know nothing else. */
export function createDialect(host: string): Dialect {
  return {
    streamOptions: true,
    tokenLimit: /(^|\.)(openai\.com|azure\.com)$/.test(host) ? 'max_completion_tokens' : 'max_tokens',
    reasoningEffort: true,
  };
}

/** True when the refusal names an option that has another form, now noted in `dialect`: ask once more. */
export function learnDialect(dialect: Dialect, tried: Dialect, error: ModelError): boolean {
  if (error.kind !== 'bad_request') return false;
  if (tried.streamOptions && error.message.includes('stream_options')) {
    dialect.streamOptions = false;
    return true;
  }
  if (tried.reasoningEffort && error.message.includes('reasoning_effort')) {
    dialect.reasoningEffort = false;
    return true;
  }
  const named = /\bmax_(completion_)?tokens\b/.test(error.message);
  if (
    !named ||
    !/unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|not permitted|extra/i.test(error.message)
  ) {
    return false;
  }
  dialect.tokenLimit = tried.tokenLimit === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  return true;
}

/** What the operator set for a model; sent as it is, unset ones are left to the server. */
export interface RequestSettings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  /** Sent only beside tools. */
  readonly parallelToolCalls?: boolean | undefined;
}

export interface BodyOptions extends RequestSettings {
  readonly model: string;
  readonly maxOutputTokens: number;
  readonly dialect: Dialect;
  /** The model takes `reasoning_effort`. */
  readonly reasons: boolean;
}

export function requestBody(request: ModelRequest, options: BodyOptions): ChatCompletionCreateParamsStreaming {
  const { model, maxOutputTokens, dialect, temperature, topP, stop, parallelToolCalls, reasons } = options;
  const effort = reasons && dialect.reasoningEffort ? request.reasoningEffort : undefined;
  const offersTools = request.tools !== undefined && request.tools.length > 0;
  return {
    model,
    messages: request.messages.flatMap(messageParam),
    stream: true,
    [dialect.tokenLimit]: maxOutputTokens,
    ...(dialect.streamOptions && { stream_options: { include_usage: true } }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(stop && stop.length > 0 && { stop: [...stop] }),
    ...(effort && { reasoning_effort: effort }),
    ...(offersTools && { tools: request.tools.map(toolParam) }),
    ...(offersTools && parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
    // A choice without tools is an error to most servers.
    ...(offersTools && request.toolChoice && { tool_choice: request.toolChoice }),
  };
}

function messageParam(message: ChatMessage): readonly ChatCompletionMessageParam[] {
  switch (message.role) {
    case 'system':
    case 'user':
      return [{ role: message.role, content: message.content }];
    case 'tool':
      return [{ role: 'tool', tool_call_id: message.toolCallId, content: message.content }];
    case 'assistant': {
      const calls = message.toolCalls ?? [];
      if (calls.length > 0) {
        return [{ role: 'assistant', content: message.content || null, tool_calls: calls.map(callParam) }];
      }
      // Some vendors reject every later request over one empty assistant message.
      return message.content === '' ? [] : [{ role: 'assistant', content: message.content }];
    }
  }
}

function callParam(call: ToolCall) {
  return { id: call.id, type: 'function' as const, function: { name: call.name, arguments: validArguments(call) } };
}

const checked = new WeakMap<ToolCall, string>();

/**
 * Arguments that are a JSON object in any case: servers that parse the chain (chat templates do) fail on what the model
 * got wrong, and the run would be dead. The tool's error message behind it tells the model what it wrote.
 */
function validArguments(call: ToolCall): string {
  const known = checked.get(call);
  if (known !== undefined) return known;
  const valid = isJsonObject(call.arguments) ? call.arguments : '{}';
  checked.set(call, valid);
  return valid;
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function toolParam({ name, description, parameters }: ToolSchema): ChatCompletionTool {
  return { type: 'function', function: { name, description, parameters: { ...parameters } } };
}
