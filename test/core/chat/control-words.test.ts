import { describe, expect, it } from 'vitest';
import { readControl, readQueuePrefix } from '../../../src/core/chat/control-words.js';

describe('readControl', () => {
  it.each([
    ['/stop', 'stop'],
    [' Stop\n', 'stop'],
    ['停止', 'stop'],
    ['/new', 'new'],
    ['/STATUS', 'status'],
    ['/queue', 'queue'],
    ['/usage', 'usage'],
    ['/model', 'model'],
    ['/mcp', 'mcp'],
    ['/help', 'help'],
  ])('reads %j as %s', (text, control) => {
    expect(readControl(text)).toEqual({ control });
  });

  it('reads one name behind the words that take one, with its own spelling', () => {
    expect(readControl('/Model Big-One')).toEqual({ control: 'model', argument: 'Big-One' });
    expect(readControl(' /mcp  files ')).toEqual({ control: 'mcp', argument: 'files' });
    for (const text of ['/model a b', '/status now', '/mcpfiles']) expect(readControl(text)).toBeUndefined();
  });

  it.each(['stop it', 'please stop', '/stop now', 'new', 'status', 'help', 'constructor', '__proto__', ''])(
    'leaves %j to the model',
    (text) => {
      expect(readControl(text)).toBeUndefined();
    },
  );
});

describe('readQueuePrefix', () => {
  it.each([
    ['queue: later', { queue: true, text: 'later' }],
    ['Queue:later', { queue: true, text: 'later' }],
    ['queue：以后', { queue: true, text: '以后' }],
    ['queue:', { queue: true, text: '' }],
    ['my queue: x', { queue: false, text: 'my queue: x' }],
    ['/queue later', { queue: true, text: 'later' }],
    ['queue up', { queue: false, text: 'queue up' }],
  ])('reads %j', (text, expected) => {
    expect(readQueuePrefix(text)).toEqual(expected);
  });
});
