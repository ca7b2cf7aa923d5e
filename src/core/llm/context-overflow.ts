/**
 * How servers say that a request is longer than the context window: OpenAI and those that copy it (`context_length_exceeded`,
 * "maximum context length"), Anthropic ("prompt is too long"), Bedrock ("input is too long"), Gemini ("input token count
 * … exceeds"), xAI ("maximum prompt length"), Groq ("reduce the length"), llama.cpp ("exceeds the available context
 * size"), LM Studio and Together ("than the context length"), Moonshot ("exceeded model token limit"), MiniMax ("context
 * window exceeds limit"), Qwen ("Range of input length"), SiliconFlow ("max_seq_len"), Volcengine ("max message
 * tokens"), Zhipu ("Prompt 超长") and other Chinese wordings.
 */
const TOO_LONG = [
  /context[_ ](length|size|window)[_ ]exceeded|exceed_context_size|context overflow/i,
  /maximum (context|prompt|model) length|max[_ ]seq[_ ]len|max message tokens/i,
  /(prompt|input|messages?|request|conversation)( is| are)? too (long|large)/i,
  /input (token count|tokens?|length)\b.{0,60}exceed/i,
  /exceed(s|ed|ing)?\b.{0,40}(context (window|length|size|limit)|model token limit)/i,
  /context (window|length|size) (exceeds|is only)|configured context size/i,
  /(greater|longer) than the (model'?s? )?(maximum )?context length/i,
  /reduce the length of (the|your) (messages|prompt|input)/i,
  /range of input length should be/i,
  /too many (input )?tokens|token limit exceeded/i,
  /上下文.{0,10}(超|过长|太长)|(超出|超过).{0,12}(上下文|最大长度|长度限制|长度上限)/,
  /(输入|提示词?|消息|内容|prompt)\s*.{0,6}(超长|过长|太长)|(输入|提示词?|prompt).{0,8}长度.{0,4}超/i,
] as const;

/** Limits over time are told in similar words, but a shorter request is no help against them. */
const OVER_TIME =
  /\b(tokens?|requests?) per (second|min|hour|day)|rate.?limit|\b[TR]P[MD]\b|throttl|please wait|每分钟|频率|限流/i;

/** A finish reason instead of an error (Z.ai). */
export const OVERFLOW_FINISH = 'model_context_window_exceeded';

/** Is this the refusal of a request that is too long? `text` holds the vendor's code, type and message. */
export function isContextOverflow(status: number | undefined, text: string): boolean {
  if (status !== undefined && [401, 402, 403, 404, 429].includes(status)) return false;
  if (OVER_TIME.test(text)) return false;
  return status === 413 || TOO_LONG.some((pattern) => pattern.test(text));
}
