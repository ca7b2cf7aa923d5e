// What this browser remembers: the conversations it took part in, and unsent texts.

const KEY = 'threadloop.conversations';
const LIMIT = 100;
const TITLE_LENGTH = 60;

/** Known conversations, newest first: `{ id, title }`. */
export function conversations() {
  try {
    const list = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(list) ? list.filter((entry) => typeof entry?.id === 'string') : [];
  } catch {
    return [];
  }
}

/** Moves a conversation to the top; its first text names it. */
export function remember(id, text) {
  const known = conversations().find((entry) => entry.id === id);
  const title = known?.title ?? text.trim().replace(/\s+/g, ' ').slice(0, TITLE_LENGTH);
  save([{ id, title }, ...conversations().filter((entry) => entry.id !== id)]);
}

/** Takes a conversation off the list; it stays on the server. */
export function forget(id) {
  save(conversations().filter((entry) => entry.id !== id));
}

function save(list) {
  store(localStorage, KEY, JSON.stringify(list.slice(0, LIMIT)));
}

/** The text somebody began to write in a conversation; survives a reload of the page. */
export function draft(id) {
  return sessionStorage.getItem(`threadloop.draft.${id}`) ?? '';
}

export function saveDraft(id, text) {
  store(sessionStorage, `threadloop.draft.${id}`, text);
}

/** A full or forbidden storage costs the memory, not the message. */
function store(storage, key, value) {
  try {
    if (value) storage.setItem(key, value);
    else storage.removeItem(key);
  } catch {}
}
