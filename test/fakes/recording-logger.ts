import type { Logger } from '../../src/core/ports/logger.js';

export interface RecordedLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly message: string;
}

/** A logger that keeps its lines; children write to the same list. */
export function createRecordingLogger(): Logger & { readonly lines: readonly RecordedLine[] } {
  const lines: RecordedLine[] = [];
  const child = (fixed: object): Logger => {
    const at = (level: RecordedLine['level']) => (fields: object, message: string) => {
      lines.push({ level, fields: { ...fixed, ...fields }, message });
    };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => child({ ...fixed, ...fields }),
    };
  };
  return { ...child({}), lines };
}
