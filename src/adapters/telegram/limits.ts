/** What Telegram takes, from the Bot API's page unless noted. */
export const TELEGRAM_LIMITS = {
  /** UTF-16 units of a message's text, without markup. */
  text: 4_096,
  /** Pages of an answer are cut here; the rest is for status lines and the footer. */
  page: 3_900,
  /** Formatted stretches; more are ignored or refused (not documented, seen as ENTITIES_TOO_LONG). */
  entities: 100,
  /** Bytes of UTF-8 behind a button. */
  callbackData: 64,
  /** Characters as a person counts them; not documented, clients cut longer labels. */
  buttonLabel: 40,
  /** Not documented; larger keyboards are refused. */
  buttons: 100,
} as const;
