/** The neutral tree every platform renders: a closed union, so that the compiler finds a renderer that forgot a node. */

/** Source lines of a block, counted from 0; `end` is the line after the last one. The splitter cuts by them. */
export interface Lines {
  readonly start: number;
  readonly end: number;
}

export interface Text {
  readonly type: 'text';
  readonly value: string;
}

export interface Marked {
  readonly type: 'strong' | 'emphasis' | 'strike';
  readonly children: readonly Inline[];
}

export interface Code {
  readonly type: 'code';
  readonly value: string;
}

/** `url` is percent-encoded and starts with http:, https: or mailto:. Images arrive as links too. */
export interface Link {
  readonly type: 'link';
  readonly url: string;
  readonly children: readonly Inline[];
}

/** A line end inside a paragraph. In a chat a written line end is meant, so soft and hard ones are the same. */
export interface Break {
  readonly type: 'break';
}

export type Inline = Text | Marked | Code | Link | Break;

export interface Paragraph {
  readonly type: 'paragraph';
  readonly lines: Lines;
  readonly children: readonly Inline[];
}

export interface Heading {
  readonly type: 'heading';
  readonly lines: Lines;
  readonly level: number;
  readonly children: readonly Inline[];
}

export interface Fence {
  readonly type: 'fence';
  readonly lines: Lines;
  /** Without the last line end. */
  readonly value: string;
  /** Letters, digits and `+#._-` only; empty when none was given. */
  readonly language: string;
  /** The opening run of backticks or tildes; empty for code by indentation. */
  readonly marker: string;
  /** False while the closing fence is missing; the code then goes on to the end of its container. */
  readonly closed: boolean;
}

export interface Quote {
  readonly type: 'quote';
  readonly lines: Lines;
  readonly children: readonly Block[];
}

export interface List {
  readonly type: 'list';
  readonly lines: Lines;
  /** Number of the first item; undefined for bullets. */
  readonly start: number | undefined;
  /** Items are shown without blank lines between them. */
  readonly tight: boolean;
  readonly items: readonly ListItem[];
}

export interface ListItem {
  readonly lines: Lines;
  /** Set for task items. */
  readonly checked: boolean | undefined;
  readonly children: readonly Block[];
}

export type Alignment = 'left' | 'center' | 'right' | undefined;
export type Cell = readonly Inline[];

export interface Table {
  readonly type: 'table';
  readonly lines: Lines;
  readonly align: readonly Alignment[];
  readonly header: readonly Cell[];
  /** Row `n` is source line `lines.start + 2 + n`. */
  readonly rows: readonly (readonly Cell[])[];
}

export interface Rule {
  readonly type: 'rule';
  readonly lines: Lines;
}

export type Block = Paragraph | Heading | Fence | Quote | List | Table | Rule;

export interface Document {
  readonly children: readonly Block[];
}

/** The words of inline nodes without any markup; line ends become spaces. */
export function plainText(nodes: readonly Inline[]): string {
  return nodes.map(plainNode).join('');
}

function plainNode(node: Inline): string {
  switch (node.type) {
    case 'text':
    case 'code':
      return node.value;
    case 'break':
      return ' ';
    case 'strong':
    case 'emphasis':
    case 'strike':
    case 'link':
      return plainText(node.children);
  }
}
