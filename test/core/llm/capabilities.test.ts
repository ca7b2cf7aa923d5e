import { expect, it } from 'vitest';
import { allowedCapabilities, leftOut, NO_CAPABILITIES } from '../../../src/core/llm/capabilities.js';

const all = { vision: true, audio: true, video: true, reasoning: true };

it('model and agent must both allow it', () => {
  for (const name of ['vision', 'audio', 'video', 'reasoning'] as const) {
    const one = { ...NO_CAPABILITIES, [name]: true };
    expect(allowedCapabilities(one, all)).toEqual(one);
    expect(allowedCapabilities(all, one)).toEqual(one);
    expect(allowedCapabilities(one, NO_CAPABILITIES)).toEqual(NO_CAPABILITIES);
  }
});

it('kinds of media that are not allowed are named once each, files never', () => {
  const sent = ['video', 'image', 'file', 'image'].map((kind) => ({ kind }));
  expect(leftOut(sent, NO_CAPABILITIES)).toEqual(['image', 'video']);
  expect(leftOut(sent, { ...NO_CAPABILITIES, vision: true })).toEqual(['video']);
  expect(leftOut(sent, all)).toEqual([]);
});
