import { describe, expect, it } from 'vitest';
import { createTexts } from '../../src/core/chat/texts/index.js';
import { ModelError } from '../../src/core/errors.js';
import { errorLine } from '../../src/jobs/answer-text.js';

const english = createTexts('en').for(undefined);

describe('the line of a failed run', () => {
  for (const kind of ['broken_stream', 'server'] as const) {
    const error = new ModelError('broken', { kind, model: 'm1' });

    it(`says that there is no answer when nothing arrived (${kind})`, () => {
      expect(errorLine(error, english, false)).toBe(english.modelFailed('m1'));
    });

    it(`does not deny the part that stands above it (${kind})`, () => {
      expect(errorLine(error, english, true)).toBe(english.modelStalled('m1'));
    });
  }

  it('tells nothing of an error that is not the model’s', () => {
    expect(errorLine(new Error('secret detail'), english, true)).toBe(english.internalError);
  });
});
