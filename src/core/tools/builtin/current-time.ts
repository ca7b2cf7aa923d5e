import { z } from 'zod';
import { ThreadloopError } from '../../errors.js';
import { defineTool } from '../tool.js';

const FIELDS = {
  weekday: 'long',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'longOffset',
} as const satisfies Intl.DateTimeFormatOptions;

export const currentTime = defineTool({
  name: 'current_time',
  description: 'The current date and time. Without timeZone: UTC.',
  parameters: z.object({
    timeZone: z.string().optional().describe('IANA name of the time zone, for example Asia/Shanghai or Europe/Berlin'),
  }),
  idempotent: true,
  risk: 'read',
  async execute({ timeZone }, { now }) {
    const zone = timeZone?.trim() || 'UTC';
    const parts = Object.fromEntries(
      formatOf(zone)
        .formatToParts(now())
        .map(({ type, value }) => [type, value]),
    );
    const offset = parts.timeZoneName?.replace('GMT', '') || '+00:00';
    const time = `${parts.year}-${parts.month}-${parts.day}T${parts.hour}:${parts.minute}:${parts.second}${offset}`;
    return `${time} (${parts.weekday}, ${zone})`;
  },
});

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-GB', { ...FIELDS, timeZone });
  } catch (cause) {
    throw new ThreadloopError(
      `${JSON.stringify(timeZone)} is not a time zone this tool knows; use an IANA name like Asia/Shanghai`,
      { code: 'tool_arguments', cause },
    );
  }
}
