import { cleanText, cutText, shownLine } from '../untrusted-text.js';
import type { CallToolResult } from './connection.js';

/** Far above every limit that compression works with; a guard against a server gone wrong. */
const LONGEST_RESULT = 1_000_000;

type Block = CallToolResult['content'][number];

/** What a call gave, as text for the model: links as links, and an honest line for what cannot be shown yet. */
export function resultText(result: CallToolResult): string {
  const blocks = result.content.map(blockText);
  const hasText = result.content.some((block) => block.type === 'text' && block.text.trim() !== '');
  if (!hasText && result.structuredContent !== undefined) blocks.unshift(JSON.stringify(result.structuredContent));
  const text = cleanText(blocks.filter((block) => block !== '').join('\n\n'));
  if (text.trim() === '') return 'The tool returned nothing.';
  if (text.length <= LONGEST_RESULT) return text;
  return `${cutText(text, LONGEST_RESULT)}\n[cut: the result had ${text.length} characters]`;
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type} ${shownLine(block.mimeType, 60)}, ${size(block.data)}; it cannot be passed on yet]`;
    case 'resource_link': {
      const about = [block.mimeType, block.description].filter((part) => part !== undefined).join(', ');
      const title = shownLine(block.title ?? block.name, 200);
      return `${title}: ${shownLine(block.uri, 2_000)}${about && ` (${shownLine(about, 300)})`}`;
    }
    case 'resource': {
      const { resource } = block;
      const uri = shownLine(resource.uri, 2_000);
      if ('text' in resource) return `${uri}:\n${resource.text}`;
      const type = shownLine(resource.mimeType ?? 'unknown type', 60);
      return `[resource ${uri}, ${type}, ${size(resource.blob)}; it cannot be passed on yet]`;
    }
    default:
      return `[content of an unknown type was left out]`;
  }
}

/** Size of base64 data. */
function size(base64: string): string {
  const bytes = Math.floor((base64.length * 3) / 4) - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);
  return bytes < 1024 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KB`;
}
