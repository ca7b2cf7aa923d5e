import { TextDecoder } from 'node:util';

/** Bytes at the beginning that are searched for a declaration (HTML standard: 1024; many pages need more). */
const DECLARATION_BYTES = 4_096;

/** Letters of western Europe: what old pages that declare nothing are written in. */
const LAST_RESORT = 'windows-1252';

/** The parts of a Content-Type header, lower case, '' when absent. */
export function parseContentType(header: string): { type: string; charset: string } {
  const [type = '', ...parameters] = header.toLowerCase().split(';');
  const charset = parameters.map((parameter) => /^\s*charset\s*=\s*["']?([\w.:-]+)/.exec(parameter)?.[1]).find(Boolean);
  return { type: type.trim(), charset: charset ?? '' };
}

/**
 * Bytes as text: by byte order mark, then the header's charset, then what the document declares about itself, then
 * UTF-8 if it is that. Line ends become line feeds. Never throws.
 */
export function decodeText(bytes: Uint8Array, headerCharset: string): string {
  const decoder = byMark(bytes) ?? decoderFor(headerCharset) ?? declared(bytes) ?? guessed(bytes);
  return decoder.decode(bytes).replace(/\r\n?/g, '\n');
}

function byMark([first, second, third]: Uint8Array): TextDecoder | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return new TextDecoder('utf-8');
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be');
  return first === 0xff && second === 0xfe ? new TextDecoder('utf-16le') : undefined;
}

function declared(bytes: Uint8Array): TextDecoder | undefined {
  const head = Buffer.from(bytes.subarray(0, DECLARATION_BYTES)).toString('latin1');
  const meta = /<meta\s[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(head);
  const xml = /^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})/i.exec(head);
  const label = (xml ?? meta)?.[1] ?? '';
  // A declaration that could be read as ASCII is not UTF-16, whatever it says.
  return decoderFor(/^utf-?16/i.test(label) ? 'utf-8' : label);
}

function guessed(bytes: Uint8Array): TextDecoder {
  try {
    // As a stream: a character cut off at the end is no error.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return new TextDecoder('utf-8');
  } catch {
    return new TextDecoder(LAST_RESORT);
  }
}

function decoderFor(label: string): TextDecoder | undefined {
  if (label === '') return undefined;
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
