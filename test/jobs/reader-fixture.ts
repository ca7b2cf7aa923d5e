import type { AgentSpec } from '../../src/core/agent/agent-spec.js';
import type { AcceptResult, Adapter, Button } from '../../src/core/chat/adapter.js';
import { type Control, conversationKey, type InboxItem, type Person } from '../../src/core/chat/message.js';
import { type OutboxEntryBody, outboxEntry } from '../../src/core/chat/outbox-entry.js';
import { createTexts } from '../../src/core/chat/texts/index.js';
import type { Model } from '../../src/core/llm/model.js';
import type { Commit, ConversationStore, Records } from '../../src/core/ports/store.js';
import type { Tool } from '../../src/core/tools/tool.js';
import { type ConversationState, conversationState } from '../../src/jobs/conversation-state.js';
import { createRunProcessor, type RunProcessorOptions } from '../../src/jobs/run-processor.js';
import { type Script, type ScriptedModel, scriptedModel } from '../core/agent/scripted-model.js';
import { agentSpec } from '../fakes/agent-spec.js';
import { createMemoryRelay } from '../fakes/memory-board.js';
import { createMemoryConversations } from '../fakes/memory-conversations.js';
import { createMemoryRecords } from '../fakes/memory-ports.js';
import { createPlatformAdapter } from '../fakes/platform/adapter.js';
import type { PlatformServer } from '../fakes/platform/server.js';
import { createCountingMetrics, deafRelay } from '../fakes/quiet.js';
import { createRecordingLogger } from '../fakes/recording-logger.js';
import { waitFor } from '../fakes/wait-for.js';

export const ada: Person = { id: 'fake:1', name: 'Ada' };
export const bob: Person = { id: 'fake:2', name: 'Bob' };

export interface ReaderOptions {
  readonly script?: Script;
  /** Of the scripted model; free by default. */
  readonly price?: Model['price'];
  readonly agent?: Partial<AgentSpec>;
  readonly tools?: readonly Tool[];
  /** Methods put over the fake platform's own. */
  readonly adapter?: (base: Adapter<string>) => Partial<Adapter<string>>;
  readonly pageLength?: number;
  /** What `/model` can choose. */
  readonly models?: Readonly<Record<string, Model>>;
  /** Runs before and after each call of the store that the reader makes; a test acts in the middle of a step there. */
  readonly atStore?: (step: string) => Promise<void> | void;
  /** Other agents by name, for sub-agents. */
  readonly agents?: Readonly<Record<string, AgentSpec>>;
  readonly mcp?: RunProcessorOptions['mcp'];
  /** All stop hints are lost. */
  readonly deaf?: boolean;
  /** Not configured in this process. */
  readonly missing?: 'adapter' | 'agent';
}

export interface Saying {
  readonly as?: Person;
  readonly queue?: boolean;
  readonly locale?: string;
}

/** One conversation on the in-memory store and the loopback platform, with its reader. */
export interface Reader {
  readonly key: string;
  readonly store: ConversationStore;
  readonly model: ScriptedModel;
  readonly metrics: ReturnType<typeof createCountingMetrics>;
  readonly logger: ReturnType<typeof createRecordingLogger>;
  readonly marks: readonly { messageId: string; mark: string }[];
  /** Conversations the reader asked to be woken up again. */
  readonly added: readonly string[];
  /** Successful commits of the reader, in order. */
  readonly commits: readonly Commit[];
  readonly records: Records;
  accept(item: InboxItem): Promise<void>;
  /** A text of a person; gives the platform's id of it. */
  say(text: string, saying?: Saying): Promise<string>;
  control(control: Control, saying?: Saying): Promise<void>;
  edit(messageId: string, text: string): Promise<void>;
  /** A press on the newest open card; `label` is the button's. */
  press(label: string, saying?: Saying): Promise<AcceptResult['result']>;
  /** Buttons that are visible now, by label. */
  buttons(): readonly string[];
  remove(messageId: string): Promise<void>;
  /** Common fields of an item of this conversation. */
  base(
    saying?: Saying,
  ): Pick<Extract<InboxItem, { kind: 'message' }>, 'v' | 'dedupe' | 'messageId' | 'person' | 'place'>;
  /** One claim, until the reader returns. */
  run(signal?: AbortSignal): Promise<void>;
  /** Moves the store's clock. */
  advance(milliseconds: number): void;
  /** Resolves when the request under way is aborted. */
  aborted(): Promise<void>;
  /** Texts of the visible messages, in the order of the chat. */
  shown(): readonly string[];
  until(condition: () => boolean, what?: string): Promise<void>;
  /** Final texts that were put into the outbox, in order. */
  entries(): readonly OutboxEntryBody[];
  state(): ConversationState;
  phases(): readonly (string | undefined)[];
}

let conversations = 0;

export function createReader(server: PlatformServer, options: ReaderOptions = {}): Reader {
  const space = `reader-${++conversations}`;
  const key = conversationKey('fake', 'lookup', space, '');
  const clock = { offset: 0 };
  const store = createMemoryConversations(() => Date.now() + clock.offset);
  const relay = options.deaf ? deafRelay : createMemoryRelay();
  const metrics = createCountingMetrics();
  const logger = createRecordingLogger();
  const marks: { messageId: string; mark: string }[] = [];
  const added: string[] = [];
  const commits: Commit[] = [];
  const script = scriptedModel(options.script ?? [{ text: 'Hello.' }], options.price);
  let request = new AbortController().signal;
  const model: ScriptedModel = {
    ...script,
    request(input) {
      request = input.signal;
      return script.request(input);
    },
  };
  const agent = agentSpec(model, { tools: options.tools ?? [], ...options.agent });
  const records = createMemoryRecords();
  const { pageLength = 2_000 } = options;
  const plain = createPlatformAdapter({ url: server.url, mode: 'lookup', editIntervalMs: 15, pageLength, marks });
  const adapter: Adapter<string> = { ...plain, ...options.adapter?.(plain) };
  const process = createRunProcessor({
    store: {
      conversations: watched(
        {
          ...store,
          async commit(one, epoch, commit) {
            const result = await store.commit(one, epoch, commit);
            if (result === 'ok') commits.push(commit);
            return result;
          },
        },
        options.atStore,
      ),
      budgets: { take: async () => 0 },
      records,
    },
    adapter: () => (options.missing === 'adapter' ? undefined : adapter),
    route: () => 'assistant',
    agent: (name) => options.agents?.[name] ?? (options.missing === 'agent' ? undefined : agent),
    mcp: options.mcp,
    model: (name) => options.models?.[name],
    names: { models: Object.keys(options.models ?? {}), mcpServers: [] },
    texts: createTexts('auto'),
    relay,
    addRun: async (one) => void added.push(one),
    logger,
    metrics,
  });
  let items = 0;

  const reader: Reader = {
    ...{ key, store, model, metrics, logger, marks, added, commits, records },
    base({ as = ada, locale } = {}) {
      items += 1;
      const place = { platform: 'fake', account: 'lookup', space };
      const id = `i${items}`;
      return { v: 1, dedupe: id, messageId: id, person: as, place, ...(locale === undefined ? {} : { locale }) };
    },
    async accept(item) {
      const { result } = await store.accept(key, item);
      if (result !== 'accepted') throw new Error(`the item was ${result}`);
      if (item.kind === 'control' && item.control === 'stop') await relay.publish(`stop:${key}`);
    },
    async say(text, saying = {}) {
      const base = reader.base(saying);
      await reader.accept({ ...base, kind: 'message', text, ...(saying.queue ? { queue: true } : {}) });
      return base.messageId;
    },
    control: (control, saying) => reader.accept({ ...reader.base(saying), kind: 'control', control }),
    async press(label, saying = {}) {
      const button = lastCards(commits).find((one) => one.label === label);
      if (!button) throw new Error(`no button ${label}`);
      const [choice = '', option = ''] = button.id.split('.');
      return (await store.accept(key, { ...reader.base(saying), kind: 'choice', choice, option })).result;
    },
    buttons: () => lastCards(commits).map(({ label }) => label),
    edit: (messageId, text) => reader.accept({ ...reader.base(), kind: 'edit', messageId, text }),
    remove: (messageId) => reader.accept({ ...reader.base(), kind: 'delete', messageId }),
    run: (signal = new AbortController().signal) => process(key, signal),
    advance(milliseconds) {
      clock.offset += milliseconds;
    },
    aborted: () =>
      new Promise((resolve) => {
        if (request.aborted) resolve();
        else request.addEventListener('abort', () => resolve(), { once: true });
      }),
    shown: () => server.messages.filter((m) => m.space === space && !m.removed).map((m) => m.text),
    async until(condition, what) {
      await waitFor(condition, { timeoutMs: 5_000, what: () => what ?? JSON.stringify(reader.shown()) });
    },
    entries: () => commits.flatMap((c) => c.outbox ?? []).map((body) => outboxEntry.parse(body)),
    state: () => conversationState.parse(commits.at(-1)?.state),
    phases: () => commits.flatMap((c) => (c.run === undefined ? [] : [c.run?.phase])),
  };
  return reader;
}

/** The calls a reader makes while it works, with `at` before (`>read`) and after each (`<read`). */
function watched(store: ConversationStore, at: ReaderOptions['atStore']): ConversationStore {
  if (!at) return store;
  const around = async <Result>(name: string, call: () => Promise<Result>): Promise<Result> => {
    await at(`>${name}`);
    const result = await call();
    await at(`<${name}`);
    return result;
  };
  return {
    ...store,
    claim: (key) => around('claim', () => store.claim(key)),
    read: (key, epoch) => around('read', () => store.read(key, epoch)),
    commit: (key, epoch, commit) => around('commit', () => store.commit(key, epoch, commit)),
    settle: (...args) => around('settle', () => store.settle(...args)),
    check: (key, epoch) => around('check', () => store.check(key, epoch)),
  };
}

/** The buttons as the newest commit of each card left them. */
function lastCards(commits: readonly Commit[]): readonly Button[] {
  const bySlot = new Map<string, readonly Button[]>();
  for (const body of commits.flatMap((c) => c.outbox ?? [])) {
    const entry = outboxEntry.parse(body);
    if (/^[qh]/.test(entry.slot)) bySlot.set(entry.slot, entry.buttons ?? []);
  }
  return [...bySlot.values()].flat();
}

/** What the conversation's later turns see of it, shortened to the words. */
export function historyOf(reader: Reader): readonly string[] {
  return reader.state().history.map((m) => `${m.role}: ${m.content}`);
}

/** The user messages of a request, in order. */
export function asked(reader: Reader, request: number): readonly string[] {
  return (reader.model.requests[request]?.messages ?? []).flatMap((m) => (m.role === 'user' ? [m.content] : []));
}

/** True once nothing is left to do and the conversation was settled. */
export async function isSettled(reader: Reader): Promise<boolean> {
  const summary = await reader.store.summary(reader.key);
  return summary?.busy === false && summary.wakeAt === null;
}
