import type { Quote } from './knowledge.js';

/** How one quote is written: `{{index}}`, `{{source}}`, `{{text}}` and `{{id}}` are filled in. */
export const DEFAULT_QUOTE_ITEM = '[{{index}}] {{source}}\n{{text}}';

const SEPARATOR = '\n------\n';

const PLACEHOLDER = /\{\{\s*(index|source|text|id)\s*\}\}/g;

/** The quotes as one text, '' when there are none. What is filled in is never read as a placeholder again. */
export function renderQuotes(quotes: readonly Quote[], template: string = DEFAULT_QUOTE_ITEM): string {
  return quotes
    .map((quote) =>
      template.replace(PLACEHOLDER, (_, field: 'index' | 'source' | 'text' | 'id') => String(quote[field])),
    )
    .join(SEPARATOR);
}
