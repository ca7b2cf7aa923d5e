import type { Place } from '../core/chat/message.js';
import type { AgentConfig, Config } from './schema.js';

/**
 * The agent that answers at a place: the first route that matches it, else the first agent of the configuration.
 * A channel matches the space (chat, channel) or the thread inside it.
 */
export function agentFor(config: Config, place: Place): { readonly name: string; readonly agent: AgentConfig } {
  const route = config.routes.find(
    ({ adapter, account, channel }) =>
      (adapter === undefined || adapter === place.platform) &&
      (account === undefined || account === place.account) &&
      (channel === undefined || channel === place.space || channel === place.thread),
  );
  const entry = Object.entries(config.agents).find(([name]) => route === undefined || name === route.agent);
  if (!entry) throw new TypeError('loadConfig guarantees an agent for every place');
  return { name: entry[0], agent: entry[1] };
}
