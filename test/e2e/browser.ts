import { type Browser, chromium } from 'playwright-core';
import { findProgram } from '../services.js';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome'] as const;

/** Path of an installed Chromium. Throws where `THREADLOOP_TEST_REQUIRE` names chromium and there is none. */
export function findChromium(): string | undefined {
  const path = PROGRAMS.map(findProgram).find((found) => found !== undefined);
  const required = (process.env.THREADLOOP_TEST_REQUIRE ?? '').split(',').map((name) => name.trim());
  if (path === undefined && required.includes('chromium')) {
    throw new Error('THREADLOOP_TEST_REQUIRE names chromium, which is not installed here');
  }
  return path;
}

/** Starts it without a window, with a fresh profile and without its own traffic. */
export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
