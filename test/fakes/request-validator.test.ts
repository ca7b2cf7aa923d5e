import { describe, expect, it } from 'vitest';
import { requestFaults } from './request-validator.js';

const user = { role: 'user', content: 'q' };
const calls = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, function: { name: 'look', arguments: '{}' } })),
});
const result = (id: string, content = 'r') => ({ role: 'tool', tool_call_id: id, content });
const tools = [{ function: { name: 'look' } }];

describe('requestFaults', () => {
  it('accepts whole pairs in order', () => {
    const messages = [{ role: 'system', content: 's' }, user, calls('a', 'b'), result('a'), result('b'), user];
    expect(requestFaults({ messages, tools, tool_choice: 'none' })).toEqual([]);
  });

  it.each([
    ['a missing result', { messages: [user, calls('a'), user] }],
    ['a missing result at the end', { messages: [user, calls('a')] }],
    ['results in another order', { messages: [user, calls('a', 'b'), result('b'), result('a')] }],
    ['a result without its call', { messages: [user, result('a')] }],
    ['an empty result', { messages: [user, calls('a'), result('a', '')] }],
    ['an empty assistant message', { messages: [user, { role: 'assistant', content: ' ' }] }],
    ['a late system message', { messages: [user, { role: 'system', content: 's' }] }],
    ['a schema twice', { messages: [user], tools: [...tools, ...tools] }],
    ['no schemas in a list', { messages: [user], tools: [] }],
    ['a choice without schemas', { messages: [user], tool_choice: 'none' }],
    ['the word auto', { messages: [user], tools, tool_choice: 'auto' }],
    ['nothing', { messages: [] }],
  ])('refuses %s', (_, body) => {
    expect(requestFaults(body)).not.toEqual([]);
  });

  it.each(['', '[]', '{"a":', 'null'])('refuses arguments %j', (args) => {
    const call = { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'look', arguments: args } }] };
    expect(requestFaults({ messages: [user, call, result('a')] })).not.toEqual([]);
  });
});
