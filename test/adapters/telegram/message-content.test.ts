import type { Update } from 'grammy/types';
import { describe, expect, it } from 'vitest';
import { MAX_TEXT } from '../../../src/adapters/telegram/inbound.js';
import { alice, group, inGroup, message, read, readText } from './update-builder.js';

describe('content', () => {
  it('strips control characters and bidirectional overrides, and half characters', () => {
    expect(readText(message('a\u0000b\u202ec\ud83d\r\nd\te'))).toMatchObject({ item: { text: 'abc\nd\te' } });
  });

  it('takes the caption and the largest size of a photo', () => {
    const photo = [
      { file_id: 'small', file_unique_id: 's', width: 1, height: 1 },
      { file_id: 'large', file_unique_id: 'l', width: 9, height: 9, file_size: 5 },
    ];
    expect(readText(message('', { photo, caption: 'what is this?' }))).toMatchObject({
      item: { text: 'what is this?', attachments: [{ kind: 'image', ref: 'large', size: 5 }] },
    });
  });

  it('takes a voice message without text', () => {
    const voice = { file_id: 'v', file_unique_id: 'v', duration: 3 };
    expect(readText(message('', { voice }))).toMatchObject({
      item: { kind: 'message', text: '', attachments: [{ kind: 'audio', ref: 'v' }] },
    });
  });

  it('tells images among the documents', () => {
    const document = { file_id: 'd', file_unique_id: 'd', file_name: 'x.png', mime_type: 'image/png' };
    expect(readText(message('', { document }))).toMatchObject({
      item: { attachments: [{ kind: 'image', ref: 'd', name: 'x.png' }] },
    });
  });

  it('says so when nothing is left or nothing can be read', () => {
    expect(readText(inGroup('@loop_bot'))).toMatchObject({ kind: 'notice', notice: 'empty' });
    expect(readText(message('queue:'))).toMatchObject({ kind: 'notice', notice: 'empty' });
    for (const nothing of ['\u0001', '\u200b\u200d \u202e\n\u2060', 'queue: \u200b', '\u2800\u3164\ufe0f']) {
      expect(readText(message(nothing)), JSON.stringify(nothing)).toMatchObject({ kind: 'notice', notice: 'empty' });
    }
    expect(readText(message('', { dice: { emoji: '🎲', value: 3 } }))).toMatchObject({
      kind: 'notice',
      notice: 'empty',
    });
  });

  it('takes 100,000 characters and says so about more', () => {
    expect(readText(message('x'.repeat(MAX_TEXT)))).toMatchObject({ kind: 'item' });
    expect(readText(message('x'.repeat(MAX_TEXT + 1)))).toMatchObject({ kind: 'notice', notice: 'tooLong' });
    expect(readText(message('w'.repeat(20_000)))).toMatchObject({ kind: 'item' });
  });

  it('ignores service messages, bots, channels and people who write in the name of a chat', () => {
    expect(readText(inGroup('', { new_chat_members: [alice] }))).toMatchObject({ kind: 'ignore' });
    expect(readText(message('hi', { from: { ...alice, is_bot: true } }))).toMatchObject({ kind: 'ignore' });
    expect(readText(inGroup('@loop_bot hi', { sender_chat: group }))).toMatchObject({ kind: 'ignore' });
    expect(read({ channel_post: message('hi') } as Partial<Update>)).toMatchObject({ kind: 'ignore' });
    expect(read({ poll: {} } as Partial<Update>)).toMatchObject({ kind: 'ignore' });
  });

  it('bounds names and never cuts a character of them in two', () => {
    const from = { ...alice, first_name: `${'x'.repeat(63)}😀`, last_name: '\u202e' };
    const inbound = readText(message('hi', { from }));
    expect(inbound).toMatchObject({ item: { person: { name: 'x'.repeat(63) } } });
  });
});
