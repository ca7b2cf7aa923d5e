import type { Texts } from '../../ports/texts.js';
import { english } from './en.js';
import { chinese } from './zh.js';

/**
 * The gateway's own texts. `en` and `zh` are fixed; `auto` follows the person's platform locale (a BCP 47 tag such as
 * `zh-hans`), and speaks English when there is none.
 */
export function createTexts(locale: 'auto' | 'en' | 'zh'): Texts {
  return {
    for(personLocale) {
      const language = locale === 'auto' ? personLocale?.toLowerCase().split(/[-_]/, 1)[0] : locale;
      return language === 'zh' ? chinese : english;
    },
  };
}
