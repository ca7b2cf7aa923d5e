// The buttons of questions and approvals. A button's id is `choice.option`; each choice is a row of its own.

import { make } from './elements.js';
import { errorText } from './strings.js';

/**
 * `send(messageId, buttonId)` resolves with the error of the call, or with nothing when the press was taken; `fail`
 * gets errors that say nothing about the question, such as a lost connection.
 */
export function createChoices({ send, fail }) {
  /** By choice: the pressed button, or what was said about it. Outlives the row, which every edit draws anew. */
  const states = new Map();
  /** By choice: draws the row that is shown now. */
  const painters = new Map();

  /** One row per choice, in the order of their buttons. */
  function rows({ id, buttons }) {
    const byChoice = new Map();
    for (const button of buttons) {
      const choice = button.id.slice(0, button.id.lastIndexOf('.'));
      byChoice.set(choice, [...(byChoice.get(choice) ?? []), button]);
    }
    return [...byChoice].map(([choice, options]) => createRow(id, choice, options));
  }

  function createRow(messageId, choice, options) {
    const row = make('div', 'choices');
    row.setAttribute('role', 'group');
    const buttons = options.map(({ id, label, style }) => {
      const button = make('button', style ?? '', label);
      button.type = 'button';
      button.addEventListener('click', () => void press(messageId, choice, id));
      return button;
    });
    const line = make('p', 'line');
    line.setAttribute('role', 'alert');
    row.append(...buttons, line);
    painters.set(choice, () => {
      const { pressed, over = false, text = '' } = states.get(choice) ?? {};
      row.setAttribute('aria-busy', String(pressed !== undefined));
      options.forEach(({ id }, index) => {
        buttons[index].disabled = over || pressed !== undefined;
        buttons[index].classList.toggle('pressed', id === pressed);
      });
      line.textContent = text;
    });
    painters.get(choice)();
    return row;
  }

  async function press(messageId, choice, buttonId) {
    if (states.get(choice)?.pressed) return;
    show(choice, { pressed: buttonId });
    const error = await send(messageId, buttonId);
    // Taken: the buttons rest until the run has drawn the card anew.
    if (!error) return;
    const { message, hint } = errorText(error);
    const text = [message, hint].filter(Boolean).join(' ');
    const over = error.status === 409 || error.status === 410;
    // Somebody else's question stays as it is.
    const aboutQuestion = over || error.status === 403;
    show(choice, aboutQuestion ? { over, text } : {});
    if (!aboutQuestion) fail(error);
  }

  function show(choice, state) {
    states.set(choice, state);
    painters.get(choice)?.();
  }

  return {
    rows,
    clear() {
      states.clear();
      painters.clear();
    },
  };
}
