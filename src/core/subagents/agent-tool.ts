import { z } from 'zod';
import { defineTool, type Tool, type ToolContext, type ToolRisk } from '../tools/tool.js';

/** Longest name of a tool that every vendor accepts. */
const NAME_CHARACTERS = 64;

export interface AgentToolOptions {
  /** The name under `agents:`. */
  readonly name: string;
  /** What it is good at, for the model that may call it. */
  readonly description: string;
  /** A run of that agent may be repeated after a restart (default: no). */
  readonly idempotent?: boolean;
  /** What the agent itself may do (default: write); its own calls are judged by its own permissions besides. */
  readonly risk?: ToolRisk;
  /**
   * One whole run of the agent. Ends with `context.signal`; its events go to `context.onEvent`. A throw other than an
   * abort becomes the tool's error text.
   */
  run(task: string, context: ToolContext): Promise<{ readonly text: string; readonly failed?: boolean | undefined }>;
}

/** What the tool of an agent is called; characters that vendors refuse become `_`. */
export function agentToolName(agent: string): string {
  return `agent_${agent.replace(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, NAME_CHARACTERS);
}

/**
 * An agent as a tool of another one (seed 000, 3.1 and 3.3.5). It sees the task alone, not the conversation; its answer
 * is the tool's result.
 */
export function createAgentTool({ name, description, run, ...traits }: AgentToolOptions): Tool {
  return defineTool({
    ...traits,
    name: agentToolName(name),
    description: description || `Hands a task to the agent "${name}" and returns its answer.`,
    parameters: z.object({
      task: z
        .string()
        .trim()
        .min(1)
        .describe('The whole task with everything needed for it: the agent does not see this conversation'),
    }),
    async execute({ task }, context) {
      const { text, failed } = await run(task, context);
      return { content: text, failed };
    },
  });
}
