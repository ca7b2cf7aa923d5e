import { describe, expect, it } from 'vitest';
import { decodeText, parseContentType } from '../../../../src/core/tools/fetch/text-decoding.js';

const latin = (text: string) => Buffer.from(text, 'latin1');
/** 你好 in GBK. */
const GBK = Buffer.from([0xc4, 0xe3, 0xba, 0xc3]);

describe('a content type', () => {
  it.each([
    ['text/html; charset=UTF-8', 'text/html', 'utf-8'],
    ['Text/HTML;charset="gbk"', 'text/html', 'gbk'],
    ['application/json', 'application/json', ''],
    ["text/plain; format=flowed; charset='latin1'", 'text/plain', 'latin1'],
    ['', '', ''],
    ['text/html; charset', 'text/html', ''],
  ])('%s is %s in %s', (header, type, charset) => {
    expect(parseContentType(header)).toEqual({ type, charset });
  });
});

describe('text', () => {
  it('is read by its byte order mark before anything else', () => {
    expect(decodeText(Buffer.from('\ufeffhé'), 'latin1')).toBe('hé');
    expect(decodeText(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('hé', 'utf16le')]), 'utf-8')).toBe('hé');
  });

  it('is read by the charset of the header', () => {
    expect(decodeText(GBK, 'gb2312')).toBe('你好');
    expect(decodeText(Buffer.from('<meta charset=gbk>é'), 'utf-8')).toContain('é');
  });

  it.each([
    ['<meta charset=gbk>'],
    ['<META http-equiv="Content-Type" content="text/html; charset=GB2312">'],
    ['<?xml version="1.0" encoding="GBK"?>'],
  ])('is read by what it declares: %s', (declaration) => {
    expect(decodeText(Buffer.concat([latin(declaration), GBK]), '')).toBe(`${declaration}你好`);
    expect(decodeText(Buffer.concat([latin(declaration), GBK]), 'no-such-charset')).toContain('你好');
  });

  it('that claims to be UTF-16 in ASCII letters is UTF-8', () => {
    expect(decodeText(Buffer.from('<meta charset="utf-16">é'), '')).toContain('é');
  });

  it('without any declaration is UTF-8 if it can be, western European otherwise', () => {
    expect(decodeText(Buffer.from('hé'), '')).toBe('hé');
    expect(decodeText(Buffer.from('hé').subarray(0, 2), '')).toBe('h\ufffd');
    expect(decodeText(latin('café crème'), '')).toBe('café crème');
  });

  it('has line feeds as line ends', () => {
    expect(decodeText(latin('a\r\nb\rc'), '')).toBe('a\nb\nc');
  });

  it('takes no time on bytes made to be slow', () => {
    const began = performance.now();
    decodeText(Buffer.from('<meta '.repeat(300_000)), '');
    decodeText(Buffer.from('<?xml '.repeat(300_000)), '');
    expect(performance.now() - began).toBeLessThan(3_000);
  });
});
