import type { Adapter, GatewayPorts, Rendered } from '../../core/chat/adapter.js';
import type { Place } from '../../core/chat/message.js';
import { PlatformError } from '../../core/errors.js';
import type { Relay } from '../../core/ports/relay.js';
import type { Board } from '../../core/ports/store.js';
import { type BoardBody, readBody } from './board-message.js';
import { digest, PLATFORM, WEB_ACCOUNT, webConversation } from './inbound.js';
import { renderWeb, type WebPayload } from './render.js';

export { createWebRoutes, type WebRoutes, type WebRoutesOptions } from './routes.js';

export interface WebAdapterOptions {
  readonly board: Board;
  readonly relay: Relay;
}

const LIMITS = {
  /** The page has no limit of its own; long answers go on in a joined message so that an edit stays small. */
  text: 16_000,
  page: 14_000,
  editIntervalMs: 250,
} as const;

/**
 * The web console as a platform whose server is ours: a message is a row on the board, an edit a new version of it and
 * a hint to the readers. Calls of people come in through `createWebRoutes`, so `start` has nothing to open.
 */
export function createWebAdapter({ board, relay }: WebAdapterOptions): Adapter<WebPayload> {
  let started = false;

  const conversationOf = (place: Place): string => webConversation(place.space);

  /** Readers look on their own clock too, so a hint that cannot be sent is no failure. */
  const hint = (place: Place): Promise<void> => relay.publish(conversationOf(place)).catch(() => undefined);

  /** The store is this platform: what it fails at may have happened, and may be tried again. */
  async function onBoard<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } catch (cause) {
      throw new PlatformError('the web board cannot be reached', {
        kind: 'temporary',
        outcomeUnknown: true,
        hint: 'Check the store; see /readyz.',
        cause,
      });
    }
  }

  async function write(place: Place, id: string, body: BoardBody): Promise<void> {
    await onBoard(board.put(conversationOf(place), id, body));
    await hint(place);
  }

  return {
    platform: PLATFORM,
    account: WEB_ACCOUNT,
    limits: { text: LIMITS.text, page: LIMITS.page },
    render: renderWeb,
    editIntervalMs: () => LIMITS.editIntervalMs,
    budgets: () => [],

    async post(place, rendered, { nonce }) {
      const id = messageIdOf(nonce);
      const known = readBody(await onBoard(board.get(conversationOf(place), id)));
      await write(place, id, {
        ...bodyOf(rendered),
        ...(isLaterPage(nonce) && { continues: true }),
        at: known?.at ?? Date.now(),
      });
      return id;
    },

    async edit(place, messageId, rendered) {
      const known = readBody(await onBoard(board.get(conversationOf(place), messageId)));
      if (!known) throw new PlatformError('there is no such message on the web board', { kind: 'gone' });
      await write(place, messageId, {
        ...bodyOf(rendered),
        ...(known.continues && { continues: true }),
        at: known.at,
      });
    },

    async remove(place, messageId) {
      if (await onBoard(board.remove(conversationOf(place), messageId))) await hint(place);
    },

    async find(place, nonce) {
      const id = messageIdOf(nonce);
      return readBody(await onBoard(board.get(conversationOf(place), id))) ? [id] : [];
    },

    async react(place, messageId, mark) {
      const known = readBody(await onBoard(board.get(conversationOf(place), messageId)));
      if (known && known.mark !== mark) await write(place, messageId, { ...known, mark });
    },

    async start(_: GatewayPorts) {
      started = true;
    },
    async stop() {
      started = false;
    },
    health: () => (started ? { ready: true } : { ready: false, reason: 'not started' }),
  };
}

/** Every worker that makes this post gives it the same id, so a repeated post is the same message. */
function messageIdOf(nonce: string): string {
  return `b${digest(nonce)}`;
}

/** The slot of a paged text ends in its number and the page, counted from 0: `a3.1` is the second page of answer 3. */
function isLaterPage(nonce: string): boolean {
  return /\d\.[1-9]\d*(?:\/anew)?$/.test(nonce);
}

function bodyOf(rendered: Rendered<WebPayload>): Omit<BoardBody, 'at'> {
  const { html, text, state, status, plan, reasoning, buttons, footer } = rendered.payload;
  return {
    role: 'bot',
    html,
    text,
    state,
    ...(status && { status: [...status] }),
    ...(plan && { plan }),
    ...(reasoning && { reasoning }),
    ...(buttons && { buttons: [...buttons] }),
    ...(footer && { footer }),
  };
}
