import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { renderWeb } from '../../src/adapters/web/render.js';
import { startWebServer, type WebServer } from '../fakes/web-server.js';
import { findChromium, launchChromium } from './browser.js';

const path = findChromium();
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

describe.skipIf(path === undefined)(`the console page${path ? '' : ' (skipped: chromium not found)'}`, () => {
  let browser: Browser;
  let server: WebServer;
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium(path ?? '');
  });
  afterAll(() => browser.close());

  beforeEach(async () => {
    problems.length = 0;
    server = await startWebServer();
  });
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    await server.close();
  });

  async function open(hash = '#chat-1', options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US', ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (line) => line.type() === 'error' && problems.push(line.text()));
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url)) problems.push(`foreign request ${request.url()}`);
    });
    await page.goto(`${server.url}/${hash}`);
    return page;
  }

  async function put(id: string, body: object): Promise<void> {
    const full = { role: 'bot', text: '', html: '', state: 'final', at: Date.now(), ...body };
    await server.board.put(server.key('chat-1'), id, full);
    await server.relay.publish(server.key('chat-1'));
  }

  function styleOf(locator: Locator, property: string): Promise<string> {
    return locator.evaluate((one, name) => one.ownerDocument.defaultView.getComputedStyle(one)[name], property);
  }

  async function pixels(locator: Locator, property: string): Promise<number> {
    return Number.parseFloat(await styleOf(locator, property));
  }

  const items = () => server.inbox.accepted.map(({ item }) => item);

  async function write(page: Page, text: string): Promise<void> {
    await page.getByLabel('Message', { exact: true }).fill(text);
    await page.keyboard.press('Enter');
  }

  it('opens empty, loads nothing from elsewhere and breaks no policy', async () => {
    const page = await open('');
    await page.getByText('What can I do for you?').waitFor();
    expect(await page.evaluate('location.hash')).toMatch(/^#[\w-]{22}$/);
    expect(problems).toEqual([]);
  });

  it('sends with Enter, starts a line with Shift + Enter, and remembers the conversation', async () => {
    const page = await open();
    const box = page.getByLabel('Message', { exact: true });
    await box.pressSequentially('first line');
    await page.keyboard.press('Shift+Enter');
    await box.pressSequentially('second <b>line</b>');
    await page.keyboard.press('Enter');
    await page.locator('.message.user:not(.pending)', { hasText: 'second <b>line</b>' }).waitFor();
    expect(items()).toMatchObject([{ kind: 'message', text: 'first line\nsecond <b>line</b>' }]);
    expect(await box.inputValue()).toBe('');
    await page.getByRole('navigation').getByText('first line second').waitFor();
    await page.reload();
    await page.locator('.message.user', { hasText: 'second <b>line</b>' }).waitFor();
    expect(await page.locator('.message').count()).toBe(1);
    expect(problems).toEqual([]);
  });

  it('shows an answer while it grows, and keeps what stands above the end', async () => {
    const page = await open();
    await put('b1', { state: 'streaming', html: '<p>One.</p><p>Tw</p>' });
    await page.getByText('One.').evaluate((node) => Object.assign(node, { kept: true }));
    await put('b1', { state: 'streaming', html: '<p>One.</p><p>Two.</p><pre><code>a = 1</code></pre>' });
    await page.getByText('a = 1').waitFor();
    expect(await page.getByText('One.').evaluate((node) => 'kept' in node)).toBe(true);
    expect(await page.getByRole('log').getAttribute('aria-busy')).toBe('true');
    await put('b1', { html: '<p>One.</p><p>Two.</p><pre><code>a = 1</code></pre><p>Three.</p>', footer: '12 tokens' });
    await page.getByText('12 tokens').waitFor();
    expect(await page.locator('.message.bot .body').textContent()).toBe('One.Two.a = 1CopyThree.');
    expect(await page.getByRole('log').getAttribute('aria-busy')).toBe('false');
    await put('b1', { html: '<p>Last.</p>' });
    await page.getByText('Last.').waitFor();
    expect(await page.locator('.message.bot .body').textContent()).toBe('Last.');
    await server.board.remove(server.key('chat-1'), 'b1');
    await page.locator('.message').waitFor({ state: 'detached' });
  });

  it('joins the pages of one answer', async () => {
    await put('b1', { html: '<p>Page one</p>' });
    await put('b2', { html: '<p>Page two</p>', continues: true });
    const page = await open();
    const [first, second] = [page.locator('.message').first(), page.locator('.message').last()];
    expect(await pixels(second, 'margin-top')).toBeLessThan(await pixels(first, 'margin-top'));
  });

  it('stops the run it shows', async () => {
    const page = await open();
    const stop = page.getByRole('button', { name: 'Stop' });
    expect(await stop.isVisible()).toBe(false);
    await server.setRun('chat-1', 'running');
    await page.getByText('Working').waitFor();
    await stop.click();
    await expect.poll(items).toMatchObject([{ kind: 'control', control: 'stop', runId: 'run-of-chat-1' }]);
    await server.setRun('chat-1', 'stopped');
    await stop.waitFor({ state: 'hidden' });
    await put('b1', { html: '<p>Half an ans</p>', state: 'stopped' });
    await page.getByText('Stopped').waitFor();
  });

  it('steers while a run is active and shows how the text was taken', async () => {
    const page = await open();
    await server.setRun('chat-1', 'running');
    await page.getByText('Your message steers the running answer').waitFor();
    await write(page, 'shorter, please');
    await expect.poll(items).toMatchObject([{ kind: 'message', text: 'shorter, please' }]);
    const [own] = (await server.board.list(server.key('chat-1'), 0)).messages;
    await put(own?.id ?? '', { ...(own?.body as object), mark: 'queued' });
    await page.getByText('Waits for the end of the answer').waitFor();
    await put(own?.id ?? '', { ...(own?.body as object), mark: 'seen' });
    await page.getByText('Taken into the answer').waitFor();
    expect(await page.locator('.message').count()).toBe(1);
  });

  it('waits for an answer, and can be stopped while it waits', async () => {
    const page = await open();
    await server.setRun('chat-1', 'waiting');
    await page.getByText('Waiting for your answer').waitFor();
    await page.getByText('only a button allows it').waitFor();
    expect(await page.getByText('Working').isVisible()).toBe(false);
    expect(await page.getByLabel('Message', { exact: true }).getAttribute('placeholder')).toBe('Write your answer');
    await page.getByRole('button', { name: 'Stop' }).click();
    await expect.poll(items).toMatchObject([{ kind: 'control', control: 'stop', runId: 'run-of-chat-1' }]);
  });

  it('presses a button once, rests while it is under way and shows the outcome', async () => {
    const options = (choice: string) => [
      { id: `${choice}.once`, label: `${choice} Once`, style: 'primary' },
      { id: `${choice}.deny`, label: `${choice} Deny`, style: 'danger' },
    ];
    await put('b1', { html: '<p>May I?</p>', buttons: [...options('c1'), ...options('c2')] });
    const page = await open();
    const button = (name: string) => page.getByRole('button', { name });
    await button('c1 Deny').dblclick();
    await expect.poll(items).toMatchObject([{ kind: 'choice', choice: 'c1', option: 'deny', messageId: 'b1' }]);
    expect(await button('c1 Once').isDisabled()).toBe(true);
    expect(await button('c2 Once').isDisabled()).toBe(false);
    // The card is drawn anew for another reason; what was pressed stays pressed.
    await put('b1', { html: '<p>May I?</p>', buttons: options('c1'), footer: 'c2 is decided' });
    await page.getByText('c2 is decided').waitFor();
    expect(await button('c1 Once').isDisabled()).toBe(true);
    await put('b1', { html: '<p>May I?</p><p><em>Denied by Guest</em></p>' });
    await page.getByText('Denied by Guest').waitFor();
    expect(await page.locator('.choices').count()).toBe(0);
    expect(await page.locator('.message.asks').count()).toBe(0);
    expect(items()).toHaveLength(1);
    expect(problems).toEqual([]);
  });

  it.each([
    ['foreign', 'This question was asked to somebody else.', true],
    ['already', 'This question is already answered.', false],
    ['expired', 'This question is no longer open.', false],
  ] as const)('says below the buttons that a press is %s', async (verdict, line, canPressAgain) => {
    server.inbox.verdict = () => verdict;
    const buttons = [
      { id: 'ask-1.1', label: 'Yes' },
      { id: 'ask-1.2', label: 'No' },
    ];
    await put('b1', { html: '<p>Shall I?</p>', buttons });
    const page = await open();
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.locator('.message').getByRole('alert').getByText(line).waitFor();
    expect(await page.getByRole('button', { name: 'No' }).isEnabled()).toBe(canPressAgain);
    await put('b1', { html: '<p>Shall I? Yes.</p>' });
    await page.getByText(line).waitFor({ state: 'detached' });
  });

  it('lets a press that did not arrive be repeated', async () => {
    await put('b1', { html: '<p>Shall I?</p>', buttons: [{ id: 'ask-1.1', label: 'Yes' }] });
    const page = await open();
    const yes = page.getByRole('button', { name: 'Yes' });
    await yes.waitFor();
    server.state.down = true;
    await yes.click();
    await page.getByRole('alert').getByText('The store does not answer').waitFor();
    server.state.down = false;
    await yes.click();
    await expect.poll(items).toHaveLength(1);
    expect(await page.getByRole('alert').getByText('The store').isVisible()).toBe(false);
  });

  it('shows a plan as a live checklist above the answer and folds it when the answer stands', async () => {
    type Status = 'pending' | 'in_progress' | 'done' | 'blocked' | 'skipped';
    const plan = (...statuses: Status[]) => ({
      ...{ title: 'Compare <b>servers</b>', hidden: 2 },
      steps: statuses.map((status, index) => ({ title: `Step ${index + 1}`, status })),
    });
    const page = await open();
    await server.setRun('chat-1', 'running');
    await put('b1', { state: 'streaming', html: '<p>Look', plan: plan('in_progress', 'pending', 'blocked') });
    const steps = page.locator('.plan li');
    await expect
      .poll(() => steps.allTextContents())
      .toEqual(['In progress: Step 1', 'To do: Step 2', 'Blocked: Step 3', '2 more steps']);
    expect(await page.locator('.plan summary').textContent()).toBe('Compare <b>servers</b>0/3 +2');
    expect(await page.getByLabel('0 of 3 steps done').isVisible()).toBe(true);
    expect(await steps.nth(0).getAttribute('aria-current')).toBe('step');
    await steps.nth(2).evaluate((node) => Object.assign(node, { kept: true }));
    await put('b1', {
      state: 'streaming',
      html: '<p>Looking',
      plan: plan('done', 'in_progress', 'blocked', 'skipped'),
    });
    await page.getByRole('status').getByText('In progress: Step 2').waitFor({ state: 'attached' });
    expect(await steps.nth(2).evaluate((node) => 'kept' in node)).toBe(true);
    expect(await page.locator('.plan').evaluate((block) => block.nextElementSibling?.className)).toBe('status');
    await put('b1', { html: '<p>Take the second.</p>', plan: plan('done', 'done', 'done', 'skipped') });
    await page.getByText('Take the second.').waitFor();
    expect(await steps.first().isVisible()).toBe(false);
    await page.getByText('Compare <b>servers</b>').click();
    await expect.poll(() => steps.nth(3).textContent()).toBe('Skipped: Step 4');
    // What the reader has opened stays open, also when the message changes once more.
    await put('b1', { html: '<p>Take the second.</p>', plan: plan('done', 'done', 'done', 'skipped'), footer: '3 s' });
    await page.getByText('3 s').waitFor();
    expect(await steps.first().isVisible()).toBe(true);
    await put('b1', { html: '<p>Take the second.</p>' });
    await page.locator('.plan').waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
  });

  it('runs and loads nothing even if markup got into an answer', async () => {
    const page = await open();
    const evil =
      '<p>before</p><img src="https://evil.example/x.png" onerror="window.broken=1"><script>window.broken=2</script>';
    await put('b1', { html: `${evil}<a href="javascript:window.broken=3">link</a><p>after</p>` });
    await page.getByText('after').waitFor();
    await page.getByText('link').click();
    expect(await page.evaluate('"broken" in window')).toBe(false);
  });

  it('keeps a text that could not be sent, says why, and sends it once', async () => {
    const page = await open();
    await page.getByText('What can I do for you?').waitFor();
    server.state.down = true;
    await write(page, 'do not lose me');
    await page.getByRole('alert').getByText('The store does not answer').waitFor();
    await page.getByRole('alert').getByText('Repeat the call in a moment').waitFor();
    const box = page.getByLabel('Message', { exact: true });
    expect(await box.inputValue()).toBe('do not lose me');
    expect(await page.locator('.message').count()).toBe(0);
    server.state.down = false;
    server.inbox.onAccept = () => Promise.reject(new Error('lost after the board'));
    await box.press('Enter');
    await expect.poll(() => server.inbox.attempts).toBe(1);
    await expect.poll(() => box.inputValue()).toBe('do not lose me');
    // The board has it although the inbox does not.
    await page.locator('.message.user:not(.pending)').waitFor();
    server.inbox.onAccept = () => undefined;
    await box.press('Enter');
    await expect.poll(items).toHaveLength(1);
    await page.locator('.message.user:not(.pending)').waitFor();
    expect((await server.board.list(server.key('chat-1'), 0)).messages).toHaveLength(1);
    expect(await page.locator('.message').count()).toBe(1);
    expect(await page.getByRole('alert').isVisible()).toBe(false);
  });

  it('sends texts one after the other, so that they arrive in the order they were written', async () => {
    const page = await open();
    server.inbox.onAccept = async () => {
      server.inbox.onAccept = () => undefined;
      await sleep(300);
    };
    await write(page, 'first');
    await write(page, 'second');
    await expect.poll(items).toHaveLength(2);
    expect(items()).toMatchObject([{ text: 'first' }, { text: 'second' }]);
  });

  it('keeps an unsent text over a reload and per conversation', async () => {
    const page = await open();
    const box = page.getByLabel('Message', { exact: true });
    await box.fill('half a thou');
    await page.reload();
    await expect.poll(() => box.inputValue()).toBe('half a thou');
    await page.getByRole('button', { name: 'New conversation' }).click();
    await expect.poll(() => box.inputValue()).toBe('');
    await page.goBack();
    await expect.poll(() => box.inputValue()).toBe('half a thou');
  });

  it('says that the connection is lost and goes on when the gateway is back', async () => {
    await put('b1', { state: 'streaming', html: '<p>Half</p>' });
    const page = await open();
    await page.getByText('Half').waitFor();
    const { board, port } = server;
    await server.close();
    await page.getByText('Connection lost').waitFor();
    server = await startWebServer({ port, board });
    await put('b1', { html: '<p>Half and the rest</p>' });
    await page.getByText('Half and the rest').waitFor();
    await page.getByText('Connection lost').waitFor({ state: 'hidden' });
    expect(await page.locator('.message').count()).toBe(1);
  });

  it('follows the end unless the reader has scrolled up', async () => {
    const page = await open();
    const line = (n: number) => Array.from({ length: n }, (_, i) => `<p>Line ${i}</p>`).join('');
    await put('b1', { state: 'streaming', html: line(60) });
    await page.getByText('Line 59').waitFor();
    await expect.poll(() => page.getByText('Line 59').isVisible()).toBe(true);
    const end = () => page.locator('#scroll').evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
    expect(await end()).toBeLessThan(2);
    await page.locator('#scroll').evaluate((box) => box.scrollTo(0, 0));
    const latest = page.getByRole('button', { name: 'Go to the newest message' });
    await put('b1', { state: 'streaming', html: line(80) });
    await latest.waitFor();
    expect(await page.locator('#scroll').evaluate((box) => box.scrollTop)).toBe(0);
    await latest.click();
    await expect.poll(end).toBeLessThan(2);
  });

  it('asks for the token first', async () => {
    await server.close();
    server = await startWebServer({ token: 'a-token-of-the-test-suite' });
    const page = await open();
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('This is not the token of this gateway.').waitFor();
    await page.getByLabel('Token').fill('a-token-of-the-test-suite');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('What can I do for you?').waitFor();
    await write(page, 'hello');
    await page.locator('.message.user:not(.pending)').waitFor();
  });

  it('is usable on a phone', async () => {
    const word = 'x'.repeat(20_000);
    const { html } = renderWeb({
      state: 'final',
      markdown: `${word}\n\n\`\`\`\n${word}\n\`\`\`\n\n| a |\n|---|\n| ${word} |\n\n- ${word}`,
    }).payload;
    expect(html).toContain('<table>');
    await put('b1', { html });
    await put('b2', { html: '<p>Shall I?</p>', buttons: [{ id: 'ask-1.yes', label: 'Yes' }] });
    await server.setRun('chat-1', 'waiting');
    const page = await open('#chat-1', PHONE);
    await page.getByRole('button', { name: 'Yes' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await page.locator('#scroll').evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    const small = await page
      .locator('button:visible, textarea:visible')
      .evaluateAll((all) =>
        all
          .filter((one) => one.className !== 'copy' && one.getBoundingClientRect().height < 44)
          .map((one) => one.outerHTML),
      );
    expect(small).toEqual([]);
    expect(await pixels(page.getByLabel('Message', { exact: true }), 'font-size')).toBeGreaterThanOrEqual(16);
    const fresh = page.getByRole('button', { name: 'New conversation' });
    expect(await fresh.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Conversations' }).click();
    await fresh.click();
    await page.getByText('What can I do for you?').waitFor();
    await fresh.waitFor({ state: 'hidden' });
  });

  it('is light or dark as the system is, and speaks Chinese to a Chinese browser', async () => {
    const shade = async (colorScheme: 'light' | 'dark') => {
      const page = await open('#chat-1', { colorScheme });
      return styleOf(page.locator('body'), 'background-color');
    };
    expect(await shade('light')).not.toBe(await shade('dark'));
    const page = await open('#chat-1', { locale: 'zh-CN' });
    await page.getByText('有什么可以帮你').waitFor();
    expect(await page.evaluate('document.documentElement.lang')).toBe('zh');
  });

  it('gives every control a name', async () => {
    const page = await open('#chat-1');
    await write(page, 'hello');
    await server.setRun('chat-1', 'running');
    await page.getByText('Working').waitFor();
    const names = await page
      .locator('button, textarea, a[href]')
      .evaluateAll((all) =>
        all.filter((one) => !(one.getAttribute('aria-label') ?? one.textContent)?.trim()).map((one) => one.outerHTML),
      );
    expect(names).toEqual([]);
  });
});
