// A plan as a checklist above its answer: open while the answer is being written, folded once it stands.

import { icon, make } from './elements.js';
import { t } from './strings.js';

const CIRCLE = 'M17 10a7 7 0 1 1-14 0a7 7 0 0 1 14 0z';
const ICONS = {
  pending: [CIRCLE],
  in_progress: [CIRCLE, 'M8.5 7l4 3-4 3z'],
  done: [CIRCLE, 'M6.8 10.2l2.2 2.3 4.3-4.8'],
  blocked: ['M10 3.5l7.3 12.8H2.7z', 'M10 8.2v3.8M10 14.1v.1'],
  skipped: [CIRCLE, 'M6.8 10h6.4'],
};

/** Shows, changes or takes away the checklist of a message. `announce` gets the step that is being worked on. */
export function showPlan(message, { plan, state }, announce) {
  let block = message.querySelector(':scope > .plan');
  if (!plan) return block?.remove();
  if (!block) {
    block = make('details', 'plan');
    const summary = make('summary');
    summary.append(make('span', 'title'), make('span', 'count'));
    const steps = make('ol');
    // Without bullets some screen readers no longer take it for a list.
    steps.setAttribute('role', 'list');
    block.append(summary, steps);
    message.prepend(block);
  }
  const live = state === 'streaming';
  // Only when the answer begins or ends: in between and afterwards the reader decides.
  if (block.dataset.live !== String(live)) block.open = live;
  block.dataset.live = String(live);
  showSummary(block.querySelector('summary'), plan);
  showSteps(block.querySelector('ol'), plan);
  const current = plan.steps.find(({ status }) => status === 'in_progress');
  if (live && current) announce(`${t('in_progress')}: ${current.title}`);
}

function showSummary(summary, { title, steps, hidden }) {
  const done = steps.filter(({ status }) => status === 'done' || status === 'skipped').length;
  const [name, count] = summary.children;
  setText(name, title || t('plan'));
  setText(count, `${done}/${steps.length}${hidden > 0 ? ` +${hidden}` : ''}`);
  count.setAttribute('aria-label', t('stepsDone', { done, total: steps.length }));
}

/** Rows are kept where nothing changed, so that a selection in them stays. */
function showSteps(list, { steps, hidden }) {
  const rows = steps.map(({ title, status }) => ({ title, status, word: t(status) }));
  if (hidden > 0) rows.push({ title: t('moreSteps', { hidden }), status: 'more' });
  rows.forEach((row, index) => {
    const wanted = JSON.stringify(row);
    const old = list.children[index];
    if (old?.dataset.shown === wanted) return;
    const fresh = stepRow(row);
    fresh.dataset.shown = wanted;
    if (old) old.replaceWith(fresh);
    else list.append(fresh);
  });
  while (list.children.length > rows.length) list.lastElementChild.remove();
}

function stepRow({ title, status, word }) {
  const row = make('li', status);
  if (word) row.append(icon(...ICONS[status]), make('span', 'unseen', `${word}: `));
  row.append(make('span', '', title));
  if (status === 'in_progress') row.setAttribute('aria-current', 'step');
  return row;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
