// Messages as elements. A message from the server replaces what is shown of it, part by part, so that a selection or
// an opened block above the growing end stays as it is.

import { createChoices } from './choices.js';
import { make } from './elements.js';
import { showPlan } from './plan.js';
import { t } from './strings.js';

/** The list of messages. `announce` gets lines for screen readers; for `send` and `fail` see {@link createChoices}. */
export function createMessageList(log, { announce, send, fail }) {
  const choices = createChoices({ send, fail });
  const elements = new Map();
  const pending = new Map();
  let me;

  function show(message) {
    const element = elements.get(message.id) ?? adopt(message) ?? log.appendChild(createElement(message));
    elements.set(message.id, element);
    update(element, message);
  }

  /** The own message that was shown before the server had it. */
  function adopt(message) {
    const element = pending.get(message.clientMessageId);
    pending.delete(message.clientMessageId);
    element?.classList.remove('pending');
    return element;
  }

  function createElement(message) {
    const element = make('li', `message ${message.role}`);
    element.append(make('div', 'status'), make('div', 'body'));
    return element;
  }

  function update(element, message) {
    element.dataset.id = message.id;
    if (message.clientMessageId) element.dataset.client = message.clientMessageId;
    element.dataset.state = message.state;
    element.classList.toggle('continues', message.continues === true);
    element.classList.toggle('asks', Boolean(message.buttons?.length));
    showPlan(element, message, announce);
    showStatus(element.querySelector('.status'), message);
    showReasoning(element, message);
    showBody(element.querySelector('.body'), message);
    showExtras(element, message);
  }

  function showStatus(element, { status = [], author }) {
    const lines = author && me && author.id !== me.id ? [author.name, ...status] : status;
    const wanted = lines.join('\n');
    if (element.dataset.shown === wanted) return;
    element.dataset.shown = wanted;
    element.replaceChildren(...lines.map((line) => make('p', '', line)));
  }

  function showReasoning(element, { reasoning }) {
    let block = element.querySelector('.reasoning');
    if (!reasoning) return block?.remove();
    if (!block) {
      block = make('details', 'reasoning');
      block.append(make('summary', '', t('reasoning')), make('div'));
      element.querySelector('.body').before(block);
    }
    block.lastElementChild.textContent = reasoning;
  }

  function showBody(element, { role, text, html, state }) {
    if (role === 'user') {
      if (element.textContent !== text) element.textContent = text;
      return;
    }
    // The server's renderer made this from a parsed tree; it holds no markup of the model. The page's policy forbids
    // inline scripts and foreign loads on top of that.
    const template = document.createElement('template');
    template.innerHTML = html;
    replaceTail(element, template.content);
    if (state !== 'streaming') addCopyButtons(element);
  }

  function showExtras(element, message) {
    const extras = [];
    if (message.buttons?.length) extras.push(...choices.rows(message));
    if (message.state === 'stopped') extras.push(make('p', 'chip', t('stopped')));
    if (message.state === 'error') extras.push(make('p', 'chip bad', t('failed')));
    if (message.footer) extras.push(make('p', 'footer', message.footer));
    if (message.mark) extras.push(make('p', `mark ${message.mark}`, t(message.mark)));
    const wanted = JSON.stringify([message.buttons, message.state, message.footer, message.mark]);
    if (element.dataset.extras === wanted) return;
    element.dataset.extras = wanted;
    for (const old of element.querySelectorAll(':scope > .extra')) old.remove();
    for (const extra of extras) extra.classList.add('extra');
    element.append(...extras);
  }

  return {
    show,
    /** Shows the person's own text before the server has it; a repeated one may already stand there. */
    showPending(clientMessageId, text) {
      if ([...elements.values()].some((shown) => shown.dataset.client === clientMessageId)) return;
      const element = createElement({ role: 'user' });
      element.classList.add('pending');
      element.querySelector('.body').textContent = text;
      pending.set(clientMessageId, element);
      log.append(element);
    },
    /** Takes it back, unless the server has it. */
    removePending(clientMessageId) {
      pending.get(clientMessageId)?.remove();
      pending.delete(clientMessageId);
    },
    remove(id) {
      elements.get(id)?.remove();
      elements.delete(id);
    },
    clear() {
      elements.clear();
      pending.clear();
      choices.clear();
      log.replaceChildren();
    },
    iAm(person) {
      me = person;
    },
    get empty() {
      return log.childElementCount === 0;
    },
    /** The last bot message is growing, so it shows by itself that work goes on. */
    get streaming() {
      return log.querySelector('.message.bot[data-state="streaming"]') !== null;
    },
  };
}

/** Keeps the equal beginning of the children and replaces the rest. */
function replaceTail(element, content) {
  const fresh = [...content.childNodes];
  const old = [...element.childNodes];
  let equal = 0;
  while (equal < old.length && equal < fresh.length && old[equal].isEqualNode(fresh[equal])) equal += 1;
  for (const node of old.slice(equal)) node.remove();
  element.append(...fresh.slice(equal));
}

function addCopyButtons(body) {
  // Browsers offer the clipboard only on https and on the loopback address.
  if (!navigator.clipboard) return;
  for (const code of body.querySelectorAll('pre')) {
    if (code.parentElement.className === 'block') continue;
    const button = make('button', 'copy', t('copy'));
    button.type = 'button';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = t('copied');
      setTimeout(() => {
        button.textContent = t('copy');
      }, 2_000);
    });
    const block = make('div', 'block');
    code.replaceWith(block);
    block.append(code, button);
  }
}
