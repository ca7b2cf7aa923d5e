interface WireCall {
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown };
}

interface WireMessage {
  readonly role?: unknown;
  readonly content?: unknown;
  readonly tool_calls?: readonly WireCall[];
  readonly tool_call_id?: unknown;
}

interface WireBody {
  readonly messages?: readonly WireMessage[];
  readonly tools?: readonly { readonly function?: { readonly name?: string } }[];
  readonly tool_choice?: unknown;
}

/**
 * What a strict vendor would refuse in a chat completion request: results that do not stand behind their calls,
 * messages without content, arguments that are no JSON object, schemas named twice, choices without schemas.
 */
export function requestFaults(body: WireBody): readonly string[] {
  const { messages = [], tools, tool_choice: choice } = body;
  const faults: string[] = messages.length === 0 ? ['no messages'] : [];
  let open: unknown[] = [];
  for (const [at, message] of messages.entries()) {
    const found = message.role === 'tool' ? resultFaults(message, open) : messageFaults(message, at, open);
    faults.push(...found.map((fault) => `message ${at} (${String(message.role)}): ${fault}`));
    if (message.role === 'tool') open = open.slice(1);
    else open = message.tool_calls?.map(({ id }) => id) ?? [];
  }
  if (open.length > 0) faults.push(`no result for ${open.join(', ')}`);
  const names = tools?.map((tool) => tool.function?.name) ?? [];
  if (tools?.length === 0) faults.push('an empty list of tools');
  if (new Set(names).size < names.length) faults.push(`tools named twice: ${names.join(', ')}`);
  if (choice !== undefined && !tools) faults.push('a tool choice without tools');
  if (choice === 'auto') faults.push('tool_choice auto, which some vendors refuse');
  return faults;
}

function resultFaults({ tool_call_id: id, content }: WireMessage, open: readonly unknown[]): string[] {
  const faults = open[0] === id ? [] : [`a result of ${String(id)} where that of ${String(open[0])} is due`];
  return typeof content === 'string' && content !== '' ? faults : [...faults, 'no content'];
}

function messageFaults(
  { role, content, tool_calls: calls }: WireMessage,
  at: number,
  open: readonly unknown[],
): string[] {
  const faults = open.length > 0 ? [`no result for ${open.join(', ')} before it`] : [];
  if (role === 'system' && at > 0) faults.push('not at the beginning');
  if (calls?.length === 0) faults.push('an empty list of calls');
  const spoken = Array.isArray(content) ? content.length > 0 : typeof content === 'string' && content.trim() !== '';
  if (!spoken && !calls?.length) faults.push('empty');
  return [...faults, ...(calls ?? []).flatMap((call) => argumentFaults(call))];
}

function argumentFaults({ id, function: called }: WireCall): string[] {
  try {
    const value: unknown = JSON.parse(String(called?.arguments));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return [];
  } catch {
    // Falls through to the fault.
  }
  return [`arguments of ${String(id)} are no JSON object: ${String(called?.arguments)}`];
}
