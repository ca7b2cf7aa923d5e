const OPEN = '<think>';
const CLOSE = '</think>';

export interface ThinkingSplitter {
  push(delta: string): void;
  /** Gives out what was held back because it might have become a tag. */
  end(): void;
}

/**
 * Splits `<think>…</think>` at the very beginning of a streamed text off as reasoning; tags may be cut anywhere by
 * chunk borders. Tags further on are text: they are what the model talks about.
 */
export function createThinkingSplitter(
  onText: (text: string) => void,
  onReasoning: (text: string) => void,
): ThinkingSplitter {
  let place: 'start' | 'thinking' | 'gap' | 'text' = 'start';
  let held = '';

  function atStart(): void {
    const seen = held.trimStart();
    if (seen.length < OPEN.length && OPEN.startsWith(seen)) return;
    if (seen.startsWith(OPEN)) {
      place = 'thinking';
      held = seen.slice(OPEN.length);
      inThinking();
    } else {
      place = 'text';
      release(onText);
    }
  }

  function inThinking(): void {
    const close = held.indexOf(CLOSE);
    const sure = close >= 0 ? close : held.length - overlap(held, CLOSE);
    if (sure > 0) onReasoning(held.slice(0, sure));
    held = held.slice(sure);
    if (close < 0) return;
    place = 'gap';
    held = held.slice(CLOSE.length);
    inGap();
  }

  /** Blank lines between the reasoning and the answer belong to neither. */
  function inGap(): void {
    held = held.trimStart();
    if (held === '') return;
    place = 'text';
    release(onText);
  }

  function release(to: (text: string) => void): void {
    if (held !== '') to(held);
    held = '';
  }

  const steps = { start: atStart, thinking: inThinking, gap: inGap };
  return {
    push(delta) {
      if (place === 'text') return onText(delta);
      held += delta;
      steps[place]();
    },
    end() {
      release(place === 'thinking' ? onReasoning : onText);
    },
  };
}

/** Length of the longest end of `text` that is a beginning of `tag`. */
function overlap(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length -= 1) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
