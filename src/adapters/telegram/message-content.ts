import type { Message, MessageEntity } from 'grammy/types';
import { cleanText } from '../../core/chat/clean-text.js';
import type { Attachment } from '../../core/chat/message.js';

/** What the bot is called; needed to tell whether a message speaks to it. */
export interface BotIdentity {
  readonly id: number;
  readonly username: string;
}

export interface MessageContent {
  /** Without mentions of the bot and without invisible characters; '' when nothing is left. */
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Speaks to the bot by name: `@bot`, `/command@bot` or a mention of its account. */
  readonly mentioned: boolean;
  /** Begins with a command for another bot. */
  readonly forOtherBot: boolean;
  /** A person sent something, as opposed to a service message such as "joined the group". */
  readonly isPersonal: boolean;
}

/** Content of people that the gateway cannot read; told from service messages so that it can say so. */
const UNREADABLE = [
  'sticker',
  'poll',
  'location',
  'venue',
  'contact',
  'dice',
  'game',
  'story',
  'checklist',
  'paid_media',
  'rich_message',
] as const satisfies readonly (keyof Message)[];

/** Reads text (or caption) and files of a message. */
export function readContent(message: Message, bot: BotIdentity): MessageContent {
  const raw = message.text ?? message.caption ?? '';
  const { cuts, mentioned, forOtherBot } = findMentions(raw, message.entities ?? message.caption_entities ?? [], bot);
  const text = cleanText(cutOut(raw, cuts)).trim();
  const attachments = readAttachments(message);
  const isPersonal = raw !== '' || attachments.length > 0 || UNREADABLE.some((key) => message[key] !== undefined);
  return { text, attachments, mentioned, forOtherBot, isPersonal };
}

type Range = readonly [start: number, end: number];

function findMentions(text: string, entities: readonly MessageEntity[], bot: BotIdentity) {
  const name = bot.username.toLowerCase();
  const cuts: Range[] = [];
  let forOtherBot = false;
  for (const entity of [...entities].sort((a, b) => a.offset - b.offset)) {
    const end = entity.offset + entity.length;
    const part = text.slice(entity.offset, end).toLowerCase();
    if (entity.type === 'mention' && part === `@${name}`) cuts.push([entity.offset, end]);
    if (entity.type === 'text_mention' && entity.user.id === bot.id) cuts.push([entity.offset, end]);
    if (entity.type !== 'bot_command') continue;
    const at = part.indexOf('@');
    if (at < 0) continue;
    if (part.slice(at + 1) === name) cuts.push([entity.offset + at, end]);
    else if (text.slice(0, entity.offset).trim() === '') forOtherBot = true;
  }
  return { cuts, mentioned: cuts.length > 0, forOtherBot };
}

/** Cuts ranges out, together with the space or comma that only served the mention. */
function cutOut(text: string, cuts: readonly Range[]): string {
  let out = '';
  let position = 0;
  for (const [start, end] of cuts) {
    if (start < position) continue;
    out += text.slice(position, start);
    position = end;
    const rest = text.slice(position);
    const served = out.trim() === '' ? /^[\s,:;，：；、]+/ : /\s$/.test(out) ? /^[ \t]+/ : /^(?!)/;
    position += served.exec(rest)?.[0].length ?? 0;
  }
  return out + text.slice(position);
}

interface FileFields {
  readonly file_id: string;
  readonly file_name?: string;
  readonly file_size?: number;
}

function readAttachments(message: Message): readonly Attachment[] {
  // Sizes come smallest first; an animation is repeated as a document for old clients.
  const photo = message.photo?.at(-1);
  const document = message.animation ? undefined : message.document;
  const isImage = document?.mime_type?.startsWith('image/') ?? false;
  const found: [Attachment['kind'], FileFields | undefined][] = [
    ['image', photo],
    ['video', message.video ?? message.video_note ?? message.animation],
    ['audio', message.voice ?? message.audio],
    [isImage ? 'image' : 'file', document],
  ];
  return found.flatMap(([kind, file]) => (file ? [attachment(kind, file)] : []));
}

function attachment(kind: Attachment['kind'], file: FileFields): Attachment {
  const name = file.file_name === undefined ? undefined : cleanText(file.file_name.slice(0, 255)).trim();
  return {
    kind,
    ref: file.file_id,
    ...(name && { name }),
    ...(file.file_size !== undefined && { size: file.file_size }),
  };
}
