/** The gateway's own texts, in the person's language. Every key exists in every language. */
export interface TextTable {
  readonly nothingRuns: string;
  readonly stopped: string;
  readonly stoppedDropped: (count: number) => string;
  readonly newConversation: string;
  readonly statusIdle: string;
  readonly statusRunning: (seconds: number, round: number) => string;
  readonly statusWaiting: string;
  readonly help: string;
  readonly emptyMessage: string;
  readonly tooLong: (limit: number) => string;
  readonly notAllowed: (id: string) => string;
  readonly chatNotAllowed: (id: string) => string;
  readonly notYours: string;
  readonly notYourRun: string;
  readonly alreadyAnswered: string;
  readonly expired: string;
  readonly closed: string;
  readonly working: string;
  readonly usingTool: (tool: string) => string;
  readonly steered: string;
  readonly queued: string;
  readonly truncated: string;
  readonly filtered: string;
  readonly maxIterations: (count: number) => string;
  readonly modelUnreachable: (model: string) => string;
  readonly modelUnauthorized: (model: string) => string;
  readonly modelBusy: (model: string) => string;
  readonly modelFailed: (model: string) => string;
  readonly modelStalled: (model: string) => string;
  readonly modelEmpty: (model: string) => string;
  readonly internalError: string;
  readonly poison: string;
  readonly done: string;
  readonly attachmentsIgnored: string;
}

/** Picks the table by config (`en`, `zh`) or, for `auto`, by the person's platform locale; English otherwise. */
export interface Texts {
  for(locale: string | undefined): TextTable;
}
