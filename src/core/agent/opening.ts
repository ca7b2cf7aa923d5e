import type { ChatMessage, ToolSchema } from '../llm/model.js';
import { estimateTokens } from '../llm/tokens.js';
import { planSystemPrompt } from '../plan/prompt.js';
import { createPlanState } from '../plan/state.js';
import { summaryMessage } from './compression/summary.js';
import { newestGroups } from './history.js';
import { joinSystemPrompt, placeQuotes } from './quotes.js';
import type { TurnInput } from './run-turn.js';
import { createLoopState } from './transcript.js';
import type { TurnState } from './turn-state.js';

/**
 * The first state of a turn: system prompt, what is left of earlier turns, the person's text. Earlier turns that
 * compression will look after are all there; otherwise the oldest groups give way to the window (seed 000, 3.1).
 */
export async function openingState(input: TurnInput, schemas: readonly ToolSchema[]): Promise<TurnState> {
  const { agent, model, text, signal } = input;
  // Compression switched off shows the model the originals, which are all still there (seed 001).
  const summary = agent.compressHistory ? input.summary : null;
  const quotes = agent.mode === 'chat' ? await agent.knowledge?.search(text, signal) : undefined;
  const placed = quotes === undefined ? { user: text } : placeQuotes({ quotes, ...agent.quotes, question: text });
  const system = systemPrompt(input, schemas, placed.system);
  const fixed: ChatMessage[] = [
    ...(system ? [{ role: 'system' as const, content: system }] : []),
    ...(summary ? [summaryMessage(summary)] : []),
  ];
  const user: ChatMessage = { role: 'user', content: placed.user };
  const known = summary ? input.history.slice(Math.max(0, summary.through - input.historyFrom)) : input.history;
  const trims = agent.mode === 'chat' || !agent.compressHistory;
  const whole = [...fixed, ...known, user];
  const budget = model.contextWindow - model.maxOutputTokens - estimateTokens([], schemas);
  const chain = trims ? newestGroups(whole, budget).messages : whole;
  const turnAt = chain.length - 1;
  const kept = turnAt - fixed.length;
  return {
    v: 1,
    loop: createLoopState(chain),
    ...(agent.mode === 'plan' && agent.enableTools ? { plan: createPlanState(text) } : {}),
    compression: {
      turnAt,
      historyFrom: input.historyFrom + input.history.length - kept,
      summary,
      ...{ triedAt: 0, failures: input.summaryFailures, factor: 1 },
    },
    loadedTools: [],
    ruled: [],
    decisions: {},
    interactive: {},
    answers: [],
  };
}

function systemPrompt({ agent, model, depth = 0 }: TurnInput, schemas: readonly ToolSchema[], quotes = ''): string {
  const author = joinSystemPrompt([model.defaultSystemPrompt ?? '', agent.systemPrompt]);
  if (agent.mode === 'chat' || !agent.enableTools) return joinSystemPrompt([author, quotes]);
  const { maxToolCallsPerTurn } = agent;
  if (agent.mode === 'plan') {
    const toolNames = schemas.map(({ name }) => name);
    return planSystemPrompt({ author, toolNames, canAsk: depth === 0, maxToolCallsPerTurn });
  }
  // Told, not enforced (seed 001): the model keeps its room for judgement.
  const told = schemas.length > 0 ? `Call at most ${maxToolCallsPerTurn} tools in one reply.` : '';
  return joinSystemPrompt([author, told]);
}
