import { createHash } from 'node:crypto';
import type { MessageBody, Rendered } from '../../core/chat/adapter.js';
import { cleanText } from '../../core/chat/clean-text.js';
import { healMarkdown } from '../../core/chat/heal.js';
import { parseMarkdown } from '../../core/chat/markdown.js';
import type { PlanView } from '../../core/chat/plan-view.js';
import { blocksHtml } from './markdown-html.js';

/** A body as the API shows it: the answer as safe HTML and as the markdown it was made from. */
export interface WebPayload extends Omit<MessageBody, 'markdown'> {
  /** Made from the tree alone; see {@link blocksHtml} for what may be in it. */
  readonly html: string;
  readonly text: string;
}

/** Never throws. `length` counts the characters of the answer's markdown. */
export function renderWeb(body: MessageBody): Rendered<WebPayload> {
  const { state, buttons } = body;
  const text = cleanText(body.markdown);
  const html = blocksHtml(parseMarkdown(state === 'final' ? text : healMarkdown(text)).children);
  const status = body.status?.map(cleanText);
  const plan = body.plan && cleanPlan(body.plan);
  const reasoning = body.reasoning === undefined ? undefined : cleanText(body.reasoning);
  const footer = body.footer === undefined ? undefined : cleanText(body.footer);
  const labelled = buttons?.map((button) => ({ ...button, label: cleanText(button.label) }));
  const payload: WebPayload = {
    state,
    text,
    html,
    ...(status && { status }),
    ...(plan && { plan }),
    ...(reasoning !== undefined && { reasoning }),
    ...(labelled?.length && { buttons: labelled }),
    ...(footer !== undefined && { footer }),
  };
  const digest = createHash('sha256').update(JSON.stringify(payload)).digest('base64url');
  return { payload, length: text.length, digest };
}

function cleanPlan({ title, steps, hidden }: PlanView): PlanView {
  const cleaned = steps.map((step) => ({ title: cleanText(step.title), status: step.status }));
  return { title: cleanText(title), steps: cleaned, hidden };
}
