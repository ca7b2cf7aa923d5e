/** A refusal in the form the Bot API has: HTTP status, description, parameters. */
export class BotApiError extends Error {
  readonly status: number;
  readonly parameters: Readonly<Record<string, number>> | undefined;

  constructor(status: number, description: string, parameters?: Readonly<Record<string, number>>) {
    super(description);
    this.status = status;
    this.parameters = parameters;
  }
}

export const badRequest = (text: string): BotApiError => new BotApiError(400, `Bad Request: ${text}`);
export const forbidden = (text: string): BotApiError => new BotApiError(403, `Forbidden: ${text}`);

export function tooManyRequests(seconds: number): BotApiError {
  const retryAfter = Math.max(1, Math.ceil(seconds));
  return new BotApiError(429, `Too Many Requests: retry after ${retryAfter}`, { retry_after: retryAfter });
}
