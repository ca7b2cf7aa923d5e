/**
 * Words of the chat side (design section 2): person, place, conversation key, inbox item.
 * Everything here is persisted, so every item carries the schema version `v`.
 */

/** `platform:account:space:root`; persisted. Build it with {@link conversationKey}. */
export type ConversationKey = string;

/** A person on a platform. `id` is `platform:native id`, e.g. `telegram:12345`, so that lists can mix platforms. */
export interface Person {
  readonly id: string;
  readonly name: string;
}

/**
 * Where something can be posted. `space` is the channel or chat, `thread` the topic or thread inside it,
 * `replyTo` the message an answer should refer to.
 */
export interface Place {
  readonly platform: string;
  readonly account: string;
  readonly space: string;
  readonly thread?: string | undefined;
  readonly replyTo?: string | undefined;
  /** Direct messages allow a faster edit rhythm than groups on some platforms. */
  readonly direct?: boolean | undefined;
}

/** A file a person sent; `ref` is the platform's own handle, never a URL with a secret in it. */
export interface Attachment {
  readonly kind: 'image' | 'audio' | 'video' | 'file';
  readonly ref: string;
  readonly name?: string | undefined;
  readonly size?: number | undefined;
}

/** Exact-text control words, recognised before anything else (design section 3). */
export type Control = 'stop' | 'new' | 'status' | 'queue' | 'usage' | 'model' | 'mcp' | 'help';

interface ItemBase {
  readonly v: 1;
  /** The platform's own identity of this event; a second item with the same value is dropped by `accept`. */
  readonly dedupe: string;
  readonly person: Person;
  readonly place: Place;
  /** The platform's id of the message this item came from (the pressed message for a choice). */
  readonly messageId: string;
  /** BCP 47 tag of the person's platform client, when the platform tells it. */
  readonly locale?: string | undefined;
}

export interface MessageItem extends ItemBase {
  readonly kind: 'message';
  readonly text: string;
  /** Given by the `queue:` prefix (already removed from `text`): wait for the end of the run instead of steering. */
  readonly queue?: boolean | undefined;
  readonly attachments?: readonly Attachment[] | undefined;
}

export interface ChoiceItem extends ItemBase {
  readonly kind: 'choice';
  /** Id of the single-use choice (the ask or approval), not of the button. */
  readonly choice: string;
  /** Which of its buttons. */
  readonly option: string;
}

export interface ControlItem extends ItemBase {
  readonly kind: 'control';
  readonly control: Control;
  /** What stood behind the word: the model of `/model`, the server of `/mcp`. */
  readonly argument?: string | undefined;
  /** Set by stop buttons: the press counts only while this run is the stored one. */
  readonly runId?: string | undefined;
}

export interface EditItem extends ItemBase {
  readonly kind: 'edit';
  readonly text: string;
}

export interface DeleteItem extends ItemBase {
  readonly kind: 'delete';
}

/** Filed by a superseded worker for a platform message it touched since its last fenced success. */
export interface StrayItem {
  readonly v: 1;
  readonly kind: 'stray';
  readonly dedupe: string;
  readonly slot: string;
  readonly messageId?: string | undefined;
}

export type InboxItem = MessageItem | ChoiceItem | ControlItem | EditItem | DeleteItem | StrayItem;

/** An item as it lies in the inbox, with its number. */
export type NumberedItem = InboxItem & { readonly seq: number };

/**
 * Builds the persisted key of a conversation. Parts may hold any text; `:` and `%` in them are percent-encoded so
 * that two different conversations never share a key.
 */
export function conversationKey(platform: string, account: string, space: string, root: string): ConversationKey {
  return [platform, account, space, root].map((part) => part.replace(/[%:]/g, encodeURIComponent)).join(':');
}

/** The inverse of {@link conversationKey}. */
export function parseConversationKey(key: ConversationKey): {
  platform: string;
  account: string;
  space: string;
  root: string;
} {
  const [platform = '', account = '', space = '', root = ''] = key.split(':').map(decodeURIComponent);
  return { platform, account, space, root };
}
