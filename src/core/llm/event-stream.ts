/** Longest line a server may send; a longer one is a fault, not an answer. */
const LINE_CHARACTERS = 16 * 1024 * 1024;

/** How much of a body that is no event stream is kept to tell what it was. */
const STRAY_CHARACTERS = 2_000;

export interface ServerEvent {
  /** From the `event:` line; '' when there is none. */
  readonly name: string;
  /** The parsed JSON, or undefined for `[DONE]`. */
  readonly data: unknown;
}

export interface EventDecoder {
  push(bytes: Uint8Array): void;
  /** The body ended: a last line without a line break still counts. */
  end(): void;
  /** The beginning of what was neither event nor comment, for instance an HTML page. */
  readonly stray: string;
}

/**
 * Decodes server-sent events whose data is JSON. Works on bytes as they come, without a promise per event. Comments
 * (keep-alives) are skipped. Throws SyntaxError for data that is not JSON and RangeError for an endless line.
 */
export function createEventDecoder(onEvent: (event: ServerEvent) => void): EventDecoder {
  const utf8 = new TextDecoder();
  let rest = '';
  let name = '';
  let data = '';
  let stray = '';

  /** JSON over several `data:` lines is allowed; servers that leave out the blank line between events exist too. */
  function takeData(piece: string): void {
    data = data === '' ? piece : `${data}\n${piece}`;
    if (data.startsWith('[DONE]')) dispatch(undefined);
    else {
      const parsed = parsedOrUndefined(data);
      if (parsed !== undefined) dispatch(parsed);
    }
  }

  function dispatch(parsed: unknown): void {
    const event = { name, data: parsed };
    data = '';
    name = '';
    onEvent(event);
  }

  function takeLine(line: string): void {
    if (line === '') {
      if (data !== '') throw new SyntaxError(`an event is not JSON: ${data.slice(0, 200)}`);
      name = '';
    } else if (line.startsWith('data:')) takeData(line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5));
    else if (line.startsWith('event:')) name = line.slice(6).trim();
    else if (!/^(:|id:|retry:)/.test(line) && stray.length < STRAY_CHARACTERS) stray += `${line}\n`;
  }

  function takeText(text: string): void {
    let from = 0;
    // What is left from before holds no line break, so only the new text is searched.
    let at = text.indexOf('\n');
    while (at >= 0) {
      const line = rest + text.slice(from, at);
      rest = '';
      takeLine(line.endsWith('\r') ? line.slice(0, -1) : line);
      from = at + 1;
      at = text.indexOf('\n', from);
    }
    rest += text.slice(from);
    if (rest.length > LINE_CHARACTERS) throw new RangeError('the server sends one endless line');
  }

  return {
    push: (bytes) => takeText(utf8.decode(bytes, { stream: true })),
    end() {
      takeText(`${utf8.decode()}\n`);
      takeLine('');
    },
    get stray() {
      return stray;
    },
  };
}

function parsedOrUndefined(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
