import { randomUUID } from 'node:crypto';
import type { ToolCall } from './model.js';

/** A piece of a tool call as vendors send it; every field may be missing, null or of another type. */
export interface ToolCallPiece {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: unknown;
}

interface OpenCall {
  id: string;
  name: string;
  arguments: string;
}

export interface ToolCallAssembly {
  add(piece: ToolCallPiece): void;
  /** The calls in the order they began; `cut`: the reply was cut off, so its last call may be a mere beginning. */
  calls(cut: boolean): readonly ToolCall[];
}

/**
 * Puts streamed tool calls together. The API says: the first piece carries index, id and name, later ones index and
 * arguments. Vendors also leave out ids or indexes, give every call index 0, send whole calls in one piece, repeat id,
 * name or role in every piece, and send null or an object as arguments.
 */
export function createToolCallAssembly(onToolCall?: (name: string) => void): ToolCallAssembly {
  const begun: OpenCall[] = [];
  const byIndex = new Map<number, OpenCall>();
  const byId = new Map<string, OpenCall>();
  let newest: OpenCall | undefined;

  function begin(): OpenCall {
    const call = { id: '', name: '', arguments: '' };
    begun.push(call);
    return call;
  }

  /** The call a piece points at. An id under a new index is another call: some vendors use the tool's name as id. */
  function target(index: number | undefined, id: string, name: string): OpenCall | undefined {
    const indexed = index === undefined ? newest : byIndex.get(index);
    if (indexed?.id === id) return indexed;
    const isNewIndex = index !== undefined && indexed === undefined;
    return isNewIndex && name !== '' ? undefined : (byId.get(id) ?? indexed);
  }

  return {
    add(piece) {
      const index = typeof piece.index === 'number' ? piece.index : undefined;
      const id = text(piece.id);
      const { name, args } = functionOf(piece);
      const candidate = target(index, id, name);
      const silent = args === '' && (index !== undefined || id !== '');
      const call = !candidate || beginsAnother(candidate, { id, name, silent }) ? begin() : candidate;
      newest = call;
      if (index !== undefined) byIndex.set(index, call);
      if (id !== '' && call.id === '') {
        call.id = id;
        byId.set(id, call);
      }
      if (name !== '' && call.name === '') {
        call.name = name;
        onToolCall?.(name);
      }
      call.arguments += args;
    },
    calls(cut) {
      const named = begun.filter(({ name }) => name !== '');
      // Cut before its arguments began: running it with none would be another call than the model meant.
      if (cut && named.at(-1)?.arguments === '') named.pop();
      const used = new Set<string>();
      return named.map((call) => finished(call, used));
    },
  };
}

/**
 * Does this piece belong to a new call although index or order points at `call`? Only a piece with a name can. A
 * `silent` one (no arguments, the index or id of `call`) may be a mere repetition of the name.
 */
function beginsAnother(call: OpenCall, piece: { id: string; name: string; silent: boolean }): boolean {
  if (piece.name === '' || call.name === '') return false;
  if (piece.id !== '' && call.id !== '' && piece.id !== call.id) return true;
  if (piece.name !== call.name) return true;
  return !piece.silent && isJson(call.arguments);
}

/** Ids are unique within a reply: results are paired by them. */
function finished(call: OpenCall, used: Set<string>): ToolCall {
  const given = call.id !== '' && !used.has(call.id);
  const id = given ? call.id : newCallId();
  used.add(id);
  return { id, name: call.name, arguments: call.arguments.trim() === '' ? '{}' : call.arguments };
}

/** For a call whose own id is missing or taken: letters, digits and a length that vendors accept. */
export function newCallId(): string {
  return `call_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
}

function functionOf(piece: ToolCallPiece): { name: string; args: string } {
  if (typeof piece.function !== 'object' || piece.function === null) return { name: '', args: '' };
  const { name, arguments: args } = piece.function as { name?: unknown; arguments?: unknown };
  return { name: text(name), args: typeof args === 'object' && args !== null ? JSON.stringify(args) : text(args) };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isJson(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
