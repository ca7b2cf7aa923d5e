import { z } from 'zod';
import { platforms } from '../adapters/index.js';
import { permissionConfig } from '../core/policy/permissions.js';
import { mcpServerConfig } from '../core/tools/mcp/server-config.js';

/** Names of models, agents and accounts; they appear in keys, log lines and metrics. */
const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'use letters, digits, ".", "_" and "-", at most 64');

const personId = z
  .string()
  .regex(/^[a-z]+:.+$/, 'write platform:id, for example telegram:12345')
  .describe('A person, as platform:id');

const storeConfig = z.strictObject({
  redisUrl: z
    .url({ protocol: /^rediss?$/, error: 'write a URL like redis://host:6379' })
    .optional()
    .meta({ description: 'Redis or Valkey, to scale to several processes', env: 'REDIS_URL', secret: true }),
  postgresUrl: z
    .url({ protocol: /^postgres(ql)?$/, error: 'write a URL like postgres://user:password@host:5432/database' })
    .optional()
    .meta({ description: 'PostgreSQL 13 or newer', env: 'DATABASE_URL', secret: true }),
  dataDir: z
    .string()
    .min(1)
    .default('./data')
    .describe('Folder of the embedded database, used when neither URL is set; relative to the working directory'),
});

const httpConfig = z.strictObject({
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on; one that is not loopback needs a token'),
  port: z.int().min(0).max(65_535).default(8787).describe('Port to listen on; 0 takes a free one'),
  token: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'Asked for on /, /api and /metrics', env: 'THREADLOOP_TOKEN', secret: true }),
  publicUrl: z
    .url({ protocol: /^https?$/, error: 'write the whole address, like https://bot.example.com' })
    .optional()
    .describe('Address under which people and webhooks reach this server'),
  allowedHosts: z
    .array(z.string().min(1))
    .default([])
    .describe('Further Host header values to accept, besides the loopback names and publicUrl'),
});

const workerConfig = z.strictObject({
  concurrency: z.int().min(1).max(10_000).default(200).describe('Conversations one worker handles at the same time'),
  shutdownSeconds: z.int().min(1).max(600).default(25).describe('Longest time a stopping process finishes its work'),
});

const priceTier = z.strictObject({
  upTo: z.number().positive().optional().describe('Tier for requests of at most this many input tokens'),
  input: z.number().min(0).describe('Price of one million input tokens'),
  output: z.number().min(0).describe('Price of one million output tokens'),
});

const modelConfig = z.strictObject({
  baseUrl: z
    .url({
      protocol: /^https?$/,
      error: 'write the address of an OpenAI-compatible API, ending before /chat/completions',
    })
    .default('https://api.openai.com/v1')
    .meta({ description: 'Address of an OpenAI-compatible API', env: 'OPENAI_BASE_URL' }),
  apiKey: z
    .string()
    .optional()
    .meta({ description: 'API key; leave it out for servers that ask for none', env: 'OPENAI_API_KEY', secret: true }),
  model: z.string().min(1).meta({ description: "The vendor's id of the model", env: 'OPENAI_MODEL' }),
  contextWindow: z.int().min(1_000).default(128_000).describe('Tokens the model can read and write in one request'),
  maxOutputTokens: z.int().min(1).default(4_096).describe('Longest answer of one request, in tokens'),
  defaultSystemPrompt: z
    .string()
    .default('')
    .describe('Stands before the system prompt of every agent with this model'),
  vision: z.boolean().default(false).describe('The model can look at images'),
  audio: z.boolean().default(false).describe('The model can listen to recordings'),
  video: z.boolean().default(false).describe('The model can watch videos'),
  reasoning: z.boolean().default(false).describe('The model takes a reasoning effort'),
  temperature: z.number().min(0).max(2).optional().describe("Unset: the vendor's default"),
  topP: z.number().min(0).max(1).optional().describe("Unset: the vendor's default"),
  headers: z
    .record(z.string().min(1), z.string().meta({ description: 'Value of the header', secret: true }))
    .default({})
    .describe('Further HTTP headers of every request'),
  price: z
    .strictObject({ tiers: z.array(priceTier).min(1).describe('First matching tier counts; the last has no upTo') })
    .optional()
    .describe('Prices per million tokens; without them costs are shown as 0'),
});

const knowledgeConfig = z.strictObject({
  path: z.string().min(1).describe('Folder; relative to the working directory'),
  similarity: z
    .number()
    .min(0)
    .max(1)
    .default(0.4)
    .describe("Passages with less than this share of the best one's score are left out"),
  maxTokens: z.int().min(100).default(5_000).describe('Most tokens of what one search finds'),
});

const agentConfig = z.strictObject({
  mode: z
    .enum(['chat', 'tools', 'plan'])
    .default('plan')
    .describe('chat: one request per turn; tools: may call tools; plan: also keeps a plan and may ask back'),
  description: z.string().default('').describe('What other agents are told about this one when they may call it'),
  model: z.string().min(1).default('default').describe('Name of an entry under models'),
  systemPrompt: z.string().default('').describe('What the model is told before each conversation'),
  maxIterations: z
    .int()
    .optional()
    .describe('Most model requests of one run; unset: 50 in mode tools, 15 otherwise; 0 or less: 15'),
  maxToolCallsPerTurn: z.int().min(1).default(5).describe('Tool calls per round the model is told to stay below'),
  enableTools: z.boolean().default(true).describe('false: the agent gets no tools, and neither plans nor asks back'),
  maxStopGateRejections: z
    .int()
    .min(0)
    .default(2)
    .describe('Mode plan: how often an answer is sent back while the plan is unfinished, before the run ends'),
  tools: z.array(z.string().min(1)).default(['current_time']).describe('Built-in tools the agent may call'),
  coreToolNames: z
    .array(z.string().min(1))
    .nullable()
    .default(null)
    .describe('Tools whose descriptions are always sent; the model loads others by name when it needs them. null: all'),
  mcpServers: z.array(name).default([]).describe('Names of entries under mcpServers whose tools the agent gets'),
  subAgents: z.array(name).default([]).describe('Names of agents this one may call as tools'),
  knowledge: z.array(name).default([]).describe('Names of entries under knowledge that answers are looked up in'),
  quoteRole: z
    .enum(['system', 'user'])
    .default('system')
    .describe('Mode chat: where what was found goes; a template with {{question}} always goes to user'),
  quoteTemplate: z
    .string()
    .optional()
    .describe('Mode chat: text around what was found, with {{quote}} and {{question}}'),
  vision: z.boolean().default(true).describe('Images are given to a model that can look at them'),
  audio: z.boolean().default(true).describe('Recordings are given to a model that can listen'),
  video: z.boolean().default(true).describe('Videos are given to a model that can watch'),
  reasoning: z.boolean().default(true).describe('A model that takes a reasoning effort gets one'),
  permissions: permissionConfig
    .prefault({})
    .describe('What tools may do without asking; a person decides about the rest'),
  compressHistory: z.boolean().default(true).describe('false: earlier messages are never shortened, to compare'),
  compression: z
    .strictObject({
      mode: z
        .enum(['algorithmic', 'llm', 'hybrid'])
        .default('hybrid')
        .describe('algorithmic: without a model; llm: summaries; hybrid: summaries only when that is not enough'),
      threshold: z
        .number()
        .min(0.1)
        .max(0.95)
        .default(0.8)
        .describe('Share of the room for input above which earlier messages are shortened'),
      model: z.string().min(1).optional().describe("Name of the model that writes summaries; unset: the agent's own"),
    })
    .prefault({})
    .describe('How long conversations are kept within the context window'),
  ask: z
    .strictObject({
      expiresHours: z.number().positive().max(8_760).default(168).describe('A question without an answer ends the run'),
    })
    .prefault({})
    .describe('Questions of the agent to people'),
  approvals: z
    .strictObject({
      approvers: z.array(personId).default([]).describe('May approve, answer and stop in runs that others started'),
      admins: z.array(personId).default([]).describe('May stop runs that others started'),
      expiresHours: z.number().positive().max(8_760).default(24).describe('What nobody approves in time is denied'),
    })
    .prefault({})
    .describe('People with rights in conversations that others started'),
  steering: z
    .enum(['steer', 'queue'])
    .default('steer')
    .describe('What a message during a run does: steer the run, or wait for its end'),
  display: z
    .enum(['quiet', 'normal', 'verbose'])
    .default('normal')
    .describe('quiet: the answer; normal: also which tool is used; verbose: also a line with tokens, cost and time'),
  notifyAfterSeconds: z
    .int()
    .min(1)
    .default(60)
    .describe('Longer runs end with a short reply that notifies, where edits notify nobody'),
  showReasoning: z.boolean().default(false).describe("Show the model's reasoning, folded"),
  showAnswer: z.boolean().default(true).describe('false: only that the work is done, not its text'),
});

const routeConfig = z.strictObject({
  adapter: z.string().min(1).optional().describe('Platform the route is for; unset: every platform'),
  account: z.string().min(1).optional().describe('Account of that platform; unset: every account'),
  channel: z.string().min(1).optional().describe("The platform's id of the channel or chat; unset: everywhere"),
  agent: z.string().min(1).describe('Name of an entry under agents'),
});

/** The whole configuration after `${ENV}` is replaced; `adapters.telegram` is always a list here. */
export const configShape = z.strictObject({
  locale: z.enum(['auto', 'en', 'zh']).default('auto').describe("Language of the gateway's own lines"),
  store: storeConfig.prefault({}).describe('Where state is kept; neither URL: an embedded database'),
  http: httpConfig.prefault({}).describe('The HTTP server: web console, API, webhooks, health'),
  worker: workerConfig.prefault({}).describe('The process that runs agents'),
  models: z.record(name, modelConfig).default({}).describe('OpenAI-compatible models by name'),
  agents: z.record(name, agentConfig).prefault({ assistant: {} }).describe('Agents by name'),
  knowledge: z.record(name, knowledgeConfig).default({}).describe('Folders of Markdown and text by name'),
  mcpServers: z.record(name, mcpServerConfig).default({}).describe('Servers of the Model Context Protocol by name'),
  routes: z
    .array(routeConfig)
    .default([])
    .describe('Which agent answers where; the first match wins, without a match the first agent answers'),
  adapters: z
    .strictObject({
      telegram: z
        .array(platforms.telegram.config)
        .default([])
        .describe('Telegram bots: one block, or a list with account in each'),
      web: platforms.web.config.prefault({}).describe('The web console and API'),
    })
    .prefault({})
    .describe('Chat platforms'),
});

/** The checked configuration: every default filled in, every reference resolved. */
export type Config = z.infer<typeof configShape>;
export type ModelConfig = z.infer<typeof modelConfig>;
export type AgentConfig = z.infer<typeof agentConfig>;
