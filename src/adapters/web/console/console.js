// The console page: one conversation at a time, named by the part of the address behind `#`.

import { call, conversationPath, followEvents, randomId } from './api.js';
import { conversations, draft, forget, remember, saveDraft } from './history.js';
import { errorText, t, translatePage } from './strings.js';
import { createMessageList } from './view.js';

const $ = (selector) => document.querySelector(selector);
const ui = {
  announcer: $('#announcer'),
  box: $('#box'),
  drawer: $('#drawer'),
  empty: $('#empty'),
  error: $('#error'),
  hint: $('#hint'),
  latest: $('#latest'),
  list: $('#list'),
  log: $('#log'),
  menu: $('#menu'),
  offline: $('#offline'),
  run: $('#run'),
  scroll: $('#scroll'),
  send: $('#send'),
  stop: $('#stop'),
  thinking: $('#thinking'),
  title: $('#title'),
};

const messages = createMessageList(ui.log, { announce, send: press, fail: showError });
const PLACEHOLDERS = { idle: 'placeholder', running: 'placeholderRunning', waiting: 'placeholderWaiting' };
const HINTS = { idle: 'hint', running: 'hintRunning', waiting: 'hintWaiting' };
let conversation = '';
let run = { state: 'idle' };
let closeEvents = () => {};
/** A text that could not be sent; sending it again must be the same message for the server. */
let unsent;
/** The call before: texts go one after the other, or two sent quickly could arrive the wrong way round. */
let sending = Promise.resolve();
let atEnd = true;

// ---- conversation

async function open(id) {
  closeEvents();
  conversation = id;
  messages.clear();
  unsent = undefined;
  showRun({ state: 'idle' });
  showConversations();
  ui.box.value = draft(id);
  boxChanged();
  hideError();
  ui.offline.hidden = true;
  atEnd = true;
  try {
    const state = await call('GET', conversationPath(id));
    if (conversation !== id) return;
    messages.iAm(state.you);
    for (const message of state.messages) messages.show(message);
    showRun(state.run);
    toEnd();
    follow(id, state.version);
  } catch (error) {
    if (conversation !== id) return;
    if (error.status === 401) return location.reload();
    showError(error);
    if (error.status !== 400) follow(id, 0);
  } finally {
    if (conversation === id) ui.empty.hidden = !messages.empty;
  }
}

function follow(id, version) {
  // Follows the growing answer unless the reader has scrolled up.
  const changed = (change) => (data) => {
    const following = nearEnd();
    change(data);
    ui.empty.hidden = !messages.empty;
    showRun(run);
    if (following) toEnd();
    else ui.latest.hidden = false;
  };
  closeEvents = followEvents(id, version, {
    message: changed(messages.show),
    removed: changed(({ id: gone }) => messages.remove(gone)),
    reset: changed(messages.clear),
    run: changed(showRun),
    online: () => {
      ui.offline.hidden = true;
    },
    offline: () => {
      ui.offline.hidden = false;
    },
    signedOut: () => location.reload(),
  });
}

function showRun(state) {
  run = state;
  const active = run.state !== 'idle';
  ui.run.textContent = active ? t(run.state) : '';
  ui.run.dataset.state = run.state;
  ui.stop.hidden = !active;
  if (!active) announce('');
  ui.thinking.hidden = run.state !== 'running' || messages.streaming;
  ui.log.setAttribute('aria-busy', String(messages.streaming));
  ui.box.placeholder = t(PLACEHOLDERS[run.state]);
  ui.hint.textContent = t(HINTS[run.state]);
}

/** Says a line to screen readers: what grows in the log is not read out while it grows. */
function announce(line) {
  if (ui.announcer.textContent !== line) ui.announcer.textContent = line;
}

// ---- sending

async function send() {
  const text = ui.box.value;
  if (text.trim() === '') return;
  const id = conversation;
  const message = unsent?.text === text ? unsent : { text, clientMessageId: randomId() };
  unsent = undefined;
  hideError();
  ui.box.value = '';
  boxChanged();
  messages.showPending(message.clientMessageId, text.trim());
  ui.empty.hidden = true;
  toEnd();
  try {
    const sent = sending.then(() => call('POST', `${conversationPath(id)}/messages`, message));
    sending = sent.catch(() => {});
    await sent;
    remember(id, text);
    showConversations();
  } catch (error) {
    giveBack(id, message);
    if (conversation === id) showError(error);
  }
}

/** Puts a text that was not accepted back into the box it came from. */
function giveBack(id, message) {
  if (conversation !== id) return saveDraft(id, message.text);
  messages.removePending(message.clientMessageId);
  ui.box.value = [message.text, ui.box.value].filter(Boolean).join('\n');
  unsent = message;
  boxChanged();
  ui.empty.hidden = !messages.empty;
}

/** Resolves with the error when the press was not taken. */
async function press(messageId, choiceId) {
  hideError();
  try {
    await call('POST', `${conversationPath(conversation)}/choices`, { choiceId, messageId });
  } catch (error) {
    return error;
  }
}

async function stop() {
  ui.stop.disabled = true;
  hideError();
  try {
    await call('POST', `${conversationPath(conversation)}/stop`, run.id ? { runId: run.id } : {});
  } catch (error) {
    if (error.code !== 'nothing_runs') showError(error);
  } finally {
    ui.stop.disabled = false;
  }
}

// ---- page

function showError(error) {
  if (error.status === 401) return location.reload();
  const { message, hint } = errorText(error);
  $('#error-message').textContent = message;
  $('#error-hint').textContent = hint ?? '';
  ui.error.hidden = false;
}

function hideError() {
  ui.error.hidden = true;
}

function showConversations() {
  const known = conversations();
  const title = known.find((entry) => entry.id === conversation)?.title ?? t('newConversation');
  ui.title.textContent = title;
  document.title = `${title} · Threadloop`;
  ui.list.replaceChildren(...known.map(conversationRow));
}

function conversationRow({ id, title }) {
  const link = Object.assign(document.createElement('a'), { href: `#${id}`, textContent: title });
  if (id === conversation) link.setAttribute('aria-current', 'page');
  const button = Object.assign(document.createElement('button'), {
    type: 'button',
    className: 'icon',
    textContent: '×',
  });
  button.setAttribute('aria-label', `${t('forget')}: ${title}`);
  button.addEventListener('click', () => {
    forget(id);
    showConversations();
  });
  const row = document.createElement('li');
  row.append(link, button);
  return row;
}

function openDrawer(wanted) {
  document.body.classList.toggle('drawer-open', wanted);
  ui.menu.setAttribute('aria-expanded', String(wanted));
  if (wanted) $('#new').focus();
}

function newConversation() {
  location.hash = randomId();
  openDrawer(false);
  ui.box.focus();
}

function boxChanged() {
  ui.box.style.height = 'auto';
  ui.box.style.height = `${ui.box.scrollHeight}px`;
  ui.send.disabled = ui.box.value.trim() === '';
  saveDraft(conversation, ui.box.value);
}

function toEnd() {
  ui.scroll.scrollTop = ui.scroll.scrollHeight;
  atEnd = true;
  ui.latest.hidden = true;
}

function nearEnd() {
  const { scrollHeight, scrollTop, clientHeight } = ui.scroll;
  return scrollHeight - scrollTop - clientHeight < 60;
}

ui.scroll.addEventListener('scroll', () => {
  atEnd = nearEnd();
  if (atEnd) ui.latest.hidden = true;
});
new ResizeObserver(() => atEnd && toEnd()).observe(ui.scroll);
ui.latest.addEventListener('click', toEnd);
ui.box.addEventListener('input', boxChanged);
ui.box.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void send();
});
$('#composer').addEventListener('submit', (event) => {
  event.preventDefault();
  void send();
  ui.box.focus();
});
ui.stop.addEventListener('click', stop);
$('#error-close').addEventListener('click', hideError);
$('#new').addEventListener('click', newConversation);
ui.menu.addEventListener('click', () => openDrawer(!document.body.classList.contains('drawer-open')));
$('#backdrop').addEventListener('click', () => openDrawer(false));
ui.list.addEventListener('click', (event) => event.target.matches('a') && openDrawer(false));
document.addEventListener('keydown', (event) => event.key === 'Escape' && openDrawer(false));
// A phone would open its keyboard over the page.
if (matchMedia('(pointer: fine)').matches) ui.box.focus();
window.addEventListener('hashchange', () => void open(location.hash.slice(1)));

translatePage();
if (location.hash.length > 1) void open(location.hash.slice(1));
else location.replace(`#${randomId()}`);
